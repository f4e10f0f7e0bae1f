/*
 * Limits of clocks: one host timer per thread that samples a clock, aimed at the moment when the thread's CPU time
 * reaches the limit (event/host.h, host_clock_limit()). Where that need not be exact, the timer is of the thread's CPU
 * time and fires in the kernel's next tick, which costs no interrupt.
 *
 * The timer counts wall time, which is the CPU time or more: if the thread was off the CPU meanwhile, the limit is not
 * reached when it fires, and event_overflow() sets it again for the rest. It sends SIG_KICK, which makes the thread
 * leave translated code at a boundary and sets t->clock_fired.
 *
 * Rules:
 * 1. No guest system call is ever ended by it. It is stopped before those that a signal could end, and set again before
 *    the guest's next instruction; what is blocked uses no CPU time. During all others it runs on, since setting a
 *    timer costs more than most system calls do; if it fires then, the kernel begins the call again and there is a
 *    sample of kernel mode when it is done.
 * 2. The guest does not see it: it takes none of the ids that the guest's own timers get, where the kernel lets us
 *    choose (6.15) and the guest has none yet. Elsewhere the guest's ids begin at 1.
 * 3. The kernel forgets it with fork (in the child) and exec; struct thread follows.
 */
#ifndef PERF_TIMER_H
#define PERF_TIMER_H

#include "os/session/thread.h"

/* Before the guest goes on, if t->clock_state is CLOCK_PAUSED. May set t->clock_fired. */
void timer_resume(struct thread *t);

/* In the child of a fork: none yet. */
void timer_after_fork(struct thread *t);
/* The thread ends. */
void timer_end(struct thread *t);

#endif
