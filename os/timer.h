/*
 * Limits of clocks: one host timer per thread that samples a clock, aimed at the moment when the thread's CPU time reaches
 * the limit (event/host.h, host_clock_limit()).
 *
 * The timer counts wall time, which is the CPU time or more: if the thread was off the CPU meanwhile, the limit is not reached when it
 * fires, and event_overflow() sets it again for the rest. It sends SIG_KICK, which makes the thread leave translated code at a
 * boundary and sets t->clock_fired.
 *
 * Rules:
 * 1. No guest system call is ever ended by it: it is stopped before every call that may block (thread_syscall()) and set again
 *    before the guest's next instruction. What is blocked uses no CPU time.
 * 2. The guest does not see it: it takes none of the ids that the guest's own timers get, where the kernel lets us choose (6.15)
 *    and the guest has none yet. Elsewhere the guest's ids begin at 1.
 * 3. The kernel forgets it with fork (in the child) and exec; struct thread follows.
 */
#ifndef OS_TIMER_H
#define OS_TIMER_H

#include "os/thread.h"

/* Before the guest's system call may block; cheap if the timer is not running. */
void timer_pause_slow(struct thread *t);
static inline void timer_pause(struct thread *t)
{
	if (unlikely(t->clock_state == CLOCK_RUNNING))
		timer_pause_slow(t);
}

/* Before the guest goes on, if t->clock_state is CLOCK_PAUSED. May set t->clock_fired. */
void timer_resume(struct thread *t);

/* In the child of a fork: none yet. */
void timer_after_fork(struct thread *t);
/* The thread ends. */
void timer_end(struct thread *t);

#endif
