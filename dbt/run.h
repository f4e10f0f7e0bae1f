/* The dispatcher, inside dbt/: what dbt/approach.c has of dbt/run.c. */
#ifndef DBT_RUN_H
#define DBT_RUN_H

#include "dbt/dbt.h"

/* What events need of the thread's code, as far as os/ has made ready for it. */
u32 run_usable_want(const struct cpu *cpu);

/* From now on the thread runs code of that variant. */
void run_set_variant(struct cpu *cpu, u32 want);

/*
 * From here until the exit that code is left by has been read, this half of the cache stays. True: the thread held
 * another one or none, so numbers of exits and fragments from before may be others' by now. Without dbt_lock; and with
 * it.
 */
bool run_hold_cache(struct cpu *cpu);
bool run_hold_cache_locked(struct cpu *cpu);

/*
 * The entry for cpu->rip, translated if need be; 0, and *fault: there is none. `exit` (0: none) is the direct exit that
 * led here, `indirect` that an indirect branch did: the next time they find the way alone.
 */
u32 run_find(struct cpu *cpu, u32 exit, bool indirect, struct dbt_fault *fault);

/* The thread is at that entry's place, in front of the guest instruction at cpu->rip. */
void run_is_at_entry(struct cpu *cpu, u32 entry);

/*
 * Enters at that cache address with the guest's registers, and leaves it again: LEFT_*. Inside: at the place of the
 * record, or a copy of it.
 */
int run_enter_at(struct cpu *cpu, u64 host);
int run_enter_inside(struct cpu *cpu, u32 variant, u32 rec, u64 host);

/* Translated code left by an exit. True: dbt_run(), or who else entered it, is to return *stop. */
bool run_left_by_exit(struct cpu *cpu, u32 id, enum dbt_stop *stop);

/* The guest's system call instruction was executed: what else it does to the registers. */
void run_left_by_syscall(struct cpu *cpu);

#endif
