/*
 * In which order the events of a task come where several happen at once and one has to be first.
 *
 * Linux schedules events in, one after another (seen on 6.18, tests/abi/hit_order.c), by
 *   1. pinned groups before others
 *   2. groups of per-CPU events before those of the task
 *   3. the number of the leader's PMU: software, tracepoint, cpu, breakpoint, cpu_clock, task_clock, uprobe
 *   4. groups that the task has inherited (of these, those of any CPU first), then its own
 *   5. the age of the group; a former member begins a new one when its leader is closed
 *   6. the leader before its members, and these by age.
 * Breakpoints are hit in this order, tracepoints and software events in the reverse. Events of the uprobe PMU are hit
 * by their own age alone, the youngest first.
 */
#ifndef EVENT_ORDER_H
#define EVENT_ORDER_H

#include "event/space.h"

/* An event is made. */
void order_new(struct event *e);
/* Its leader is closed. */
void order_new_group(struct event *e);

/* Of some events of one task, all with source.hits and the same source: the first that are hit, in order. */
struct order_batch {
	u32 n;
	struct event *event[16];
	struct event *last; /* NULL, or only those that are hit behind this one */
	u32 rounds;
};

void order_begin(struct order_batch *b);
void order_add(struct order_batch *b, struct event *e);
/* It is empty again, for the next ones; false: there can be none. */
bool order_goes_on(struct order_batch *b);

#endif
