/*
 * What poll(2), select(2) and epoll(7) answer for an event, and who waits for it to change.
 *
 * A wakeup (POLLIN) is reported once: whoever looks takes it. POLLHUP stays: without a ring buffer, and after the end
 * of the task and of all that inherited from it. Nothing is ever ready for writing.
 */
#ifndef EVENT_READY_H
#define EVENT_READY_H

#include "event/space.h"

/* EPOLL* bits of a descriptor of the task; 0: not ready, or no event. Takes event_lock(). */
u32 event_ready(task_id task, u64 fd);

/* The task whose end is what makes the event ready; 0: it is not, or the event is of no task. Takes event_lock(). */
task_id event_ready_by_end_of(task_id task, u64 fd);

/* As event_ready(), of a root event. With the lock held. */
u32 event_ready_locked(struct event *e);

/*
 * It counts tasks of other processes, which may be killed and tell nobody: who waits has to look for that. With the
 * lock held.
 */
bool event_ready_far_locked(const struct event *e);

/* Which event somebody waits for: its descriptor may be another event's before the wait is over. */
struct event_awaited {
	u32 nr; /* 0: none */
	u64 id;
};

/*
 * From now on host_wake() is called when event_ready() may have changed; look once more before you sleep. One _end for
 * each _begin; a waiter that dies in between only costs wakeups that nobody hears. _begin: event_ready_far_locked().
 */
bool event_wait_begin(task_id task, u64 fd, struct event_awaited *what);
void event_wait_end(const struct event_awaited *what);
/* The descriptor still is that event. Takes no lock. */
bool event_wait_is(const struct event_awaited *what, task_id task, u64 fd);
/* In a section: something may have changed for those who wait. They are told, by host_wake(). */
void event_ready_changed(struct event *root, u32 pending_kill);
/* It has got a ring buffer: unless it has ended, what was ready of it is not any more. With the lock held. */
void event_ready_settled(struct event *root);

/*
 * After _end: the news that host_wake() had sent were taken by the caller. If they are news to others too, they are
 * sent once more.
 */
void event_ready_missed(task_id task, u64 fd);
void event_ready_missed_locked(struct event *e);
/* They would be sent now. */
bool event_ready_owed(task_id task, u64 fd);

/* The event, or one that it inherited to, has ended: that may concern those who wait for it. With the lock held. */
void event_ready_at_exit(struct event *root);

#endif
