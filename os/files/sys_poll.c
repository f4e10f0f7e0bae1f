/*
 * poll(2) and ppoll(2) with events or pcl's own among the descriptors: see poll_wait.h. Else the calls are the host's.
 */
#include <asm-generic/errno.h>
#include <linux/resource.h>
#include "os/files/poll_wait.h"
#include "os/files/vfile.h"
#include "os/sig/sigwait.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/sys.h"

/* A few at a time: are the guest's descriptors not all the host's to answer for? */
static bool has_special(struct thread *t, gva fds, u64 n)
{
	struct pollfd part[32];

	for (u64 i = 0; i < n; i += ARRAY_SIZE(part)) {
		u64 some = MIN(n - i, ARRAY_SIZE(part));

		if (guest_read(part, fds + i * sizeof(*part), some * sizeof(*part)))
			return false;
		for (u64 k = 0; k < some; k++)
			if (part[k].fd >= 0 && (vfile_fd_hidden(part[k].fd) || perf_is_event(t, (u32)part[k].fd)))
				return true;
	}
	return false;
}

/* As the kernel: nothing but revents. */
static long write_revents(const struct poll_wait *w, gva fds)
{
	for (u32 i = 0; i < w->n; i++) {
		gva at = fds + i * sizeof(*w->fds) + offsetof(struct pollfd, revents);

		if (guest_write(at, &w->fds[i].revents, sizeof(w->fds[i].revents)))
			return -EFAULT;
	}
	return 0;
}

static long poll_events(struct poll_wait *w, gva fds)
{
	long ret = -EFAULT;

	if (!poll_wait_alloc(w, w->n))
		return -ENOMEM;
	if (!guest_read(w->fds, fds, w->n * sizeof(*w->fds)))
		ret = poll_wait(w);
	if (ret >= 0 && write_revents(w, fds))
		ret = -EFAULT;
	poll_wait_free(w, w->n);
	return ret;
}

static bool concerns_us(struct thread *t, gva fds, u64 n)
{
	struct rlimit files;

	if (n > POLL_MAX || !has_special(t, fds, n))
		return false;
	/* More than that the kernel refuses. */
	return sys2(__NR_getrlimit, RLIMIT_NOFILE, &files) || n <= files.rlim_cur;
}

long sys_poll(struct thread *t, const u64 *a)
{
	struct poll_wait w = {.t = t, .n = (u32)a[1]};

	if (likely(!concerns_us(t, a[0], (u32)a[1])))
		return syscall_pass(t, a);
	w.deadline = deadline_in_ms((s32)a[2]);
	return poll_events(&w, a[0]);
}

long sys_ppoll(struct thread *t, const u64 *a)
{
	struct poll_wait w = {.t = t, .n = (u32)a[1]};
	u64 mask;
	long ret;

	if (likely(!concerns_us(t, a[0], (u32)a[1])))
		return sigwait_ppoll(t, a);
	ret = deadline_read(a[2], 1, &w.deadline);
	if (ret)
		return ret;
	if (a[3] && a[4] != sizeof(mask))
		return -EINVAL;
	if (a[3] && guest_read(&mask, a[3], sizeof(mask)))
		return -EFAULT;
	w.mask = a[3] ? &mask : NULL;
	ret = poll_events(&w, a[0]);
	if (ret != SYSCALL_AGAIN)
		deadline_write(a[2], 1, w.deadline);
	return ret;
}

long sys_io_pgetevents(struct thread *t, const u64 *a)
{
	return sigwait_pselect6(t, a);
}
