/* See ready.h. */
#include "event/ready.h"

#include <linux/eventpoll.h>
#include "event/event.h"
#include "event/files.h"
#include "event/ring.h"

u32 event_ready_locked(struct event *e)
{
	struct ring *r = ring_of(e);
	s64 state = event_tally(e)->state;

	if (state == PERF_STATE_EXIT && !e->children.first)
		return EPOLLHUP;
	if (state == PERF_STATE_ERROR)
		return EPOLLERR;
	return r ? __atomic_exchange_n(&r->poll, 0, __ATOMIC_ACQ_REL) : EPOLLHUP;
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

static void wait_change(task_id task, u64 fd, s32 by)
{
	struct event *e;

	event_lock();
	e = event_files_get_locked(task, fd);
	if (e && (by > 0 || e->waiters))
		__atomic_store_n(&e->waiters, e->waiters + (u32)by, __ATOMIC_RELAXED);
	event_unlock();
}

void event_wait_begin(task_id task, u64 fd)
{
	wait_change(task, fd, 1);
}

void event_wait_end(task_id task, u64 fd)
{
	wait_change(task, fd, -1);
}

void event_ready_at_exit(struct event *root)
{
	struct ring *r = ring_of(root);

	if (r)
		ring_wake(r, 0);
	else
		host_wake(event_nr(root), 0);
}

void event_ready_repair(void)
{
	for (u32 nr = 1; nr < event_space->slots_high; nr++)
		if (event_slot(nr)->slot == SLOT_LIVE && event_slot(nr)->waiters)
			host_wake(nr, 0);
}
