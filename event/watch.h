/*
 * Events that are registered with epoll instances. The host's instance has a number from here in the place of the
 * guest's data, so that whoever waits on it, in any process that has it, finds out what the guest asked for and what is
 * ready now.
 *
 * Rules: each function takes event_lock(). A number stays good while its event lives; an instance that is closed leaves
 * its numbers behind until then, which costs wakeups that nobody hears.
 */
#ifndef EVENT_WATCH_H
#define EVENT_WATCH_H

#include "event/space.h"

/* Numbers were given in this session. */
static inline bool event_watched(void)
{
	return unlikely(__atomic_load_n(&event_space->watches_high, __ATOMIC_RELAXED) > 1);
}

/*
 * The number of a descriptor in the instance that the task knows as epfd, or a new one, for which nothing is ready; 0:
 * no room, or no event.
 */
u32 event_watch_get(task_id task, s32 epfd, s32 fd);
/*
 * EPOLL_CTL_ADD or MOD has been done: EPOLL* bits and data as the guest gave them. As in the kernel, a wakeup from
 * before is taken and lost; for what stays the registration is listed. The caller takes the datagrams and calls
 * event_watch_missed().
 */
void event_watch_set(u32 watch, u32 events, u64 data);
/* EPOLL_CTL_DEL has been done; `unset`: ADD or MOD has failed, so that a number that is not set goes again. */
void event_watch_put(u32 watch, bool unset);

/*
 * It is listed: since it was looked at something may have changed, or it is level triggered and was ready. The kernel
 * has a list of these in each instance. Others are reported by nobody, whatever the host says.
 */
bool event_watch_listed(u32 watch);
/* The event has one that is, and how many it has in all. With the event lock. */
bool event_watch_listed_locked(const struct event *e, u32 *watches);
/* None of the event's is. With the event lock. */
void event_watch_unlist_locked(struct event *e);

/* What is ready now, and is to be reported with the data: takes a wakeup. 0: nothing. */
u32 event_watch_take(u32 watch, u64 *data);

/* The caller has taken the news of its event: see event_ready_missed(). */
void event_watch_missed(u32 watch);

/* Which event it is of: event.id. */
u64 event_watch_id(u32 watch);

/* The task's process has registered an event of which event_ready_far_locked() is true. */
bool event_watch_far(task_id task);

/* A descriptor of the task that is the watched event; -1: it has none. */
s32 event_watch_fd(u32 watch, task_id task);

/* With the event lock: the event is going, and so do its registrations. */
void event_watch_closed_locked(struct event *root);

#endif
