/*
 * Periods of sampling events: how far it is from one overflow to the next, and how sample_freq changes that. Linux's
 * perf_adjust_period() and perf_swevent_set_period() as facts. With the lock of the event's context.
 *
 * A freq event begins with a period of 1 and is adjusted at each overflow, by the time since the last one, and at each
 * tick of its task's CPU time; but to no period with which samples would take more of the task's time than
 * perf_cpu_time_max_percent. A clock's frequency is a period from the start.
 */
#ifndef EVENT_PERIOD_H
#define EVENT_PERIOD_H

#include "event/space.h"

#define PERIOD_TICKS_PER_SECOND 250 /* CONFIG_HZ of most kernels */
#define PERIOD_TICK (1000000000ul / PERIOD_TICKS_PER_SECOND)

/* A new event, with its attr and source: from: its root, or NULL. */
void period_init(struct event *e, const struct event *from);

/* Between two overflows, in the source's unit. */
u64 period_step(const struct event *e);

/* What a sample says that its period was. */
u64 period_shown(const struct event *e);

/* event.next was reached at now: moves it on behind now, and returns how many overflows were passed unseen. */
u64 period_advance(struct event *e, u64 now);

/*
 * How far the next overflow is when the event is scheduled out, its source at now. 0: reached, and the task has not
 * come to tell.
 */
u64 period_left(const struct event *e, u64 now);

/* Adjusts the frequency at an overflow, before period_advance(); time: perf clock. */
void period_overflowed(struct event *e, u64 time);

/*
 * The same at a tick: the source stands at now; since the last one ns of CPU time have passed, of which samples took
 * `spent`.
 */
void period_ticked(struct event *e, u64 now, u64 ns, u64 spent);

/* IOC_PERIOD, whose value has been checked; now: where the source stands if the event is ACTIVE. */
void period_change(struct event *e, u64 value, u64 now);

#endif
