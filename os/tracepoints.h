/*
 * Tracepoints at system calls: tells event_trace() what the thread's events of the tracepoint PMU (pmu/tracepoint.h) want to hear.
 * While there are none, a system call costs two looks at one word.
 *
 * A call that is put off because a signal comes first is told once, when it is made at last or before. A call that the kernel
 * had begun and that is begun again has an exit with -ERESTARTSYS and another entry, as in Linux.
 *
 * All functions are called by the thread itself, outside translated code and without locks.
 */
#ifndef OS_TRACEPOINTS_H
#define OS_TRACEPOINTS_H

#include "event/space.h"
#include "os/thread.h"

static inline bool tracepoints_wanted(const struct thread *t)
{
	return unlikely(__atomic_load_n(&event_ctx(t->cpu->slot)->units, __ATOMIC_RELAXED) & EVENT_UNITS_TRACE);
}

/* In front of the call t->nr with t->args. */
void tracepoints_enter_slowly(struct thread *t);
static inline void tracepoints_enter(struct thread *t)
{
	if (tracepoints_wanted(t))
		tracepoints_enter_slowly(t);
}

/* The call is done, or (SYSCALL_AGAIN) put off. */
void tracepoints_exit_slowly(struct thread *t, long ret);
static inline void tracepoints_exit(struct thread *t, long ret)
{
	if (tracepoints_wanted(t))
		tracepoints_exit_slowly(t, ret);
}

/* A new thread or program: the call that made it, which was begun elsewhere, is done. */
void tracepoints_begin_slowly(struct thread *t, u64 nr);
static inline void tracepoints_begin(struct thread *t, u64 nr)
{
	if (tracepoints_wanted(t))
		tracepoints_begin_slowly(t, nr);
}

#endif
