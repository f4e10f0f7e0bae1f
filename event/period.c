/* See period.h. */
#include "event/period.h"

#include "event/event.h"
#include "rt/log.h"

#define SECOND 1000000000ul
#define STEP_MAX (1ul << 62)
#define CLOCK_STEP_MIN 10000 /* ns: clocks do not interrupt more often */

/* Overflows come from within the core, not from a limit: the kernel's "swevents". */
static bool is_counted_here(const struct event *e)
{
	return e->source.polled || e->source.hits;
}

/* Linux quirk: such an event with a fixed period overflows every time if its samples tell their period. */
static bool every_time(const struct event *e)
{
	return is_counted_here(e) && !e->attr.freq && (e->attr.sample_type & PERF_SAMPLE_PERIOD);
}

/* The kernel's perf_swevent_event(): with a period of 1 it does not look at the last one, nor change it. */
static bool keeps_last(const struct event *e)
{
	return is_counted_here(e) && !e->attr.freq && e->period == 1;
}

void period_init(struct event *e, const struct event *from)
{
	if (!e->attr.sample_period)
		return;
	if (e->source.clock && e->attr.freq) {
		e->attr.sample_period = SECOND / MAX(e->attr.sample_freq, 1ul);
		e->attr.freq = 0;
		if (!e->attr.sample_period)
			e->attr.sample_period = 1;
	}
	if (e->attr.freq)
		e->period = from ? from->period : 1;
	else
		e->period = e->attr.sample_period;
	e->period_left = period_step(e);
	e->last_period = e->period;
}

static u64 step_of(const struct event *e, u64 period)
{
	if (e->source.clock)
		return MAX(period, CLOCK_STEP_MIN);
	if (every_time(e))
		return 1;
	return period > STEP_MAX >> e->source.shift ? STEP_MAX : period << e->source.shift;
}

u64 period_step(const struct event *e)
{
	return step_of(e, e->period);
}

u64 period_shown(const struct event *e)
{
	return every_time(e) ? 1 : e->last_period;
}

/* Its period was changed, and the overflow after next is not a period behind it: see change_counted_here(). */
static bool has_after_next(const struct event *e)
{
	return !e->attr.freq && e->after_next > e->next;
}

u64 period_advance(struct event *e, u64 now)
{
	u64 step = period_step(e), next = e->next + step, passed = 0;

	check_slow(ctx_is_locked());
	if (has_after_next(e)) {
		next = e->after_next;
		passed = e->last_period == 1;
	}
	if (unlikely(next <= now)) {
		u64 more = (now - next) / MAX(step, 1ul) + 1;

		passed += more;
		next += more * step;
	}
	e->next = next;
	if (e->last_period != e->period && !keeps_last(e)) /* or it would be noted each time */
		e->last_period = e->period;
	return passed;
}

/* The kernel's perf_swevent_add(): what has counted nothing since its period was changed begins with the new one. */
u64 period_left(const struct event *e, u64 now)
{
	if (has_after_next(e))
		return period_step(e);
	return e->next > now ? e->next - now : 0;
}

/* The period, in users' units, with which a source that advances by count in ns overflows freq times a second. */
static u64 ideal_period(u64 count, u64 ns, u64 freq)
{
	u64 divisor;

	while (count > ~0ul / SECOND) {
		count >>= 1;
		ns >>= 1;
	}
	while (ns > ~0ul / freq) {
		count >>= 1;
		ns >>= 1;
	}
	divisor = ns * freq;
	return divisor ? MIN(count * SECOND / divisor, STEP_MAX) : STEP_MAX;
}

#define COST_UNIT 64 /* of a factor */

/*
 * Samples with the present period took `spent` of the ns: with this one they would take perf_cpu_time_max_percent of
 * the time. The time between two samples includes the cost of one. If that cost is above 1 / sample_freq, periods would
 * become shorter for ever, and samples take nearly all of the time. One sample that took very long is no reason for a
 * very long period: the task's own time is taken to be at least an eighth of what the samples took.
 */
static u64 least_period(const struct event *e, u64 ns, u64 spent)
{
	u64 own = MAX(MAX(ns - MIN(spent, ns), spent / 8), 1ul);
	u64 percent = (u64)event_sysctl()->cpu_time_max_percent, divisor = own * percent;

	if (percent > 99 || !divisor) /* 0 and 100: no limit. Or others wrote over what samples took */
		return 1;
	return MIN(e->period, STEP_MAX >> 20) * (spent * (100 - percent) * COST_UNIT / divisor) / COST_UNIT;
}

/* An eighth of the way, rounded up. */
static void adjust(struct event *e, u64 count, u64 ns, u64 spent)
{
	u64 ideal = ideal_period(count, ns, MAX(e->attr.sample_freq, 1ul));
	s64 way = (s64)(MAX(ideal, least_period(e, ns, spent)) - e->period);
	s64 period = (s64)e->period + (way + (way >= 0 ? 7 : -7)) / 8;

	e->period = period > 0 ? (u64)period : 1;
}

void period_overflowed(struct event *e, u64 time)
{
	struct event_ctx *ctx = event_ctx(e->task);
	u64 spent = ctx->spent, took = spent - e->freq_spent, ns = time - e->freq_stamp;

	ctx->freq_sampled = 1;
	e->freq_stamp = time;
	e->freq_spent = spent;
	if (ns && ns < 2 * PERIOD_TICK)
		adjust(e, e->last_period, ns, took);
}

void period_ticked(struct event *e, u64 now, u64 ns, u64 spent)
{
	u64 count = (now - e->freq_count) >> e->source.shift, step;

	e->freq_count = now;
	if (!count || !ns)
		return;
	adjust(e, count, ns, spent);
	step = period_step(e);
	if (e->next <= now || (e->next - now) / 8 <= step)
		return;
	e->last_period -= (e->next - now - step) >> e->source.shift;
	e->next = now + step;
}

/*
 * Linux quirk: an ACTIVE event of those that are counted here overflows at the very next count, then a period after the
 * change, which is still the last one: perf_swevent_set_period() takes hw.last_period, and where that is 1 finds two
 * overflows at once (seen on 6.18; tests/abi/period.c).
 */
static void change_counted_here(struct event *e, u64 now)
{
	u64 last = e->last_period;

	e->next = now + 1;
	if (!e->attr.freq && !keeps_last(e) && !every_time(e))
		e->after_next = now + (last == 1 ? 2 : step_of(e, last));
}

void period_change(struct event *e, u64 value, u64 now)
{
	e->attr.sample_period = value;
	if (!e->attr.freq)
		e->period = value;
	if (event_tally(e)->state == PERF_STATE_ACTIVE && is_counted_here(e)) {
		change_counted_here(e, now);
		return;
	}
	e->last_period = e->period;
	if (event_tally(e)->state == PERF_STATE_ACTIVE)
		e->next = now + period_step(e);
	else
		e->period_left = period_step(e);
}
