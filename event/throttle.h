/*
 * Throttling: an event is quiet for a while, with all of its group. Counting goes on, and PERF_RECORD_THROTTLE and
 * UNTHROTTLE say where samples are missing. With the lock of the task's context, by the task itself, except where a
 * function says otherwise. Two rules:
 *
 * 1. Linux's, of max_sample_rate: so many overflows in a tick, and the event is quiet until the next.
 * 2. At least two thirds of a task's CPU time are its own, whatever its events signal. The time that an overflow takes
 *    which signals or wakes somebody, and the time in the handler, is a debt of the task; each ns of CPU time of its
 *    own pays half a ns back. Beyond THROTTLE_DEBT all events that signal or wake are quiet until there is none. So in
 *    any interval: time taken <= own time / 2 + THROTTLE_DEBT + one overflow with its handler. (Linux allows a quarter
 *    for the overflow alone: perf_cpu_time_max_percent. That is for frequencies here: see period.h.) What leads up to
 *    an overflow (code that counts down to it, the kernel's delivery of a signal) is not told from the task's own time:
 *    up to THROTTLE_GAP in front of it is taken for that.
 *
 * Rule 2 leaves alone what nobody is woken by, and events that happen at an instruction of the guest's (breakpoints,
 * tracepoints).
 */
#ifndef EVENT_THROTTLE_H
#define EVENT_THROTTLE_H

#include "event/space.h"

#define THROTTLE_DEBT 2000000 /* ns: half a tick */
#define THROTTLE_OWN 2	      /* so much time of its own pays for one */
#define THROTTLE_GAP 10000    /* ns */

/*
 * The event alone is quiet from now on, or not any more, if it is an ACTIVE one that samples. If it leads a group the
 * record is written, whatever it is.
 */
void throttle_set(struct event *e, bool on);
/*
 * Rule 1. Every overflow of e counts against the rate that is allowed: of a frequency, and if someone has set the rate.
 * Of other events only those that wake somebody count, so that what is looked at later has a sample for each period.
 * Linux counts all, since each is an interrupt.
 */
READS bool throttle_is_rated(const struct event *e)
{
	return e->attr.freq || event_space->rate_set;
}
/*
 * Counts an overflow of the present tick; now: perf clock. If that was one too many, e and its group are throttled, if
 * it throttles.
 */
void throttle_count(task_id task, struct event *e, const struct event *root, u64 now, bool throttles);

/* Rule 2. The overflows of e signal, or wake somebody who waits for each of them or every few. */
READS bool throttle_is_waker(const struct event *e)
{
	const struct event *root = event_root(e);

	if (e->source.hits || e->source.polled)
		return false;
	return root->async_pid || e->attr.sigtrap ||
	       (root->waiters && !root->attr.watermark && root->attr.wakeup_events);
}
/* Such overflows took from begin to end (task clock). All that do so are throttled if the debt is too much. */
void throttle_spent(task_id task, u64 begin, u64 end);
/* At a tick: the debt is paid, or e does not share it. */
bool throttle_may_end(task_id task, const struct event *e, u64 clock);

/*
 * Rule 2 for handlers, without the lock. The task enters or has left the handler of a signal of its events at this task
 * clock.
 */
void throttle_handling(task_id task, u64 clock, bool on);
/* By any task: it spent ns for a signal of task's events. */
void throttle_charge(task_id task, u64 ns);

#endif
