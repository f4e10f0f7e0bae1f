/*
 * select(2) and pselect6(2) with events or pcl's own among the descriptors: see poll_wait.h. Else the calls are the
 * host's.
 */
#include <asm-generic/errno.h>
#include <linux/fcntl.h>
#include "os/files/poll_wait.h"
#include "os/files/vfile.h"
#include "os/session/process.h"
#include "os/session/scratch.h"
#include "os/sig/sigwait.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define SELECT_IN (POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR)
#define SELECT_OUT (POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR)
#define SELECT_EX POLLPRI

static bool bit_of(const u64 *set, u32 fd)
{
	return set[fd / 64] >> (fd % 64) & 1;
}

/* The three sets, one after the other, of `words` words each. */
static int read_sets(const u64 *a, u64 *sets, u32 words)
{
	for (u32 s = 0; s < 3; s++)
		if (a[1 + s] && guest_read(sets + s * words, a[1 + s], words * sizeof(u64)))
			return -EFAULT;
	return 0;
}

static bool has_special(struct thread *t, const u64 *sets, u32 words, u32 nfds)
{
	for (u32 fd = 0; fd < nfds; fd++)
		if ((bit_of(sets, fd) || bit_of(sets + words, fd) || bit_of(sets + 2 * words, fd)) &&
		    (vfile_fd_hidden((s32)fd) || perf_is_event(t, fd)))
			return true;
	return false;
}

/* The process's table of descriptors has room for this one. set: empty, with a bit for it. */
static bool is_in_table(u32 fd, u64 *set)
{
	s64 now[2] = {0, 0};
	bool found;

	if (sys2(__NR_fcntl, fd, F_GETFD) >= 0)
		return true;
	set[fd / 64] = 1ul << (fd % 64);
	found = sys5(__NR_select, fd + 1, set, 0, 0, now) == -EBADF;
	set[fd / 64] = 0;
	return found;
}

/*
 * Linux looks at no more descriptors than the table has room for, a multiple of 64, and touches no more of the sets
 * than these. There is always room for pcl's own. -ENOMEM: it cannot be found out.
 */
static long count_in_table(u32 nfds)
{
	u32 low = (u32)the_process.runtime_fd / 64 + 1, high = (nfds + 63) / 64;
	u64 *set;

	if (low >= high)
		return nfds;
	set = scratch_alloc(high * sizeof(u64));
	if (!set)
		return -ENOMEM;
	while (low < high) {
		u32 mid = (low + high + 1) / 2;

		if (is_in_table(mid * 64 - 1, set))
			low = mid;
		else
			high = mid - 1;
	}
	scratch_free(set, ((nfds + 63) / 64) * sizeof(u64));
	return MIN(nfds, low * 64);
}

static void sets_to_fds(struct poll_wait *w, const u64 *sets, u32 words, u32 nfds)
{
	for (u32 fd = 0; fd < nfds; fd++) {
		short events =
			(short)((bit_of(sets, fd) ? SELECT_IN : 0) | (bit_of(sets + words, fd) ? SELECT_OUT : 0) |
				(bit_of(sets + 2 * words, fd) ? SELECT_EX : 0));

		if (events)
			w->fds[w->n++] = (struct pollfd){(s32)fd, events, 0};
	}
}

/* Leaves in the sets what is ready, and nothing above nfds. Their count, or -EBADF. */
static long fds_to_sets(const struct poll_wait *w, u64 *sets, u32 words, u32 nfds)
{
	static const short ready[3] = {SELECT_IN, SELECT_OUT, SELECT_EX};
	long n = 0;

	for (u32 s = 0; nfds % 64 && s < 3; s++)
		sets[(s + 1) * words - 1] &= (1ul << (nfds % 64)) - 1;
	for (u32 i = 0; i < w->n; i++) {
		const struct pollfd *p = &w->fds[i];

		if (p->revents & POLLNVAL)
			return -EBADF;
		for (u32 s = 0; s < 3; s++) {
			u64 *word = &sets[s * words + (u32)p->fd / 64], bit = 1ul << (p->fd % 64);

			if ((*word & bit) && (p->revents & ready[s]))
				n++;
			else
				*word &= ~bit;
		}
	}
	return n;
}

static long select_events(struct poll_wait *w, const u64 *a, u64 *sets, u32 words, u32 nfds)
{
	long ret;

	if (!poll_wait_alloc(w, nfds))
		return -ENOMEM;
	sets_to_fds(w, sets, words, nfds);
	ret = poll_wait(w);
	if (ret >= 0)
		ret = fds_to_sets(w, sets, words, nfds);
	for (u32 s = 0; ret >= 0 && s < 3; s++)
		if (a[1 + s] && guest_write(a[1 + s], sets + s * words, words * sizeof(u64)))
			ret = -EFAULT;
	poll_wait_free(w, nfds);
	return ret;
}

/* As the kernel, a negative number is refused, and one above what it can be is not. */
static long count_looked_at(u64 nfds)
{
	return (s32)nfds <= 0 ? 0 : count_in_table(MIN((u32)nfds, POLL_MAX));
}

/*
 * True if an event or a descriptor of pcl's is concerned: then *ret is the result, or -errno. unit: ns in a unit of the
 * time limit's second number.
 */
static bool try_select(struct thread *t, const u64 *a, s64 unit, s64 deadline, const u64 *mask, long *ret)
{
	struct poll_wait w = {.t = t, .deadline = deadline, .mask = mask};
	bool concerned = true;
	u32 nfds, words;
	u64 *sets;

	*ret = count_looked_at(a[0]);
	if (*ret <= 0)
		return *ret;
	nfds = (u32)*ret;
	words = (nfds + 63) / 64;
	sets = scratch_alloc(words * 3 * sizeof(u64));
	*ret = sets ? read_sets(a, sets, words) : -ENOMEM;
	if (!*ret)
		concerned = has_special(t, sets, words, nfds);
	if (!*ret && concerned) {
		*ret = select_events(&w, a, sets, words, nfds);
		if (*ret != SYSCALL_AGAIN)
			deadline_write(a[4], unit, w.deadline);
	}
	if (sets)
		scratch_free(sets, words * 3 * sizeof(u64));
	return concerned;
}

/* It may: a look without reading the sets. */
static bool may_concern_us(u64 nfds)
{
	return event_space->opened || (s32)nfds > vfile_fd_lowest();
}

long sys_select(struct thread *t, const u64 *a)
{
	s64 deadline;
	long ret;

	if (likely(!may_concern_us(a[0])))
		return syscall_pass(t, a);
	ret = deadline_read(a[4], 1000, &deadline);
	return ret || try_select(t, a, 1000, deadline, NULL, &ret) ? ret : syscall_pass(t, a);
}

/* The sixth argument points to the pair of mask and size. */
long sys_pselect6(struct thread *t, const u64 *a)
{
	u64 pair[2] = {0, 0}, mask;
	s64 deadline;
	long ret;

	if (likely(!may_concern_us(a[0])))
		return sigwait_pselect6(t, a);
	if (a[5] && guest_read(pair, a[5], sizeof(pair)))
		return -EFAULT;
	ret = deadline_read(a[4], 1, &deadline);
	if (ret)
		return ret;
	if (pair[0] && pair[1] != sizeof(mask))
		return -EINVAL;
	if (pair[0] && guest_read(&mask, pair[0], sizeof(mask)))
		return -EFAULT;
	return try_select(t, a, 1, deadline, pair[0] ? &mask : NULL, &ret) ? ret : sigwait_pselect6(t, a);
}
