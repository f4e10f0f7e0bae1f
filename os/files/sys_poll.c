/*
 * poll(2), ppoll(2), select(2) and pselect6(2) with events among the descriptors: what is ready of those is
 * event/ready.h's to say, and the host waits for the others and for datagrams (perf/notify.h). Without events the calls
 * are the host's.
 */
#include <asm-generic/errno.h>
#include <asm-generic/poll.h>
#include <linux/fcntl.h>
#include <linux/time_types.h>
#include "event/ready.h"
#include "os/files/deadline.h"
#include "os/session/death.h"
#include "os/session/process.h"
#include "os/session/scratch.h"
#include "os/session/session.h"
#include "os/sig/sigwait.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define POLL_MAX (1u << 20)  /* descriptors of one call: what Linux lets a process have without more ado */
#define SELECT_IN (POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR)
#define SELECT_OUT (POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR)
#define SELECT_EX POLLPRI

/* One wait. */
struct wait {
	struct thread *t;
	struct pollfd *fds, *host; /* as the guest asks; as the host is asked */
	u32 n;
	s64 deadline;
	const u64 *mask;	   /* temporary signal mask, or NULL */
	s64 slice;		   /* how long it may block at once, or FOREVER */
	s64 far_slice;		   /* the same if the death of members has to be noticed, */
	bool far;		   /* which it has */
};

static bool is_event(const struct wait *w, u32 i)
{
	return w->fds[i].fd >= 0 && perf_is_event(w->t, (u32)w->fds[i].fd);
}

/* Fills in the revents of the events; how many are ready. */
static u32 ask_events(struct wait *w)
{
	u32 ready = 0;

	for (u32 i = 0; i < w->n; i++) {
		struct pollfd *p = &w->fds[i];

		if (!is_event(w, i))
			continue;
		p->revents =
			(short)(event_ready(w->t->cpu->slot, (u32)p->fd) & ((u32)(u16)p->events | POLLERR | POLLHUP));
		/* Whoever asks again until a signal tells of the end, as perf does, is not to ask a thousand times. */
		if (p->revents & POLLHUP)
			death_await(event_ready_by_end_of(w->t->cpu->slot, (u32)p->fd));
		ready += !!p->revents;
	}
	return ready;
}

/* What the host is asked without the events. */
static void leave_events_out(struct wait *w)
{
	memcpy(w->host, w->fds, w->n * sizeof(*w->fds));
	for (u32 i = 0; i < w->n; i++) {
		w->host[i].revents = w->fds[i].revents = 0;
		if (is_event(w, i))
			w->host[i].fd = -1;
	}
}

static void shorten(struct wait *w, s64 slice)
{
	if (w->slice == FOREVER || w->slice > slice)
		w->slice = slice;
}

/* Registers with the events, and has the host listen to those whose sockets have names. */
static void begin_waiting(struct wait *w)
{
	for (u32 i = 0; i < w->n; i++) {
		s32 fd = w->fds[i].fd;

		if (!is_event(w, i))
			continue;
		if (event_wait_begin(w->t->cpu->slot, (u32)fd)) {
			w->far = true;
			shorten(w, w->far_slice);
		}
		if (perf_listen(w->t, fd))
			w->host[i] = (struct pollfd){fd, POLLIN, 0};
		else
			shorten(w, PERF_DEAF_SLICE);
	}
}

static void end_waiting(struct wait *w)
{
	for (u32 i = 0; i < w->n; i++) {
		u32 fd = (u32)w->fds[i].fd;

		if (!is_event(w, i))
			continue;
		event_wait_end(w->t->cpu->slot, fd);
		if (!w->host[i].revents)
			continue;
		perf_drain((s32)fd);
		event_ready_missed(w->t->cpu->slot, fd);
	}
}

/* The host's wait for at most ns. Its count is of no use: the events in it are only datagrams. mask: as wait.mask. */
static long host_wait(struct wait *w, s64 ns, const u64 *mask, bool first)
{
	struct __kernel_timespec ts = {ns / NS_PER_S, ns % NS_PER_S};
	u64 args[6] = {(u64)w->host, w->n, ns == FOREVER ? 0 : (u64)&ts, 0, 8};
	long ret;

	if (mask)
		args[3] = (u64)sigwait_mask(w->t, *mask);
	ret = sigwait_some(w->t, mask, __NR_ppoll, args);
	/* Not the first step any more: as in the kernel, the signal has ended the call. */
	return ret == SYSCALL_AGAIN && !first ? -EINTR : ret;
}

