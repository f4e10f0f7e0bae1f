/*
 * epoll(7) with events among the descriptors. The host's instance has an event's socket, edge triggered, with a number
 * of event/watch.h's in the place of the guest's data; so every datagram (perf/notify.h) is reported by the host once,
 * and becomes what is ready of the event, or nothing. Who takes a datagram off the socket takes the host's reason to
 * report the event to others with it, so one is left or sent again if others have it to report (event_watch_missed()).
 *
 * A wait is the host's own, into the guest's memory, and what it says of events is replaced there: nobody can know
 * before whether an event will be among it. As long as no event was ever registered in the session that costs a test.
 */
#include <asm-generic/errno.h>
#include <linux/eventpoll.h>
#include <linux/time_types.h>
#include "event/ready.h"
#include "event/watch.h"
#include "os/files/deadline.h"
#include "os/session/process.h"
#include "os/session/scratch.h"
#include "os/session/session.h"
#include "os/sig/sigwait.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/sys.h"

/* ---- registrations ---- */

#define TAG_WATCH 0xffffful
_Static_assert(EVENT_WATCHES <= TAG_WATCH + 1, "the numbers fit into the tag");

/* Data that no guest uses: a number of the session's that nobody can guess, and the registration's. */
static u64 tag_of(u32 watch)
{
	return (the_process.config.session_id * 0x9e3779b97f4a7c15ul & ~TAG_WATCH) | watch;
}

/* 0: it is the guest's own data. */
static u32 watch_of(u64 data)
{
	return (data ^ tag_of(0)) < EVENT_WATCHES ? (u32)(data ^ tag_of(0)) : 0;
}

/*
 * The guest's data of what this process, or who forked it, has registered: mostly pointers, which members are not to
 * change. The session's memory has them for other processes that have the instance, and for later programs.
 */
static struct own_data {
	u64 event_id; /* 0: none */
	u64 data;
} *own;

static void keep_data(u32 watch, u64 data)
{
	const u64 size = EVENT_WATCHES * sizeof(*own);
	struct own_data *old = NULL, *new = __atomic_load_n(&own, __ATOMIC_ACQUIRE);

	if (!new) {
		new = scratch_alloc(size);
		if (!new)
			return;
		if (!__atomic_compare_exchange_n(&own, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			scratch_free(new, size);
			new = old;
		}
	}
	new[watch].data = data;
	__atomic_store_n(&new[watch].event_id, event_watch_id(watch), __ATOMIC_RELEASE);
}

/* False: it is no registration that could have this number. */
static bool get_data(u32 watch, u64 *data)
{
	const struct own_data *all = __atomic_load_n(&own, __ATOMIC_ACQUIRE);

	if (!all || !__atomic_load_n(&all[watch].event_id, __ATOMIC_ACQUIRE))
		return true;
	*data = all[watch].data;
	return all[watch].event_id == event_watch_id(watch);
}

/*
 * EPOLLONESHOT is not for the host, which may have nothing to tell when it reports; but it refuses it with
 * EPOLLEXCLUSIVE. A socket can always be written to, an event never.
 */
static u32 host_events(u32 asked)
{
	return EPOLLIN | EPOLLET | (asked & EPOLLEXCLUSIVE ? asked & ~(u32)EPOLLOUT : asked & EPOLLWAKEUP);
}

static long enter(struct thread *t, const u64 *a)
{
	struct epoll_event asked, host;
	u32 watch;
	long ret;

	if (guest_read(&asked, a[3], sizeof(asked)))
		return -EFAULT;
	if (!perf_listen(t, (s32)a[2]))
		return refuse(EPERM, "no socket for the event, so nobody could wake who waits for it");
	watch = event_watch_get(t->cpu->slot, (s32)a[0], (s32)a[2]);
	if (!watch)
		return refuse(ENOSPC, "too many events are registered with epoll instances");
	host = (struct epoll_event){.events = host_events(asked.events), .data = tag_of(watch)};
	ret = sys4(__NR_epoll_ctl, (s32)a[0], a[1], (s32)a[2], &host);
	if (ret)
		event_watch_put(watch, true);
	if (ret)
		return ret;
	keep_data(watch, asked.data);
	event_watch_set(watch, asked.events | EPOLLERR | EPOLLHUP, asked.data);
	perf_drain((s32)a[2]); /* nobody else may ever do it, and the queue is short */
	event_watch_missed(watch);
	return 0;
}

static long leave(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);
	u32 watch = ret ? 0 : event_watch_get(t->cpu->slot, (s32)a[0], (s32)a[2]);

	if (!watch)
		return ret;
	if (own)
		own[watch].event_id = 0;
	event_watch_put(watch, false);
	return ret;
}

long sys_epoll_ctl(struct thread *t, const u64 *a)
{
	if (likely(!perf_is_event(t, a[2])))
		return syscall_pass(t, a);
	switch ((s32)a[1]) {
	case EPOLL_CTL_ADD:
	case EPOLL_CTL_MOD:
		return enter(t, a);
	case EPOLL_CTL_DEL:
		return leave(t, a);
	default:
		return syscall_pass(t, a);
	}
}

/* ---- waiting ---- */

