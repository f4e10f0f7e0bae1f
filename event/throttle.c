/* See throttle.h. */
#include "event/throttle.h"

#include "event/event.h"
#include "event/overflow.h"
#include "event/period.h"
#include "event/sideband.h"

#define SIGNAL_INTERRUPTS 16 /* a signal, its return, and a handler in which other events have samples may cost the task 100 us */

/* The kernel's perf_event_throttle_group() and its counterpart: the record is the leader's. */
void throttle_set(struct event *e, bool on)
{
	if (!overflow_active(e) && !event_is_leader(e))
		return;
	e->throttled = on && overflow_active(e);
	if (!on)
		e->interrupts = 0;
	if (event_is_leader(e))
		sideband_throttle_locked(e, on);
}

/*
 * By an overflow of e, until the next tick; but if those of this tick, with what they led to, have taken several, until as much time has
 * passed again: or a task that is signalled all the time would do nothing else. (Linux lowers the rate: perf_cpu_time_max_percent.)
 */
void throttle_group(task_id task, struct event *e)
{
	struct event *leader = event_leader(e), *s;
	u64 clock = host_task_clock(task), taken = clock - e->tick_begin;

	leader->throttled_until = taken > 2 * PERIOD_TICK ? clock + taken : 0;
	throttle_set(leader, true);
	for_each_sibling(s, leader)
		throttle_set(s, true);
}

/*
 * Linux counts every overflow against the rate that is allowed, since each is an interrupt. Here that is so for frequencies, and if
 * someone has set the rate; else for those overflows that wake somebody. So what is only looked at later has a sample for each period.
 */
bool throttle_is_rated(const struct event *e)
{
	return e->attr.freq || event_space->rate_set;
}

/* A tick is one of the task's CPU time: while others have the CPU, none passes. At least as much time passes by the perf clock. */
static void count_from_tick(struct event *e, task_id task, u64 now)
{
	u64 clock = host_task_clock(task), used = clock - e->tick_clock;

	if (used < PERIOD_TICK) {
		e->tick_stamp = now - used;
		return;
	}
	e->tick_stamp = now;
	e->tick_clock = e->tick_begin = clock;
	e->interrupts = 0;
}

/* Counts an overflow of the present tick. One that signals counts for several: or a task might do nothing else at the highest rate. */
bool throttle_too_often(task_id task, struct event *e, const struct event *root, u64 now)
{
	if (now - e->tick_stamp >= PERIOD_TICK)
		count_from_tick(e, task, now);
	e->interrupts += root->async_pid || e->attr.sigtrap ? SIGNAL_INTERRUPTS : 1;
	return e->interrupts * (u64)PERIOD_TICKS_PER_SECOND >= (u64)event_sysctl()->max_sample_rate;
}

/* An event whose overflows are there to wake somebody, each of them or every few. */
bool throttle_is_waker(const struct event *root)
{
	return !throttle_is_rated(root) && (root->async_pid || (!root->attr.watermark && root->attr.wakeup_events));
}