static u32 take_others(struct wait *w)
{
	u32 ready = 0;

	for (u32 i = 0; i < w->n; i++) {
		if (is_event(w, i))
			continue;
		w->fds[i].revents = w->host[i].revents;
		ready += !!w->fds[i].revents;
	}
	return ready;
}

/*
 * One look, after a wait of the host's if nothing is ready at once. As wait_for(); 0: nothing yet. As in the kernel,
 * what is ready comes before a signal that is pending.
 */
static long look(struct wait *w, bool first)
{
	s64 ns = deadline_left(w->deadline);
	bool waiting;
	u32 ready;
	long ret;

	leave_events_out(w);
	w->slice = FOREVER;
	w->far = false;
	ready = ask_events(w);
	waiting = !ready && ns;
	if (waiting) {
		begin_waiting(w);
		ready = ask_events(w);
	}
	if (ready)
		ns = 0;
	else if (w->slice != FOREVER && (ns == FOREVER || ns > w->slice))
		ns = w->slice;
	ret = host_wait(w, ns, ready ? NULL : w->mask, first);
	if (waiting)
		end_waiting(w);
	if (ret < 0)
		return ready ? ready : ret; /* a wakeup that was taken is not lost */
	if (!ready && !ret && w->far) {
		session_reap();
		w->far_slice = perf_next_slice(w->far_slice);
	}
	if (!ready)
		ready = ask_events(w);
	return ready + take_others(w);
}

/* The count of ready ones with their revents, 0 at the deadline, or -errno. */
static long wait_for(struct wait *w)
{
	long ret;

	w->far_slice = PERF_FAR_SLICE;
	ret = look(w, true);
	while (!ret && deadline_left(w->deadline))
		ret = look(w, false);
	return ret;
}

/* ---- poll ---- */

/* A few at a time: is any of the guest's descriptors an event? */
static bool any_event(struct thread *t, gva fds, u64 n)
{
	struct pollfd part[32];

	for (u64 i = 0; i < n; i += ARRAY_SIZE(part)) {
		u64 some = MIN(n - i, ARRAY_SIZE(part));

		if (guest_read(part, fds + i * sizeof(*part), some * sizeof(*part)))
			return false;
		for (u64 k = 0; k < some; k++)
			if (part[k].fd >= 0 && perf_is_event(t, (u32)part[k].fd))
				return true;
	}
	return false;
}

/* As the kernel: nothing but revents. */
static long write_revents(const struct wait *w, gva fds)
{
	for (u32 i = 0; i < w->n; i++) {
		gva at = fds + i * sizeof(*w->fds) + offsetof(struct pollfd, revents);

		if (guest_write(at, &w->fds[i].revents, sizeof(w->fds[i].revents)))
			return -EFAULT;
	}
	return 0;
}

static long poll_events(struct wait *w, gva fds)
{
	u64 size = w->n * sizeof(*w->fds);
	long ret;

	w->fds = scratch_alloc(2 * size);
	if (!w->fds)
		return -ENOMEM;
	w->host = w->fds + w->n;
	if (guest_read(w->fds, fds, size)) {
		ret = -EFAULT;
	} else {
		ret = wait_for(w);
		if (ret >= 0 && write_revents(w, fds))
			ret = -EFAULT;
	}
	scratch_free(w->fds, 2 * size);
	return ret;
}

static bool concerns_events(struct thread *t, gva fds, u64 n)
{
	return unlikely(event_space->opened) && n <= POLL_MAX && any_event(t, fds, n);
}

long sys_poll(struct thread *t, const u64 *a)
{
	struct wait w = {.t = t, .n = (u32)a[1]};

	if (likely(!concerns_events(t, a[0], (u32)a[1])))
		return syscall_pass(t, a);
	w.deadline = deadline_in_ms((s32)a[2]);
	return poll_events(&w, a[0]);
}

/* The guest's time limit, in parts of a second of ns each. 0, -EFAULT or -EINVAL. */
static int read_timeout(gva at, s64 ns, s64 *deadline)
{
	s64 ts[2];

	*deadline = FOREVER;
	if (!at)
		return 0;
	if (guest_read(ts, at, sizeof(ts)))
		return -EFAULT;
	if (ts[0] < 0 || ts[1] < 0 || (ns == 1 && ts[1] >= NS_PER_S))
		return -EINVAL;
	*deadline = deadline_in(ts[0], ts[1] * ns);
	return 0;
}

