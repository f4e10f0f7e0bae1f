/* See watch.h. */
#include "event/watch.h"

#include <linux/eventpoll.h>
#include "event/files.h"
#include "event/ready.h"
#include "rt/log.h"

#define STICKY ((u32)EPOLLERR | EPOLLHUP) /* always of interest, and no look takes them away */
#define FLAGS (EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE | EPOLLWAKEUP)

static struct event_watch *slot(u32 nr)
{
	return &event_space->watch[EVENT_WITHIN(nr, watch)];
}

/* Ends, whatever others write there: see for_each_linked(). */
#define for_each_watch(nr, e)                                                                                          \
	for (u32 nr = (e)->watches, prev_ = 0, next_, left_ = EVENT_WATCHES;                                           \
	     nr && slot(nr)->prev == prev_ && left_-- && (next_ = slot(nr)->next, true); prev_ = nr, nr = next_)

static struct event *watched(const struct event_watch *w)
{
	struct event *e = event_slot(w->event);

	return w->event && e->slot == SLOT_LIVE && e->id == w->event_id ? e : NULL;
}

static bool is_known_as(const struct event_watch *w, u32 event, u32 files, s32 epfd, s32 fd)
{
	return w->event == event && w->files == files && w->epfd == epfd && w->fd == fd && watched(w);
}

static u32 nr_of(const struct event_watch *w)
{
	return (u32)(w - event_space->watch);
}

static void link_watch(struct event *e, struct event_watch *w)
{
	w->prev = 0;
	w->next = e->watches;
	if (e->watches)
		slot(e->watches)->prev = nr_of(w);
	e->watches = nr_of(w);
}

static void unlink_watch(struct event *e, struct event_watch *w)
{
	if (w->prev)
		slot(w->prev)->next = w->next;
	else
		e->watches = w->next;
	if (w->next)
		slot(w->next)->prev = w->prev;
}

static void make_free(struct event_watch *w)
{
	w->next = event_space->watches_free;
	event_space->watches_free = nr_of(w);
}

/* A free number; 0: none. */
static u32 take_free(void)
{
	u32 nr = EVENT_WITHIN(event_space->watches_free, watch);

	if (nr) {
		event_space->watches_free = slot(nr)->next;
		return nr;
	}
	nr = event_space->watches_high;
	if (nr >= MIN(event_space->limits.watches, EVENT_WATCHES))
		return 0;
	__atomic_store_n(&event_space->watches_high, nr + 1, __ATOMIC_RELAXED);
	return nr;
}

/* The event comes last: with it the slot is taken. */
static u32 make(struct event *e, u32 files, s32 epfd, s32 fd)
{
	u32 nr = take_free();
	struct event_watch *w = slot(nr);

	if (!nr)
		return 0;
	__atomic_store_n(&w->event, 0, __ATOMIC_RELEASE);
	w->event_id = e->id;
	w->events = 0;
	w->seen = __atomic_load_n(&e->wakes, __ATOMIC_SEQ_CST);
	w->files = files;
	w->epfd = epfd;
	w->fd = fd;
	__atomic_store_n(&w->event, event_nr(e), __ATOMIC_RELEASE);
	link_watch(e, w);
	__atomic_store_n(&e->waiters, e->waiters + 1, __ATOMIC_RELAXED);
	return nr;
}

static u32 get_locked(task_id task, s32 epfd, s32 fd)
{
	struct event *e = event_files_get_locked(task, (u32)fd);
	u32 files = event_ctx(task)->files;

	if (!e)
		return 0;
	for_each_watch(nr, e)
		if (is_known_as(slot(nr), event_nr(e), files, epfd, fd))
			return EVENT_WITHIN(nr, watch);
	return make(e, files, epfd, fd);
}

u32 event_watch_get(task_id task, s32 epfd, s32 fd)
{
	u32 nr;

	event_lock();
	nr = get_locked(task, epfd, fd);
	event_unlock();
	return nr;
}

/* ---- the kernel's ready list ---- */

/* EPOLLONESHOT, and it was: nothing lists it. */
static bool is_off(const struct event_watch *w)
{
	return !(w->events & ~FLAGS);
}

