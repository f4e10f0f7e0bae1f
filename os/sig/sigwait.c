/*
 * System calls that wait under a temporary signal mask. The kernel takes the mask, so that waiting and unblocking are
 * one step; it gets a copy without SIG_NEVER_BLOCKED in runtime memory.
 *
 * A signal that ends such a call is delivered under the temporary mask, and its frame holds the mask of before
 * (t->call_mask, os/sig/sigdeliver.c).
 */
#include "os/sig/sigwait.h"

#include <asm/errno.h>
#include <linux/time_types.h>
#include "event/space.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/sys.h"

/* pcl holds a signal that the guest blocks, which the kernel could not be told, and `mask` lets it through. */
static bool held_deliverable(const struct thread *t, u64 mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t->held); i++)
		if (t->held[i].signo && !(mask & SIG_BIT(t->held[i].signo)))
			return true;
	return false;
}

long sigwait_call(struct thread *t, u64 mask, u64 nr, const u64 *a)
{
	long ret;

	t->call_mask = mask & ~SIG_UNBLOCKABLE;
	t->call_mask_on = 1;
	if (held_deliverable(t, mask)) {
		t->attention = 1;
		return -EINTR;
	}
	ret = thread_syscall(t, (long)nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (ret != -EINTR || !t->attention)
		t->call_mask_on = 0;
	return ret;
}

long sigwait_some(struct thread *t, const u64 *mask, u64 nr, const u64 *a)
{
	return mask ? sigwait_call(t, *mask, nr, a) : thread_syscall(t, (long)nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/*
 * In the place of a mask that cannot be read: the kernel finds that out where it looks for it, and first what else is
 * wrong, the time limit for instance.
 */
#define UNREADABLE (-4096ul)

/* The call with the pointer to its mask in argument number `arg` and the mask's size in the next. */
static long call_with_mask(struct thread *t, const u64 *a, unsigned int arg)
{
	u64 args[6] = {a[0], a[1], a[2], a[3], a[4], a[5]}, mask;

	if (!a[arg])
		return syscall_pass(t, a);
	args[arg] = UNREADABLE;
	if (a[arg + 1] != 8 || guest_read(&mask, a[arg], 8))
		return syscall_pass(t, args);
	t->scratch[0] = mask & ~SIG_NEVER_BLOCKED;
	args[arg] = (u64)&t->scratch[0];
	return sigwait_call(t, mask, t->nr, args);
}

long sys_rt_sigsuspend(struct thread *t, const u64 *a)
{
	u64 args[6] = {(u64)&t->scratch[0], 8}, mask;

	if (a[1] != 8)
		return -EINVAL;
	if (guest_read(&mask, a[0], 8))
		return -EFAULT;
	t->scratch[0] = mask & ~SIG_NEVER_BLOCKED;
	return sigwait_call(t, mask, __NR_rt_sigsuspend, args);
}

long sigwait_ppoll(struct thread *t, const u64 *a)
{
	return call_with_mask(t, a, 3);
}

long sigwait_epoll_pwait(struct thread *t, const u64 *a)
{
	return call_with_mask(t, a, 4);
}

/* The sixth argument points to the pair of mask and size. */
long sigwait_pselect6(struct thread *t, const u64 *a)
{
	u64 args[6] = {a[0], a[1], a[2], a[3], a[4], 0}, pair[2], mask;

	if (!a[5])
		return syscall_pass(t, a);
	if (guest_read(pair, a[5], sizeof(pair)))
		return -EFAULT;
	if (!pair[0])
		return syscall_pass(t, a);
	t->scratch[1] = UNREADABLE;
	t->scratch[2] = pair[1];
	args[5] = (u64)&t->scratch[1];
	if (pair[1] != 8 || guest_read(&mask, pair[0], 8))
		return syscall_pass(t, args);
	t->scratch[0] = mask & ~SIG_NEVER_BLOCKED;
	t->scratch[1] = (u64)&t->scratch[0];
	return sigwait_call(t, mask, t->nr, args);
}

#define NS_PER_S 1000000000l
#define LIMIT_MAX NS_PER_S /* seconds: a longer limit is none */

/* What is left of a time limit that began at `begin`. */
static void shorten(struct __kernel_timespec *limit, s64 begin)
{
	s64 left = limit->tv_sec * NS_PER_S + limit->tv_nsec - ((s64)host_clock_mono() - begin);

	left = left > 0 ? left : 0;
	*limit = (struct __kernel_timespec){left / NS_PER_S, left % NS_PER_S};
}

/*
 * A signal that the kernel gives is taken here as one that is delivered would be. One that is only news for those who
 * wait for an event is not the guest's: the wait goes on.
 */
static long wait_for_own(struct thread *t, const u64 *a)
{
	struct taken_signal sig = {0};
	struct __kernel_timespec limit = {0}, left;
	u64 args[6] = {a[0], (u64)sig.info, a[2], a[3], 0, 0};
	bool limited = a[2] && !guest_read(&limit, a[2], sizeof(limit)) && limit.tv_sec < LIMIT_MAX;
	s64 begin = (s64)host_clock_mono();

	for (;;) {
		sig.signo = (s32)syscall_pass(t, args);
		if (sig.signo <= 0)
			return sig.signo;
		if (perf_signal_taken(t, &sig))
			break;
		left = limit;
		shorten(&left, begin);
		if (limited)
			args[2] = (u64)&left;
	}
	return a[1] && guest_write(a[1], sig.info, sizeof(sig.info)) ? -EFAULT : sig.signo;
}

/* Signals that the runtime holds for the guest are waited for here; all others are the kernel's. */
long sys_rt_sigtimedwait(struct thread *t, const u64 *a)
{
	struct taken_signal *h;
	unsigned int i;
	int signo;
	u64 set;

	if (a[3] != 8)
		return -EINVAL;
	if (guest_read(&set, a[0], 8))
		return -EFAULT;
	for (i = 0; i < ARRAY_SIZE(t->held); i++) {
		h = &t->held[i];
		if (!h->signo || !(set & SIG_BIT(h->signo)))
			continue;
		signo = h->signo;
		h->signo = 0;
		if (a[1] && guest_write(a[1], h->info, sizeof(h->info)))
			return -EFAULT;
		return signo;
	}
	return likely(!event_space->opened) ? syscall_pass(t, a) : wait_for_own(t, a);
}