/* As the kernel: what is left is written back, and nobody minds if it cannot be. */
static void write_timeout(gva at, s64 ns, s64 deadline)
{
	s64 left = deadline_left(deadline), ts[2] = {left / NS_PER_S, left % NS_PER_S / ns};

	if (at && deadline != FOREVER)
		guest_write(at, ts, sizeof(ts));
}

long sys_ppoll(struct thread *t, const u64 *a)
{
	struct wait w = {.t = t, .n = (u32)a[1]};
	u64 mask;
	long ret;

	if (likely(!concerns_events(t, a[0], (u32)a[1])))
		return sigwait_ppoll(t, a);
	ret = read_timeout(a[2], 1, &w.deadline);
	if (ret)
		return ret;
	if (a[3] && a[4] != sizeof(mask))
		return -EINVAL;
	if (a[3] && guest_read(&mask, a[3], sizeof(mask)))
		return -EFAULT;
	w.mask = a[3] ? &mask : NULL;
	ret = poll_events(&w, a[0]);
	if (ret != SYSCALL_AGAIN)
		write_timeout(a[2], 1, w.deadline);
	return ret;
}

/* ---- select ---- */

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

static bool select_has_event(struct thread *t, const u64 *sets, u32 words, u32 nfds)
{
	for (u32 fd = 0; fd < nfds; fd++)
		if ((bit_of(sets, fd) || bit_of(sets + words, fd) || bit_of(sets + 2 * words, fd)) &&
		    perf_is_event(t, fd))
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

static void sets_to_fds(struct wait *w, const u64 *sets, u32 words, u32 nfds)
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
static long fds_to_sets(const struct wait *w, u64 *sets, u32 words, u32 nfds)
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

static long select_events(struct wait *w, const u64 *a, u64 *sets, u32 words, u32 nfds)
{
	u64 size = 2ul * nfds * sizeof(*w->fds);
	long ret;

	w->fds = scratch_alloc(size);
	if (!w->fds)
		return -ENOMEM;
	w->host = w->fds + nfds;
	sets_to_fds(w, sets, words, nfds);
	ret = wait_for(w);
	if (ret >= 0)
		ret = fds_to_sets(w, sets, words, nfds);
	for (u32 s = 0; ret >= 0 && s < 3; s++)
		if (a[1 + s] && guest_write(a[1 + s], sets + s * words, words * sizeof(u64)))
			ret = -EFAULT;
	scratch_free(w->fds, size);
	return ret;
}

/* As the kernel, a negative number is refused, and one above what it can be is not. */
static long count_looked_at(u64 nfds)
{
	return (s32)nfds <= 0 ? 0 : count_in_table(MIN((u32)nfds, POLL_MAX));
}

/*
 * True if an event is concerned: then *ret is the result, or -errno. unit: ns in a unit of the time limit's second
 * number.
 */
static bool try_select(struct thread *t, const u64 *a, s64 unit, s64 deadline, const u64 *mask, long *ret)
{
	struct wait w = {.t = t, .deadline = deadline, .mask = mask};
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
		concerned = select_has_event(t, sets, words, nfds);
	if (!*ret && concerned) {
		*ret = select_events(&w, a, sets, words, nfds);
		if (*ret != SYSCALL_AGAIN)
			write_timeout(a[4], unit, w.deadline);
	}
	if (sets)
		scratch_free(sets, words * 3 * sizeof(u64));
	return concerned;
}

long sys_select(struct thread *t, const u64 *a)
{
	s64 deadline;
	long ret;

	if (likely(!event_space->opened))
		return syscall_pass(t, a);
	ret = read_timeout(a[4], 1000, &deadline);
	return ret || try_select(t, a, 1000, deadline, NULL, &ret) ? ret : syscall_pass(t, a);
}

/* The sixth argument points to the pair of mask and size. */
long sys_pselect6(struct thread *t, const u64 *a)
{
	u64 pair[2] = {0, 0}, mask;
	s64 deadline;
	long ret;

	if (likely(!event_space->opened))
		return sigwait_pselect6(t, a);
	if (a[5] && guest_read(pair, a[5], sizeof(pair)))
		return -EFAULT;
	ret = read_timeout(a[4], 1, &deadline);
	if (ret)
		return ret;
	if (pair[0] && pair[1] != sizeof(mask))
		return -EINVAL;
	if (pair[0] && guest_read(&mask, pair[0], sizeof(mask)))
		return -EFAULT;
	return try_select(t, a, 1, deadline, pair[0] ? &mask : NULL, &ret) ? ret : sigwait_pselect6(t, a);
}

long sys_io_pgetevents(struct thread *t, const u64 *a)
{
	return sigwait_pselect6(t, a);
}