static bool is_listed(const struct event_watch *w, const struct event *e)
{
	return !is_off(w) && w->seen != __atomic_load_n(&e->wakes, __ATOMIC_SEQ_CST);
}

static void list_as(struct event_watch *w, const struct event *e, bool listed)
{
	w->seen = __atomic_load_n(&e->wakes, __ATOMIC_SEQ_CST) - listed;
}

bool event_watch_listed_locked(const struct event *e, u32 *watches)
{
	bool listed = false;

	check_slow(event_is_locked());
	for_each_watch(nr, e) {
		listed |= is_listed(slot(nr), e);
		++*watches;
	}
	return listed;
}

void event_watch_unlist_locked(struct event *e)
{
	check_slow(event_is_locked());
	for_each_watch(nr, e)
		list_as(slot(nr), e, false);
}

bool event_watch_listed(u32 nr)
{
	const struct event *e;
	bool listed;

	event_lock();
	e = nr < event_space->watches_high ? watched(slot(nr)) : NULL;
	listed = e && is_listed(slot(nr), e);
	event_unlock();
	return listed;
}

void event_watch_missed(u32 nr)
{
	struct event *e;

	event_lock();
	e = watched(slot(nr));
	if (e)
		event_ready_missed_locked(e);
	event_unlock();
}

void event_watch_set(u32 nr, u32 events, u64 data)
{
	struct event_watch *w = slot(nr);
	struct event *e;

	event_lock();
	e = watched(w);
	if (e) {
		w->data = data;
		__atomic_store_n(&w->events, events, __ATOMIC_RELEASE);
		list_as(w, e, false);
		if (event_ready_locked(e) & events)
			list_as(w, e, true);
	}
	event_unlock();
}

static void put_locked(struct event_watch *w)
{
	struct event *e = watched(w);

	if (!e)
		return;
	if (e->waiters)
		__atomic_store_n(&e->waiters, e->waiters - 1, __ATOMIC_RELAXED);
	unlink_watch(e, w);
	__atomic_store_n(&w->event, 0, __ATOMIC_RELEASE);
	make_free(w);
}

void event_watch_closed_locked(struct event *root)
{
	check_slow(event_is_locked());
	for_each_watch(nr, root) {
		__atomic_store_n(&slot(nr)->event, 0, __ATOMIC_RELEASE);
		make_free(slot(nr));
	}
	root->watches = 0;
}

void event_watch_put(u32 nr, bool unset)
{
	event_lock();
	if (!unset || !slot(nr)->events)
		put_locked(slot(nr));
	event_unlock();
}

/* Level triggered, what stays is reported by the next wait too. */
static u32 take_locked(struct event_watch *w, struct event *e)
{
	u32 bits;

	if (!is_listed(w, e))
		return 0;
	list_as(w, e, false);
	bits = event_ready_locked(e) & (w->events | STICKY);
	if (bits && (w->events & EPOLLONESHOT))
		w->events &= FLAGS;
	else if ((bits & STICKY) && !(w->events & EPOLLET))
		list_as(w, e, true);
	return bits;
}

u32 event_watch_take(u32 nr, u64 *data)
{
	struct event *e;
	u32 bits = 0;

	if (nr >= event_space->watches_high)
		return 0;
	event_lock();
	e = watched(slot(nr));
	*data = slot(nr)->data;
	if (e)
		bits = take_locked(slot(nr), e);
	event_unlock();
	return bits;
}

u64 event_watch_id(u32 nr)
{
	return __atomic_load_n(&slot(nr)->event_id, __ATOMIC_RELAXED);
}

bool event_watch_far(task_id task)
{
	u32 files = event_ctx(task)->files;
	bool far = false;

	event_lock();
	for (u32 nr = 1; nr < MIN(event_space->watches_high, EVENT_WATCHES) && !far; nr++)
		if (slot(nr)->files == files && watched(slot(nr)))
			far = event_ready_far_locked(watched(slot(nr)));
	event_unlock();
	return far;
}

s32 event_watch_fd(u32 nr, task_id task)
{
	const struct event_watch *w = slot(nr);

	if (nr >= event_space->watches_high || !w->event)
		return -1;
	return event_files_lookup(task, (u32)w->fd) == w->event ? w->fd : event_files_find(task, w->event);
}
