/*
 * How many signals an event owes to whom its wakeups signal (O_ASYNC).
 *
 * Each wakeup that signals is counted in its own section, so exactly once, before anything is sent. What is sent later
 * (host_wake()) is only the news of it: it may be dropped or be sent twice. Whoever gets news takes one of what is
 * owed, and drops the news if nothing is. Signals for a process group are not counted: nobody knows who has had them.
 */
#ifndef EVENT_ASYNC_H
#define EVENT_ASYNC_H

#include "event/space.h"

/* In a section, with any locks: the root's waiters look again, and with a pending_kill one more signal is owed. */
void async_wake(struct event *root, u32 pending_kill);

/*
 * With event_lock(). What one signal was owed for: POLL_IN, POLL_HUP or POLL_ERR; 0: nothing is owed. says: what the
 * news says, which is taken first. queues: signals of that number do not merge.
 */
u32 async_take(struct event *root, u32 says, bool queues);
/* With event_lock(): nothing is owed. */
void async_reset(struct event *root);

/* How many signals are owed. [any] */
u32 async_owed(const struct event *root);
/* News could not be sent. [any] */
void async_not_sent(struct event *root);
/* How many have to be sent again: no more than are owed. [any] */
u32 async_send_again(struct event *root);

#endif
