/*
 * Critical sections of the guest's restartable sequences, see rseq(2).
 *
 * The kernel abandons a section whose thread it preempted while the instruction pointer is between two addresses: the
 * guest's, where nothing is ever executed. So code of all variants stops in front of a section (EXIT_RSEQ_CS), and
 * os/sig/rseq.c has its instructions executed one by one, by dbt_step(), or as many at a time as write only general
 * registers, up to one that does more (CPU_WANT_RSEQ_CS, dbt_rseq_cs()). The code of each (CPU_WANT_ONE) is
 *
 *	counting	the instructions count as done
 *	guard		leaves by dbt_rseq_cs_abort unless *cpu->guard.word + cpu->guard.minus is 0
 *	instructions	up to where the last one's effect is in memory; what follows only puts registers back
 *
 * and from the guard to the effect it is a critical section of the kernel's, which *cpu->guard.range describes and
 * *cpu->guard.word points to: the kernel clears *cpu->guard.word when it preempts the thread anywhere, and besides
 * continues at dbt_rseq_cs_abort when it does so in there. Hence they are executed wholly or not at all, and not at all
 * once the thread was preempted. The guest's registers are in struct cpu all the while, as they were before, so they
 * are right after an abort; the count is taken back.
 *
 * Sections are found when code is decoded that loads the address of a struct rseq_cs (lea, or mov of a 32-bit
 * immediate) whose abort handler has a signature in front. Whether a section is in force is asked of the guest's struct
 * rseq when its code is reached.
 */
#ifndef DBT_RSEQ_CS_H
#define DBT_RSEQ_CS_H

#include "dbt/dbt.h"

struct insn;
struct guest_insn;

/* The instruction at pc is in a section that is known. Lock-free. */
static inline bool rseq_cs_at(u64 pc)
{
	return dbt_in_rseq_cs(pc);
}

/*
 * An instruction was decoded: if it names a section that was not known yet, that is from now on, and true is returned.
 * With dbt_lock.
 */
bool rseq_cs_learn(const struct insn *in, u64 pc);

/* Forgets code that was made from a section before it was known. With dbt_lock. */
void rseq_cs_forget_code(void);

/*
 * The address of static data that the instruction puts somewhere, or 0. Of memory made at run time nothing is read,
 * since that would show: where a page was not touched before, the error code of a fault is another.
 */
u64 rseq_cs_address(const struct insn *in, u64 pc);

/* An abort handler of ours, with that signature in front, which `at` is the place of. */
void rseq_cs_emit_handler(u8 *at, u32 sig);

/* The block at hand is in a section: code that stops in front of it. */
u64 rseq_cs_emit_stop(void);

/* What is executed at once cannot go on behind the instruction: it writes something that is not in struct cpu. */
bool rseq_cs_ends_piece(const struct insn *in);

/*
 * In CPU_WANT_ONE code in a section: the guard in front of the first instruction; in front of the last one, which may
 * be the same; and behind it.
 */
void rseq_cs_emit_guard(const struct guest_insn *gi);
void rseq_cs_emit_last(void);
void rseq_cs_emitted(const struct guest_insn *gi);

/* Enters CPU_WANT_ONE code at cpu->rip, which is in a section, and leaves it again: as the dispatcher's own. */
int rseq_cs_enter(struct cpu *cpu, u32 want, struct dbt_fault *fault);

#endif