/* One wait of a guest's. */
struct wait {
	struct thread *t;
	const u64 *a;
	s64 deadline;
	const u64 *mask; /* temporary signal mask, or NULL */
	s64 far_slice;	 /* how long it may block at once if the death of members has to be noticed */
	bool again;	 /* all that the host has reported was nothing: behind it may be more */
};

/* fd: of the event; -1: this process has none. What goes on being listed has to be reported by the host again. */
static void take_news(struct thread *t, u32 watch, s32 fd)
{
	bool again = event_watch_listed(watch);

	if (!again && fd >= 0)
		perf_drain_for_others(t, fd);
	if (!again)
		return;
	if (fd >= 0)
		perf_drain(fd);
	event_watch_missed(watch);
}

/* What an item that the host has reported is to the guest. False: nothing. */
static bool take(struct thread *t, struct epoll_event *item)
{
	u32 watch = watch_of(item->data);
	u64 data = 0;
	s32 fd;

	if (likely(!watch))
		return true;
	if (!event_watch_listed(watch))
		return false; /* the datagram is for others */
	item->events = event_watch_take(watch, &data);
	fd = event_watch_fd(watch, t->cpu->slot);
	take_news(t, watch, fd);
	if (!get_data(watch, &data))
		return false;
	item->data = data;
	return item->events;
}

/* The guest's array of n items as the host has filled it. The count of those that are left, or -EFAULT. */
static long take_all(struct thread *t, gva items, long n)
{
	struct epoll_event item;
	long kept = 0;

	for (long i = 0; i < n; i++) {
		if (guest_read(&item, items + i * sizeof(item), sizeof(item)))
			return -EFAULT;
		if (!take(t, &item))
			continue;
		if (guest_write(items + kept++ * sizeof(item), &item, sizeof(item)))
			return -EFAULT;
	}
	return kept;
}

/* The host's wait for at most ns, by the call that the guest has used where time is as fine as its. */
static long host_wait(const struct wait *w, s64 ns)
{
	struct __kernel_timespec ts = {ns / NS_PER_S, ns % NS_PER_S};
	bool fine = w->t->nr == __NR_epoll_pwait2;
	u64 args[6] = {w->a[0], w->a[1], w->a[2], 0, 0, 8};

	if (fine)
		args[3] = ns == FOREVER ? 0 : (u64)&ts;
	else
		args[3] = (u64)(ns == FOREVER ? -1 : (ns + 999999) / 1000000);
	if (w->mask)
		args[4] = (u64)sigwait_mask(w->t, *w->mask);
	return sigwait_some(w->t, w->mask, fine ? __NR_epoll_pwait2 : __NR_epoll_pwait, args);
}

/* As wait_for(); 0: nothing yet. */
static long look(struct wait *w, bool first)
{
	s64 ns = deadline_left(w->deadline);
	bool far = ns && event_watch_far(w->t->cpu->slot);
	long n;

	if (far && (ns == FOREVER || ns > w->far_slice))
		ns = w->far_slice;
	n = host_wait(w, ns);
	if (!n && far) {
		session_reap();
		w->far_slice = perf_next_slice(w->far_slice);
	}
	w->again = n > 0;
	if (n <= 0)
		return n == SYSCALL_AGAIN && !first ? -EINTR : n;
	return take_all(w->t, w->a[1], n);
}

/* The count of items, 0 at the deadline, or -errno. */
static long wait_for(struct wait *w)
{
	long n;

	w->far_slice = PERF_FAR_SLICE;
	n = look(w, true);
	while (!n && (w->again || deadline_left(w->deadline)))
		n = look(w, false);
	return n;
}

/* A wait of the host's is done that began when nothing was registered. True: it is the guest's result too. */
static bool is_result(struct thread *t, const u64 *a, long *n)
{
	if (likely(*n <= 0 || !event_watched()))
		return true;
	*n = take_all(t, a[1], *n);
	return *n;
}

long sys_epoll_wait(struct thread *t, const u64 *a)
{
	struct wait w = {.t = t, .a = a};
	long n;

	if (likely(!event_watched())) {
		n = syscall_pass(t, a);
		if (likely(is_result(t, a, &n)))
			return n;
	}
	w.deadline = deadline_in_ms((s32)a[3]);
	return wait_for(&w);
}

static long pwait(struct thread *t, const u64 *a, s64 deadline)
{
	struct wait w = {.t = t, .a = a, .deadline = deadline};
	u64 mask;

	if (a[4] && a[5] != sizeof(mask))
		return -EINVAL;
	if (a[4] && guest_read(&mask, a[4], sizeof(mask)))
		return -EFAULT;
	w.mask = a[4] ? &mask : NULL;
	return wait_for(&w);
}

long sys_epoll_pwait(struct thread *t, const u64 *a)
{
	long n;

	if (likely(!event_watched())) {
		n = sigwait_epoll_pwait(t, a);
		if (likely(is_result(t, a, &n)))
			return n;
	}
	return pwait(t, a, deadline_in_ms((s32)a[3]));
}

long sys_epoll_pwait2(struct thread *t, const u64 *a)
{
	s64 deadline;
	long n;

	if (likely(!event_watched())) {
		n = sigwait_epoll_pwait(t, a);
		if (likely(is_result(t, a, &n)))
			return n;
	}
	n = deadline_read(a[3], 1, &deadline);
	return n ? n : pwait(t, a, deadline);
}
