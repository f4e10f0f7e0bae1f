/* See throttle.h. */
#include "event/throttle.h"

#include "event/event.h"
#include "event/overflow.h"
#include "event/period.h"
#include "event/sideband.h"
#include "rt/log.h"

/* a signal, its return, and a handler in which other events have samples may cost the task 100 us */
#define SIGNAL_INTERRUPTS 16

/* The kernel's perf_event_throttle_group() and its counterpart: the record is the leader's. */
void throttle_set(struct event *e, bool on)
{
	check_slow(ctx_is_locked());
	if (!overflow_active(e) && !event_is_leader(e))
		return;
	e->throttled = on && overflow_active(e);
	if (!on)
		e->interrupts = 0;
	if (event_is_leader(e))
		sideband_throttle_locked(e, on);
}

static void throttle_group(struct event *e)
{
	struct event *leader = event_leader(e), *s;

	throttle_set(leader, true);
	for_each_sibling(s, leader)
		throttle_set(s, true);
}

/* ---- the rate ---- */

/*
 * A tick is one of the task's CPU time: while others have the CPU, none passes. At least as much time passes by the
 * perf clock.
 */
static void count_from_tick(struct event *e, task_id task, u64 now)
{
	u64 clock = host_task_clock(task), used = clock - e->tick_clock;

	if (used < PERIOD_TICK) {
		e->tick_stamp = now - used;
		return;
	}
	e->tick_stamp = now;
	e->tick_clock = clock;
	e->interrupts = 0;
}

void throttle_count(task_id task, struct event *e, const struct event *root, u64 now, bool throttles)
{
	if (now - e->tick_stamp >= PERIOD_TICK)
		count_from_tick(e, task, now);
	e->interrupts += root->async_pid || e->attr.sigtrap ? SIGNAL_INTERRUPTS : 1;
	if (throttles && e->interrupts * (u64)PERIOD_TICKS_PER_SECOND >= (u64)event_sysctl()->max_sample_rate)
		throttle_group(e);
}

/* ---- the task's own time ---- */

/* Up to the task clock: what was the task's own since the last time pays. */
static void settle(struct event_ctx *ctx, u64 clock)
{
	u64 passed = clock > ctx->debt_clock ? clock - ctx->debt_clock : 0;

	ctx->debt_clock = clock;
	if (ctx->handling)
		ctx->debt += passed;
	else
		ctx->debt -= MIN(ctx->debt, passed / THROTTLE_OWN);
	if (unlikely(__atomic_load_n(&ctx->charged, __ATOMIC_RELAXED)))
		ctx->debt += __atomic_exchange_n(&ctx->charged, 0, __ATOMIC_RELAXED);
}

/* The time from begin on, and what led up to it, is not the task's own. */
static void take(struct event_ctx *ctx, u64 begin, u64 end)
{
	u64 gap = MIN(begin - MIN(ctx->debt_clock, begin), (u64)THROTTLE_GAP);

	settle(ctx, ctx->handling ? end : begin - gap);
	ctx->debt += end - ctx->debt_clock;
	ctx->debt_clock = end;
}

void throttle_spent(task_id task, u64 begin, u64 end)
{
	struct event_ctx *ctx = event_ctx(task);
	struct event *e;

	check_slow(ctx_is_locked());
	take(ctx, begin, end);
	if (likely(ctx->debt <= THROTTLE_DEBT))
		return;
	for_each_in_ctx(e, ctx)
		if (overflow_active(e) && !e->throttled && throttle_is_waker(e))
			throttle_group(e);
}

static bool group_wakes(const struct event *leader)
{
	const struct event *s;

	if (throttle_is_waker(leader))
		return true;
	for_each_sibling(s, leader)
		if (throttle_is_waker(s))
			return true;
	return false;
}

bool throttle_may_end(task_id task, const struct event *e, u64 clock)
{
	struct event_ctx *ctx = event_ctx(task);

	settle(ctx, clock);
	return !ctx->debt || !group_wakes(event_leader(e));
}

void throttle_handling(task_id task, u64 clock, bool on)
{
	struct event_ctx *ctx = event_ctx(task);

	if (on)
		take(ctx, clock, clock);
	else
		settle(ctx, clock);
	ctx->handling = on;
}

void throttle_charge(task_id task, u64 ns)
{
	__atomic_fetch_add(&event_ctx(task)->charged, ns, __ATOMIC_RELAXED);
}
