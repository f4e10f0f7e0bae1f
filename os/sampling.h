/*
 * The thread's side of sampling: what the kernel's overflow interrupt does, here in ordinary C between two guest instructions.
 *
 * Translated code stops (DBT_LIMIT) in front of the instruction that reaches a limit, or may: a branch that is expected to be taken. It is
 * executed alone, and if cpu_limit_reached() is true then it caused the overflow: a sample has its address and the registers from
 * before it. Clock limits come by os/timer.c and are seen between two instructions; what the host only
 * counts (page faults, switches) is looked at where the thread enters the runtime anyway.
 *
 * All functions are called by the thread itself, outside translated code and without locks.
 */
#ifndef OS_SAMPLING_H
#define OS_SAMPLING_H

#include "dbt/dbt.h"
#include "event/overflow.h"
#include "os/thread.h"

/* New limits, if event_ctx.rearm is set. */
void sampling_rearm(struct thread *t);

/*
 * After DBT_LIMIT: over the limit by a step (or more, if the next limits are that near), with its sample. Returns as dbt_step() does, the caller serves it; DBT_STEPPED: nothing is left to
 * be done.
 */
enum dbt_stop sampling_limit(struct thread *t, struct dbt_fault *fault);

/* The same after DBT_NEAR: up to the limit. */
enum dbt_stop sampling_walk(struct thread *t, struct dbt_fault *fault);

/* dbt_step() with the samples of the limits that the instruction reaches. The same. */
enum dbt_stop sampling_step(struct thread *t, struct dbt_fault *fault);

/*
 * The runtime has executed the instruction at cpu->rip: steps over it, counts it, takes the sample of a limit that it reached.
 * before: its registers; len: its length, for when its code is gone by now.
 */
void sampling_emulated(struct thread *t, const struct shot_regs *before, u8 len);

/* t->clock_fired or t->clock_state == CLOCK_PAUSED. */
void sampling_clock(struct thread *t);

/* Looks at the polled sources. kernel: on the way out of a system call. */
void sampling_poll_slowly(struct thread *t, bool kernel);
static inline void sampling_poll(struct thread *t, bool kernel)
{
	if (unlikely(__atomic_load_n(&event_ctx(t->cpu->slot)->polling, __ATOMIC_RELAXED)))
		sampling_poll_slowly(t, kernel);
}

/* What an overflow wants of the thread: SIGTRAP; in_call: when the system call under way is done. */
void sampling_result(struct thread *t, const struct overflow_result *result, bool in_call);

/* The thread ends, or a vfork child left this memory: what it had here goes. */
void sampling_end(struct thread *t);

#endif
