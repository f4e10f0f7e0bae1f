/*
 * A process that forks again and again, as a shell does, has children that all translate the same, each for itself.
 * So each notes what it had to do, in memory that it shares with its parent. What two children have noted, or one
 * twice, the parent does itself before it forks the next time. Later children find it done. So a parent spends no
 * more on it than half of what its children have spent.
 *
 * A note is only a hint: the parent translates what is at that address in its own memory, and links an exit only to
 * where that leads.
 */
#ifndef DBT_SIBLINGS_H
#define DBT_SIBLINGS_H

#include "cpu/cpu.h"

#define SIBLINGS_SEEN 2048u
#define SIBLINGS_NOTES 1024u

/* An entry was made for pc, that exit linked to it, or an indirect branch. */
struct sibling_note {
	u64 pc;
	u32 parent; /* whose children have noted it */
	u32 how; /* the exit, of code that the parent has, too, 0: none; and: */
#define SIBLING_INDIRECT (1u << 31)
};

/* In the session's memory. Atomic, by everyone; nobody believes what is there. */
struct siblings {
	u32 seen[SIBLINGS_SEEN]; /* hashes of what one child has done, each in its place */
	u32 n; /* so many notes there were: the last ones are in the ring */
	struct sibling_note note[SIBLINGS_NOTES];
};

/*
 * The process is about to fork: does what its children have noted, and those to come note things there. `parent` tells
 * it from others who use the same memory. Without dbt_lock.
 */
void siblings_before_fork(struct cpu *cpu, struct siblings *siblings, u32 parent);

/* Blocks that the process has not had to translate, since its parent has done so before it was forked. */
u32 siblings_found(void);

/* For dbt/: in the child; and that was done for code of these CPU_WANT_*. With dbt_lock. */
void siblings_forked(void);
void siblings_note(u32 want, u64 pc, u32 exit, bool indirect);

#endif
