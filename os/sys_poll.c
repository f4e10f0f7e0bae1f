/*
 * poll(2), ppoll(2), select(2) and pselect6(2) with events among the descriptors: what is ready of those is event/ready.h's to say, and
 * the host waits for the others and for datagrams (os/notify.h). Without events the calls are the host's.
 */
#include <asm-generic/errno.h>
#include <asm-generic/poll.h>
#include <linux/time_types.h>
#include "event/ready.h"
#include "os/notify.h"
#include "os/scratch.h"
#include "os/sigwait.h"
#include "os/sys_perf.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define NS_PER_S 1000000000l
#define FOREVER (-1l)
#define DEAF_SLICE 10000000l /* how long we wait at once if nobody can wake us */
#define SELECT_MAX 65536     /* descriptors of one select(2) */
#define SELECT_IN (POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR)
#define SELECT_OUT (POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR)
#define SELECT_EX POLLPRI

/* One wait. */
struct wait {
	struct thread *t;
	struct pollfd *fds, *host; /* as the guest asks; as the host is asked */
	u32 n;
	s64 deadline;		   /* on host_clock_mono(), or FOREVER */
	const u64 *mask;	   /* temporary signal mask, or NULL */
	bool deaf;		   /* some event cannot be woken */
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
		p->revents = (short)(event_ready(w->t->cpu->slot, (u32)p->fd) & ((u32)(u16)p->events | POLLERR | POLLHUP));
		ready += !!p->revents;
	}
	return ready;
}

static void begin_waiting(struct wait *w)
{
	task_id task = w->t->cpu->slot;

	w->deaf = false;
	for (u32 i = 0; i < w->n; i++) {
		if (!is_event(w, i))
			continue;
		event_wait_begin(task, (u32)w->fds[i].fd);
		w->deaf |= !notify_listen_event(w->t, w->fds[i].fd);
	}
}

static void end_waiting(struct wait *w)
{
	for (u32 i = 0; i < w->n; i++) {
		if (!is_event(w, i))
			continue;
		event_wait_end(w->t->cpu->slot, (u32)w->fds[i].fd);
		if (w->host[i].revents)
			notify_drain(w->fds[i].fd);
	}
}

static s64 time_left(s64 deadline)
{
	s64 now = (s64)host_clock_mono();

	return deadline == FOREVER ? FOREVER : now < deadline ? deadline - now : 0;
}

/* The host's wait for at most ns. Its count is of no use: the events in it are only datagrams. */
static long host_wait(struct wait *w, s64 ns, bool first)
{
	struct __kernel_timespec ts = {ns / NS_PER_S, ns % NS_PER_S};
	u64 args[6] = {(u64)w->host, w->n, ns == FOREVER ? 0 : (u64)&ts, 0, 8};
	long ret;

	memcpy(w->host, w->fds, w->n * sizeof(*w->fds));
	for (u32 i = 0; i < w->n; i++)
		if (is_event(w, i))
			w->host[i].events = POLLIN;
	if (w->mask)
		args[3] = (u64)sigwait_mask(w->t, *w->mask);
	ret = sigwait_some(w->t, w->mask, __NR_ppoll, args);
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

/* The count of ready ones with their revents, 0 at the deadline, or -errno. */
static long wait_for(struct wait *w)
{
	for (bool first = true;; first = false) {
		s64 ns = time_left(w->deadline);
		u32 ready;
		long ret;

		begin_waiting(w);
		ready = ask_events(w);
		if (ready || !ns)
			ns = 0;
		else if (w->deaf && (ns == FOREVER || ns > DEAF_SLICE))
			ns = DEAF_SLICE;
		ret = host_wait(w, ns, first);
		end_waiting(w);
		if (ret < 0)
			return ret;
		if (!ready)
			ready = ask_events(w);
		ready += take_others(w);
		if (ready || !time_left(w->deadline))
			return ready;
	}
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
		if (ret >= 0 && guest_write(fds, w->fds, size))
			ret = -EFAULT;
	}
	scratch_free(w->fds, 2 * size);
	return ret;
}

static bool concerns_events(struct thread *t, gva fds, u64 n)
{
	return unlikely(event_space->opened) && n <= SELECT_MAX && any_event(t, fds, n);
}

