/*
 * The thread's side of sampling: what the kernel's overflow interrupt does, here in ordinary C between two guest instructions.
 *
 * Translated code stops (DBT_LIMIT) in front of the block in which a limit lies. From there the thread goes on one instruction at a
 * time, and the one after which cpu_limit_reached() is true is the one that caused the overflow: a sample has its address and
 * the registers from before it. Clock limits come by os/timer.c and are seen between two instructions; what the host only
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
 * After DBT_LIMIT: over the limit by steps, with its sample. Returns as dbt_step() does, the caller serves it; DBT_STEPPED: nothing is left to
 * be done.
 */
enum dbt_stop sampling_limit(struct thread *t, struct dbt_fault *fault);

/* dbt_step() with the samples of the limits that the instruction reaches. The same. */
enum dbt_stop sampling_step(struct thread *t, struct dbt_fault *fault);

/* t->clock_fired or t->clock_state == CLOCK_PAUSED. */
void sampling_clock(struct thread *t);

/* Looks at the polled sources. kernel: on the way out of a system call. */
void sampling_poll_slowly(struct thread *t, bool kernel);
static inline void sampling_poll(struct thread *t, bool kernel)
{
	if (unlikely(__atomic_load_n(&event_ctx(t->cpu->slot)->polling, __ATOMIC_RELAXED)))
		sampling_poll_slowly(t, kernel);
}

/* What an overflow wants of the thread: SIGTRAP. */
void sampling_result(struct thread *t, const struct overflow_result *result);

/* The thread ends, or a vfork child left this memory: what it had here goes. */
void sampling_end(struct thread *t);

#endif
