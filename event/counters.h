/*
 * Which groups of hardware events count while they cannot all: there are fewer counters than events
 * (event_space.counters), or one group is to be alone (attr.exclusive). What the kernel does in ctx_sched_in() and
 * perf_rotate_context(). Nothing of it is looked at while event_space.counters_scarce is 0.
 *
 * A CPU has so many counters for the per-CPU events and for the task that is there. Groups are placed in this order:
 *
 *   1. pinned groups of the CPU	2. pinned groups of the task
 *   3. the other groups of the CPU	4. the other groups of the task
 *
 * A group is placed as a whole or not at all. It needs a counter for each hardware event that is enabled; one of
 * software events only needs none. Behind the first group of a list that finds no room, none of that list is tried. An
 * exclusive group finds room if no other of its own list has a counter, and leaves none to those behind it: it may be
 * beside pinned ones that are not exclusive, as in Linux since 5.10.
 *
 * A pinned group without room goes to the error state, where it stays until it is enabled again. The others wait: after
 * each interval (perf_event_mux_interval_ms of the cpu PMU) the first group of the list that counts goes to the list's
 * end, and all are placed again. The interval is one of the task's CPU time for its own list, of CLOCK_MONOTONIC for
 * that of a CPU, and a task that runs there sees when it is over. As in Linux, nothing is placed anew when an event is
 * disabled or closed; whoever waits has its room after the next interval.
 *
 * An event that waits is INACTIVE, so its source is not read: no counter is needed to stop it.
 *
 * A per-CPU event counts through its children on all tasks (lineage.h). While a task runs whose pinned groups have
 * taken the event's counter, the event is kept out: it does not count, and that CPU time is not in its time_running.
 */
#ifndef EVENT_COUNTERS_H
#define EVENT_COUNTERS_H

#include "event/space.h"

/* The groups of e's context may have changed; of the task's. now: that context's clock. */
void counters_place(const struct event *e, u64 now);
void counters_place_task(task_id task, u64 now);

/* Before e is opened as a member of leader's group: 0, or -EINVAL if the group can never be placed. */
int counters_check_group(const struct event *leader, u32 pmu);

/* By the task itself, when its CPU time reaches event_ctx.look: an interval is over. */
void counters_rotate_slow(task_id task);
static inline void counters_rotate(task_id task)
{
	if (unlikely(event_ctx(task)->look))
		counters_rotate_slow(task);
}

/* A child of a per-CPU event is kept out no longer: it is placed, disabled or gone. */
void counters_end_kept_out(struct event *child);
/* Of a per-CPU event: what is left of this time when that is taken away for which tasks keep its children out now. */
u64 counters_time_running(const struct event *root, u64 running);

/* Of a context (check_ctx() in validate.c): NULL, or what is wrong. */
const char *counters_validate(task_id task);

#endif