static s64 deadline_in(s64 sec, s64 ns)
{
	return sec > 1000000000 ? FOREVER : (s64)host_clock_mono() + sec * NS_PER_S + ns;
}

long sys_poll(struct thread *t, const u64 *a)
{
	struct wait w = {.t = t, .n = (u32)a[1], .deadline = FOREVER};
	s32 ms = (s32)a[2];

	if (likely(!concerns_events(t, a[0], (u32)a[1])))
		return syscall_pass(t, a);
	if (ms >= 0)
		w.deadline = deadline_in(ms / 1000, ms % 1000 * 1000000l);
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
	s64 left = time_left(deadline), ts[2] = {left / NS_PER_S, left % NS_PER_S / ns};

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

static bool select_has_event(struct thread *t, const u64 *sets, u32 words)
{
	for (u32 fd = 0; fd < words * 64; fd++)
		if ((bit_of(sets, fd) || bit_of(sets + words, fd) || bit_of(sets + 2 * words, fd)) && perf_is_event(t, fd))
			return true;
	return false;
}

static void sets_to_fds(struct wait *w, const u64 *sets, u32 words, u32 nfds)
{
	for (u32 fd = 0; fd < nfds; fd++) {
		short events = (short)((bit_of(sets, fd) ? SELECT_IN : 0) | (bit_of(sets + words, fd) ? SELECT_OUT : 0) |
				       (bit_of(sets + 2 * words, fd) ? SELECT_EX : 0));

		if (events)
			w->fds[w->n++] = (struct pollfd){(s32)fd, events, 0};
	}
}

/* Leaves in the sets what is ready. Their count, or -EBADF. */
static long fds_to_sets(const struct wait *w, u64 *sets, u32 words)
{
	static const short ready[3] = {SELECT_IN, SELECT_OUT, SELECT_EX};
	long n = 0;

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
		ret = fds_to_sets(w, sets, words);
	for (u32 s = 0; ret >= 0 && s < 3; s++)
		if (a[1 + s] && guest_write(a[1 + s], sets + s * words, words * sizeof(u64)))
			ret = -EFAULT;
	scratch_free(w->fds, size);
	return ret;
}

/* 1: no event is concerned, the call is the host's. unit: ns in a unit of the time limit's second number. */
static long try_select(struct thread *t, const u64 *a, s64 unit, const u64 *mask)
{
	u32 nfds = (u32)a[0], words = (nfds + 63) / 64;
	struct wait w = {.t = t, .mask = mask};
	u64 *sets;
	long ret;

	if (likely(!event_space->opened) || !nfds || nfds > SELECT_MAX)
		return 1;
	sets = scratch_alloc(words * 3 * sizeof(u64));
	if (!sets)
		return -ENOMEM;
	ret = read_sets(a, sets, words);
	if (!ret && !select_has_event(t, sets, words))
		ret = 1;
	if (!ret)
		ret = read_timeout(a[4], unit, &w.deadline);
	if (!ret) {
		ret = select_events(&w, a, sets, words, nfds);
		if (ret != SYSCALL_AGAIN)
			write_timeout(a[4], unit, w.deadline);
		ret += ret > 0; /* 1 has another meaning */
	}
	scratch_free(sets, words * 3 * sizeof(u64));
	return ret;
}

long sys_select(struct thread *t, const u64 *a)
{
	long ret = try_select(t, a, 1000, NULL);

	return ret == 1 ? syscall_pass(t, a) : ret - (ret > 1);
}

long sys_pselect6(struct thread *t, const u64 *a)
{
	u64 pair[2] = {0, 0}, mask;
	long ret;

	if (unlikely(event_space->opened) && a[5]) {
		if (guest_read(pair, a[5], sizeof(pair)))
			return -EFAULT;
		if (pair[0] && (pair[1] != sizeof(mask) || guest_read(&mask, pair[0], sizeof(mask))))
			return pair[1] != sizeof(mask) ? -EINVAL : -EFAULT;
	}
	ret = try_select(t, a, 1, pair[0] ? &mask : NULL);
	return ret == 1 ? sigwait_pselect6(t, a) : ret - (ret > 1);
}

long sys_io_pgetevents(struct thread *t, const u64 *a)
{
	return sigwait_pselect6(t, a);
}
