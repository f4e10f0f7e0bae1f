/* See overflow.h: what changes the overflows of an event from outside, with event_lock(). */
#include <asm-generic/errno.h>
#include "event/after.h"
#include "event/attr.h"
#include "event/event.h"
#include "event/lineage.h"
#include "event/overflow.h"
#include "event/period.h"
#include "event/sideband.h"
#include "event/throttle.h"
#include "rt/log.h"
#include "rt/refuse.h"

void overflow_wants(task_id task, struct overflow_wants *out)
{
	struct event *e;

	*out = (struct overflow_wants){0, 0, 0};
	for_each_in_ctx(e, event_ctx(task)) {
		if (!overflow_active(e))
			continue;
		out->sampling++;
		out->polling += e->source.polled;
		out->needs |= sample_needs(&e->attr);
	}
}

static void set_wants(struct event_ctx *ctx, const struct overflow_wants *w)
{
	__atomic_store_n(&ctx->needs, w->needs, __ATOMIC_RELAXED);
	__atomic_store_n(&ctx->polling, w->polling, __ATOMIC_RELAXED);
	__atomic_store_n(&ctx->sampling, w->sampling, __ATOMIC_RELAXED);
}

/* The task gives its limits again before it runs on. */
static void limits_changed(task_id task)
{
	event_flag_set(&event_ctx(task)->rearm);
	if (task != host_current())
		kick_after(task);
}

void overflow_sync(task_id task)
{
	struct overflow_wants w;

	check_slow(ctx_is_locked());
	if (event_ctx(task)->quiet)
		return;
	ctx_hold(task);
	overflow_wants(task, &w);
	set_wants(event_ctx(task), &w);
	limits_changed(task);
}

void overflow_sched_in(struct event *e, u64 now)
{
	e->next = now + e->period_left;
	e->freq_count = now; /* with a fixed period: after_next, which says nothing there */
	if (!e->attr.freq)
		e->last_period = e->period;
	if (!e->throttled)
		return;
	e->throttled = 0;
	e->interrupts = 0;
	if (event_is_leader(e))
		sideband_throttle_locked(e, false);
}

void overflow_sched_out(struct event *e, u64 now)
{
	e->period_left = period_left(e, now);
}

static void change_period(struct event *e, u64 value)
{
	event_hold(e);
	period_change(e, value, event_tally(e)->state == PERF_STATE_ACTIVE ? event_source_now(e) : 0);
	if (e->throttled)
		throttle_set(e, false);
	if (e->task && overflow_active(e))
		limits_changed(e->task);
}

int overflow_set_period(struct event *root, u64 value)
{
	struct event *c;

	check_slow(event_is_locked());
	if (!attr_is_sampling(&root->attr))
		return refuse(EINVAL, "the event does not sample");
	if (!value)
		return refuse(EINVAL, "a period of 0");
	if (root->attr.freq && value > event_sysctl()->max_sample_rate)
		return refuse(EINVAL, "the frequency is above perf_event_max_sample_rate");
	if (!root->attr.freq && value >> 63)
		return refuse(EINVAL, "the period has bit 63 set");
	lineage_settle(root);
	change_period(root, value);
	/* Linux quirk: inherited events keep theirs. */
	if (!root->task)
		for_each_child(c, root)
			change_period(c, value);
	return 0;
}

int overflow_refresh(struct event *root, s32 n)
{
	check_slow(event_is_locked());
	if (root->attr.inherit)
		return refuse(EINVAL, "inherited events cannot be refreshed");
	if (!attr_is_sampling(&root->attr))
		return refuse(EINVAL, "the event does not sample");
	event_hold(root);
	root->event_limit += n;
	event_enable_family(root);
	return 0;
}
