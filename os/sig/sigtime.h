/*
 * The CPU time that signals of events take of the thread they are delivered to: from the delivery to the return of the
 * handler, with what is delivered meanwhile. It is charged to the task whose overflow signalled last by that event; see
 * event/throttle.h.
 *
 * A handler that is left by longjmp() is over once the stack pointer is seen above its frame, one that does not end
 * after SIGTIME_MAX: the program goes on in it.
 */
#ifndef OS_SIGTIME_H
#define OS_SIGTIME_H

#include "os/session/thread.h"

#define SIGTIME_MAX 1000000000ul /* ns of the perf clock */

/* The task whose event raised the signal that is about to be delivered, 0: it is of no event that is throttled. */
u32 sigtime_cause(struct thread *t, const struct taken_signal *sig);
/* Its delivery begins. */
void sigtime_begin(struct thread *t, u32 cause);
/* The frame is on the guest's stack. */
void sigtime_entered(struct thread *t);
/* Before rt_sigreturn pops a frame. */
void sigtime_returns(struct thread *t);

/* Cheap. No signal is undelivered now: the time is over if no handler has been entered, or the last one returns. */
void sigtime_look_slow(struct thread *t);
static inline void sigtime_look(struct thread *t)
{
	if (unlikely(t->sigtime.cause))
		sigtime_look_slow(t);
}

#endif
