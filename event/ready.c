/* See ready.h. */
#include "event/ready.h"

#include <linux/eventpoll.h>
#include "event/after.h"
#include "event/event.h"
#include "event/files.h"
#include "event/lineage.h"
#include "event/ring.h"
#include "event/watch.h"
#include "rt/log.h"

static bool is_over(const struct event *e)
{
	return event_tally(e)->state == PERF_STATE_EXIT && !e->children.first && !lineage_has_heirs(e);
}

/* What no look takes away; 0: nothing. */
static u32 stays(struct event *e)
{
	s64 state = event_tally(e)->state;

	if (is_over(e))
		return EPOLLHUP;
	if (state == PERF_STATE_ERROR)
		return EPOLLERR;
	return ring_of(e) ? 0 : EPOLLHUP;
}

u32 event_ready_locked(struct event *e)
{
	u32 bits = stays(e);
	struct ring *r = ring_of(e);

	check_slow(event_is_locked());
	return bits || !r ? bits : __atomic_exchange_n(&r->poll, 0, __ATOMIC_ACQ_REL);
}

u32 event_ready(task_id task, u64 fd)
{
	struct event *e;
	u32 bits;

	event_lock();
	e = event_files_get_locked(task, fd);
	bits = e ? event_ready_locked(e) : 0;
	event_unlock();
	return bits;
}

task_id event_ready_by_end_of(task_id task, u64 fd)
{
	struct event *e;
	task_id ended;

	event_lock();
	e = event_files_get_locked(task, fd);
	ended = e && is_over(e) ? e->task : 0;
	event_unlock();
	return ended;
}

bool event_ready_far_locked(const struct event *e)
{
	if (event_tally(e)->state == PERF_STATE_EXIT)
		return !is_over(e);
	return e->task && host_task_tgid(e->task) != host_task_tgid(host_current());
}

bool event_wait_begin(task_id task, u64 fd, struct event_awaited *what)
{
	struct event *e;
	bool far = false;

	event_lock();
	e = event_files_get_locked(task, fd);
	*what = (struct event_awaited){e ? event_nr(e) : 0, e ? e->id : 0};
	if (e) {
		__atomic_store_n(&e->waiters, e->waiters + 1, __ATOMIC_RELAXED);
		far = event_ready_far_locked(e);
	}
	event_unlock();
	return far;
}

void event_wait_end(const struct event_awaited *what)
{
	struct event *e = event_slot(what->nr);

	if (!what->nr)
		return;
	event_lock();
	if (e->slot == SLOT_LIVE && e->id == what->id && e->waiters)
		__atomic_store_n(&e->waiters, e->waiters - 1, __ATOMIC_RELAXED);
	event_unlock();
}

bool event_wait_is(const struct event_awaited *what, task_id task, u64 fd)
{
	u32 nr = event_files_lookup(task, fd);

	return nr && nr == what->nr && event_slot(nr)->id == what->id;
}

/* What stays is news to those who are blocked, too; a wakeup they would have taken themselves. */
static bool is_needed(struct event *e)
{
	u32 watches = 0;

	return e->waiters && (event_watch_listed_locked(e, &watches) || (stays(e) && e->waiters > watches));
}

bool event_ready_owed(task_id task, u64 fd)
{
	struct event *e;
	bool owed;

	event_lock();
	e = event_files_get_locked(task, fd);
	owed = e && is_needed(e);
	event_unlock();
	return owed;
}

void event_ready_missed_locked(struct event *e)
{
	check_slow(event_is_locked());
	if (is_needed(e))
		wake_after(event_nr(e), 0);
}

void event_ready_missed(task_id task, u64 fd)
{
	struct event *e;

	event_lock();
	e = event_files_get_locked(task, fd);
	if (e)
		event_ready_missed_locked(e);
	event_unlock();
}

/* Twice if the section restarts: an instance then looks once more than it has to. */
UNNOTED void event_ready_changed(struct event *root, u32 pending_kill)
{
	__atomic_fetch_add(&root->wakes, 1, __ATOMIC_SEQ_CST);
	wake_after(event_nr(root), pending_kill);
}

void event_ready_settled(struct event *root)
{
	if (!stays(root))
		event_watch_unlist_locked(root);
}

/* Linux quirk: without a ring buffer that wakes nobody; but POLLHUP was told before. */
void event_ready_at_exit(struct event *root)
{
	struct ring *r = ring_of(root);

	check_slow(event_is_locked());
	if (r)
		ring_wake(r, 0);
}
