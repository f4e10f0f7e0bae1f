/*
 * Throttling: events that overflow too often are quiet until a later tick, with all of their group. Counting goes on, and PERF_RECORD_THROTTLE
 * and UNTHROTTLE say where samples are missing. With the event lock, by the task itself.
 */
#ifndef EVENT_THROTTLE_H
#define EVENT_THROTTLE_H

#include "event/space.h"

void throttle_set(struct event *e, bool on);
/* The event and its group, by an overflow of it. */
void throttle_group(task_id task, struct event *e);
/* All its overflows count against the rate that is allowed, not only those that wake. */
bool throttle_is_rated(const struct event *e);
bool throttle_is_waker(const struct event *root);
/* Counts an overflow of the present tick; now: perf clock. True: that was one too many. */
bool throttle_too_often(task_id task, struct event *e, const struct event *root, u64 now);

#endif
