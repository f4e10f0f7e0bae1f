/*
 * See poll_wait.h. What is ready of events is event/ready.h's to say; the host waits for the others and for datagrams
 * (perf/notify.h).
 */
#include "os/files/poll_wait.h"

#include <asm-generic/errno.h>
#include <linux/time_types.h>
#include "os/files/vfile.h"
#include "os/session/death.h"
#include "os/session/scratch.h"
#include "os/session/session.h"
#include "os/sig/sigwait.h"
#include "perf/perf.h"
#include "rt/string.h"
#include "rt/sys.h"

#define ITEM_SIZE (2 * sizeof(struct pollfd) + sizeof(struct event_awaited))

bool poll_wait_alloc(struct poll_wait *w, u32 n)
{
	w->on = scratch_alloc(n * ITEM_SIZE);
	w->fds = (struct pollfd *)(w->on + n);
	w->host = w->fds + n;
	return w->on;
}

void poll_wait_free(struct poll_wait *w, u32 n)
{
	scratch_free(w->on, n * ITEM_SIZE);
}

static bool is_event(const struct poll_wait *w, u32 i)
{
	return w->fds[i].fd >= 0 && perf_is_event(w->t, (u32)w->fds[i].fd);
}

/* Fills in the revents of the events; how many are ready. */
static u32 ask_events(struct poll_wait *w)
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

/* What the host is asked without the events. Of pcl's own descriptors it says that they are not open. */
static void leave_events_out(struct poll_wait *w)
{
	memcpy(w->host, w->fds, w->n * sizeof(*w->fds));
	memset(w->on, 0, w->n * sizeof(*w->on));
	for (u32 i = 0; i < w->n; i++) {
		w->host[i].revents = w->fds[i].revents = 0;
		if (is_event(w, i))
			w->host[i].fd = -1;
		else if (vfile_fd_hidden(w->fds[i].fd))
			w->host[i].fd = VFILE_NEVER_OPEN;
	}
}

static void shorten(struct poll_wait *w, s64 slice)
{
	if (w->slice == FOREVER || w->slice > slice)
		w->slice = slice;
}

/* Registers with the events, and has the host listen to those whose sockets have names. */
static void begin_waiting(struct poll_wait *w)
{
	for (u32 i = 0; i < w->n; i++) {
		s32 fd = w->fds[i].fd;

		if (!is_event(w, i))
			continue;
		if (event_wait_begin(w->t->cpu->slot, (u32)fd, &w->on[i])) {
			w->far = true;
			shorten(w, w->far_slice);
		}
		if (perf_listen(w->t, fd))
			w->host[i] = (struct pollfd){fd, POLLIN, 0};
		else
			shorten(w, PERF_DEAF_SLICE);
	}
}

/* Datagrams are taken from the socket that the number is by now, so not if that is another event's. */
static void end_waiting(struct poll_wait *w)
{
	for (u32 i = 0; i < w->n; i++) {
		u32 fd = (u32)w->fds[i].fd;

		event_wait_end(&w->on[i]);
		if (!w->on[i].nr || !w->host[i].revents || !event_wait_is(&w->on[i], w->t->cpu->slot, fd))
			continue;
		perf_drain((s32)fd);
		w->drained = true;
	}
}

/* What was taken may be news to others. Not before the wait is over, or it would be woken by it again and again. */
static void tell_others(struct poll_wait *w)
{
	for (u32 i = 0; i < w->n; i++)
		if (is_event(w, i))
			event_ready_missed(w->t->cpu->slot, (u32)w->fds[i].fd);
}

/*
 * The host's wait for at most ns. Its count is of no use: the events in it are only datagrams. mask: as poll_wait.mask.
 */
static long host_wait(struct poll_wait *w, s64 ns, const u64 *mask, bool first)
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

static u32 take_others(struct poll_wait *w)
{
	u32 ready = 0;

	for (u32 i = 0; i < w->n; i++) {
		if (w->on[i].nr || is_event(w, i))
			continue;
		w->fds[i].revents = w->host[i].revents;
		ready += !!w->fds[i].revents;
	}
	return ready;
}

/*
 * One look, after a wait of the host's if nothing is ready at once. As poll_wait(); 0: nothing yet. As in the kernel,
 * what is ready comes before a signal that is pending.
 */
static long look(struct poll_wait *w, bool first)
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

long poll_wait(struct poll_wait *w)
{
	long ret;

	w->far_slice = PERF_FAR_SLICE;
	w->drained = false;
	ret = look(w, true);
	while (!ret && deadline_left(w->deadline))
		ret = look(w, false);
	if (w->drained)
		tell_others(w);
	return ret;
}
