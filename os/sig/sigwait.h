/* System calls that wait under a temporary signal mask; see sigwait.c. */
#ifndef OS_SIGWAIT_H
#define OS_SIGWAIT_H

#include "os/session/thread.h"
#include "os/sig/signal.h"

/* As they are, but for the mask: ppoll; epoll_pwait and epoll_pwait2; pselect6 and io_pgetevents. */
long sigwait_ppoll(struct thread *t, const u64 *a);
long sigwait_epoll_pwait(struct thread *t, const u64 *a);
long sigwait_pselect6(struct thread *t, const u64 *a);

/*
 * System call nr for a handler that waits in several steps, under the guest's temporary mask. The arguments name
 * runtime memory; where the kernel wants the mask they point to *sigwait_mask(t, mask).
 */
long sigwait_call(struct thread *t, u64 mask, u64 nr, const u64 *a);
/* The same; without a mask if it is NULL. */
long sigwait_some(struct thread *t, const u64 *mask, u64 nr, const u64 *a);

static inline u64 *sigwait_mask(struct thread *t, u64 mask)
{
	t->scratch[0] = mask & ~SIG_NEVER_BLOCKED;
	return &t->scratch[0];
}

#endif
