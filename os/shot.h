/*
 * Looking at the guest for a sample: fills in the parts of a struct shot that the task's events want to know (event_ctx.needs).
 *
 * Registers are those from before the instruction; its effects on memory are there already, as with the processors' precise sampling.
 * Large parts (chains, stacks, branches) lie in the thread's struct sampler, mapped when it is first needed.
 */
#ifndef OS_SHOT_H
#define OS_SHOT_H

#include "event/sample.h"
#include "os/thread.h"

/* The guest's registers, which are in *cpu. */
void shot_regs(const struct cpu *cpu, struct shot_regs *out);

/* *regs must live as long as *out. What was found is valid until the thread's next shot. */
void shot_take(struct thread *t, const struct shot_regs *regs, struct shot *out);

/* The data address is this one, whatever the instruction's accesses were; nothing is known of the access. */
void shot_set_address(const struct thread *t, u64 addr, struct shot *shot);

/* The task's events have changed: how much of chains and stacks they want. */
void shot_sizes(struct thread *t);

/* Before the thread runs code that keeps the exact call stack: the memory for it. Without memory there are no such stacks. */
void shot_prepare_slowly(struct thread *t);
static inline void shot_prepare(struct thread *t, u32 want)
{
	if (unlikely((want & CPU_WANT_CALLS) && !t->cpu->calls))
		shot_prepare_slowly(t);
}

/* Gives back what the thread has here. */
void shot_end(struct thread *t);

#endif
