/*
 * See overflow.h. What happens at an overflow, and in which order, is the kernel's __perf_event_overflow().
 *
 * Counting goes on while an event is throttled, and its overflows stay where they would have been.
 */
#include "event/overflow.h"

#include <asm-generic/errno.h>
#include <asm/siginfo.h>
#include "event/after.h"
#include "event/attr.h"
#include "event/event.h"
#include "event/lineage.h"
#include "event/period.h"
#include "event/sideband.h"
#include "event/throttle.h"
#include "rt/log.h"
#include "rt/refuse.h"

#define SOURCES_MAX 32 /* that drivers can limit, for one task */
#define UNTIMED 1000000 /* of a source's units: how often a task whose ticks no timer brings is stopped for them */
#define EARLY 50000    /* ns that a timer may be early by the perf clock */

/* The task's sources as they stand: each is read once per round. */
struct source_now {
	u32 pmu, source;
	u64 now, next; /* next: the nearest overflow, ~0: none */
	bool movable;  /* all events that overflow there are frequencies */
};

/* One call from the task. */
struct round {
	task_id task;
	struct event_ctx *ctx;
	const struct shot *shot;
	struct overflow_result *out;
	u64 time; /* perf clock; 0: not asked yet */
	u64 waking; /* task clock before the first overflow that wakes somebody; 0: there was none */
	bool any; /* something overflowed */
	bool whole; /* with event_lock() */
	u32 nr_sources;
	struct source_now source[SOURCES_MAX];
};

static UNNOTED u64 round_time(struct round *r)
{
	if (!r->time)
		r->time = r->shot && r->shot->time ? r->shot->time : host_clock_perf();
	return r->time;
}

static UNNOTED struct source_now *round_source(struct round *r, const struct event *e)
{
	struct source_now *s;

	for (u32 i = 0; i < r->nr_sources; i++)
		if (r->source[i].source == e->source.source && r->source[i].pmu == e->pmu)
			return &r->source[i];
	check(r->nr_sources < SOURCES_MAX);
	s = &r->source[r->nr_sources++];
	*s = (struct source_now){e->pmu, e->source.source, event_source_now(e), ~0ul, true};
	return s;
}

/* Nothing stops the task at its limit. */
static bool has_no_limit(const struct event *e)
{
	return e->source.polled || e->source.hits;
}

static void unthrottle(struct round *r, struct event *e)
{
	u64 now = event_source_now(e);

	throttle_set(e, false);
	if (e->next <= now)
		period_advance(e, now);
}

/* ---- one overflow ---- */

static void note_sigtrap(const struct round *r, const struct event *e)
{
	struct overflow_result *out = r->out;

	if (!e->attr.sigtrap || !out || out->sigtrap) /* SIGTRAP does not queue: the first one stays */
		return;
	*out = (struct overflow_result){
		.sigtrap = true,
		.sig_data = e->attr.sig_data,
		.sig_type = e->attr.type,
		.sig_addr = e->source.hits || (e->attr.sample_type & PERF_SAMPLE_ADDR) ? r->shot->addr : 0,
	};
}

/* What one overflow changes is its context's, but for these: a limit that counts for a family, and a sample that tells what that counted. */
static bool concerns_others(const struct event *e)
{
	const struct event *root = e->parent ? event_slot(e->parent) : e;

	return root->limit || (!root->task && (e->attr.sample_type & PERF_SAMPLE_READ));
}

/* throttles: it counts against the rate that is allowed. */
static void emit(struct round *r, struct event *e, u64 period, bool throttles)
{
	struct event *root = e->parent ? event_slot(e->parent) : e;
	u32 kill = POLL_IN;
	bool last, woke;

	if (!r->waking && throttles && throttle_is_waker(e))
		r->waking = host_task_clock(r->task);
	if (!e->source.hits && sample_excluded(&e->attr, r->shot)) /* a hit is none if it is excluded */
		return;
	last = r->whole && root->limit == 1;
	if (last)
		kill = POLL_HUP;
	else if (r->whole && root->limit)
		root->limit--;
	if (throttle_is_rated(e))
		throttle_count(r->task, e, root, round_time(r), throttles);
	note_sigtrap(r, e);
	woke = sample_write(e, r->shot, period, kill);
	if (root->async_pid && !woke) {
		wake_after(event_nr(root), kill);
		woke = true;
	}
	if (woke && !throttle_is_rated(e))
		throttle_count(r->task, e, root, round_time(r), throttles);
	if (!last)
		return;
	event_disable_family(root);
	root->limit = 0;
}

/* What is counted behind an overflow whose place has not been moved, where an instruction may count for more than one. */
#define BEHIND_MAX 1024

/* A frequency's overflow may have come later than where it was to be: so long was its period. */
static void lengthen(struct event *e, u64 now)
{
	u64 behind = now - e->next;

	if (!e->attr.freq || has_no_limit(e) || (e->source.shift && behind < BEHIND_MAX))
		return;
	e->last_period += behind >> e->source.shift;
	e->next = now;
}

/* Its source stands at now. Overflows that were passed have a sample each if the source is one that is looked at late. */
static void reach(struct round *r, struct event *e, u64 now)
{
	u64 period, passed;

	if (likely(now < e->next) || e->throttled)
		return;
	r->any = true;
	lengthen(e, now);
	period = period_shown(e);
	if (e->source.clock && e->attr.exclude_kernel && r->shot->kernel) { /* as perf_swevent_hrtimer() */
		period_advance(e, now);
		return;
	}
	if (e->attr.freq)
		period_overflowed(e, round_time(r));
	passed = period_advance(e, now);
	emit(r, e, period, !has_no_limit(e));
	if (!has_no_limit(e))
		return;
	while (passed-- && overflow_active(e) && !e->throttled)
		emit(r, e, period, true);
}

/* ---- ticks ---- */

static bool needs_ticks(const struct event *e)
{
	return e->throttled || e->attr.freq || e->source.polled;
}

/* A tick of its own, by a timer. */
static bool needs_timer(const struct event *e)
{
	return e->throttled || e->source.polled;
}

/* The same now and then, in case that the task passes its movable limit unseen. */
static bool needs_coarse_timer(const struct event *e)
{
	return e->attr.freq && !has_no_limit(e) && !e->source.clock;
}

/* The kernel's perf_adjust_freq_unthr_context(). */
static void tick(struct round *r)
{
	u64 clock = host_task_clock(r->task);
	struct event *e;

	for_each_in_ctx(e, r->ctx) {
		if (!overflow_active(e))
			continue;
		if (e->throttled && throttle_may_end(r->task, e, clock))
			unthrottle(r, e);
		if (e->attr.freq)
			period_ticked(e, event_source_now(e), clock - r->ctx->tick_clock);
	}
	r->ctx->tick_stamp = round_time(r);
	r->ctx->tick_clock = clock;
}

/* The tick is due: at least so much time must have passed if so much CPU time has. */
static bool tick_if_due(struct round *r)
{
	if (!r->ctx->tick_stamp || round_time(r) + EARLY - r->ctx->tick_stamp < PERIOD_TICK)
		return false;
	tick(r);
	return true;
}

/* ---- limits ---- */

/* Gives the drivers what the sources say, and takes away what was given before. */
static UNNOTED void tell_drivers(struct round *r)
{
	struct pmu_limit limits[SOURCES_MAX];
	u32 present = 0;

	for (u32 i = 0; i < r->nr_sources; i++)
		if (r->source[i].next != ~0ul)
			present |= 1u << r->source[i].pmu;
	for (u32 todo = present | r->ctx->limited; todo; todo &= todo - 1) {
		u32 nr = (u32)__builtin_ctz(todo), n = 0;

		for (u32 i = 0; i < r->nr_sources; i++) {
			const struct source_now *s = &r->source[i];

			if (s->pmu == nr && s->next != ~0ul)
				limits[n++] = (struct pmu_limit){s->source, s->next > s->now ? s->next - s->now : 1, s->movable};
		}
		if (pmu_by_number(nr)->limit)
			pmu_by_number(nr)->limit(r->task, limits, n);
	}
	r->ctx->limited = present; /* not noted: it is what the drivers know */
}

/* With the first event that needs them. */
static void begin_ticks(struct round *r)
{
	r->ctx->tick_stamp = round_time(r);
	r->ctx->tick_clock = host_task_clock(r->task);
}

/*
 * at: the task clock at which something is due, ~0: never. The timer that runs is left alone if it is the right one and cannot have
 * fired yet; one that fired early is set again.
 */
static void set_timer(struct round *r, u64 at, bool coarse, bool again)
{
	struct event_ctx *ctx = r->ctx;
	u64 now;

	if (at == ~0ul) {
		if (!ctx->timer)
			return;
		(void)host_clock_limit(~0ul, false);
		ctx->timer = 0;
		return;
	}
	if (at == ctx->timer && coarse == ctx->timer_coarse && !again && round_time(r) + EARLY < ctx->timer_stamp)
		return;
	now = host_task_clock(r->task);
	now = at > now ? at - now : 1;
	ctx->timer = at;
	ctx->timer_coarse = coarse;
	ctx->timer_stamp = round_time(r) + now;
	ctx->timer_refused = !host_clock_limit(now, coarse);
}

static void arm_once(struct round *r, bool again)
{
	bool ticks = false, timer = false, coarse = false, timed;
	u64 at = ~0ul;
	struct event *e;

	if (__atomic_load_n(&r->ctx->rearm, __ATOMIC_RELAXED))
		__atomic_store_n(&r->ctx->rearm, 0, __ATOMIC_RELAXED);
	for_each_in_ctx(e, r->ctx) {
		struct source_now *s;

		if (!overflow_active(e))
			continue;
		ticks |= needs_ticks(e);
		timer |= needs_timer(e);
		coarse |= needs_coarse_timer(e);
		if ((e->throttled && !r->ctx->timer_refused) || has_no_limit(e))
			continue;
		if (e->source.clock) {
			at = MIN(at, e->throttled ? ~0ul : e->next);
			continue;
		}
		s = round_source(r, e);
		s->next = MIN(s->next, e->throttled ? s->now + UNTIMED : e->next);
		s->movable &= e->attr.freq && !r->ctx->timer_refused;
	}
	tell_drivers(r);
	if (ticks && !r->ctx->tick_stamp)
		begin_ticks(r);
	else if (!ticks && r->ctx->tick_stamp)
		r->ctx->tick_stamp = 0;
	timed = timer || at != ~0ul;
	if (timer || coarse)
		at = MIN(at, r->ctx->tick_clock + PERIOD_TICK);
	set_timer(r, at, !timed, again);
}

static void arm(struct round *r, bool again)
{
	bool refused = r->ctx->timer_refused;

	arm_once(r, again);
	if (unlikely(r->ctx->timer_refused && !refused))
		arm_once(r, false);
}

/* ---- what the task calls ---- */

static UNNOTED bool any_concerns_others(const struct event_ctx *ctx)
{
	const struct event *e;

	for_each_in_ctx(e, ctx)
		if (overflow_active(e) && concerns_others(e))
			return true;
	return false;
}

/* Its context's lock, and event_lock() where that is needed. */
static inline __attribute__((always_inline)) void round_lock(struct round *r, task_id task)
{
	ctx_lock(task);
	r->whole = false;
	if (likely(!any_concerns_others(event_ctx(task))))
		return;
	ctx_unlock(task);
	event_lock();
	ctx_hold(task);
	r->whole = true;
}

static inline void round_unlock(const struct round *r)
{
	if (r->whole)
		event_unlock();
	else
		ctx_unlock(r->task);
}

/* Not all of it is cleared: this is done for every sample. */
static UNNOTED void round_begin(struct round *r, task_id task, const struct shot *shot, struct overflow_result *out)
{
	r->task = task;
	r->ctx = event_ctx(task);
	r->shot = shot;
	r->out = out;
	r->time = r->waking = 0;
	r->any = false;
	r->nr_sources = 0;
	if (out)
		out->sigtrap = false;
}

void event_arm(task_id task)
{
	struct round r;

	round_begin(&r, task, NULL, NULL);
	ctx_lock(task);
	arm(&r, true);
	ctx_unlock(task);
}

void event_tick_slow(task_id task)
{
	struct round r;

	round_begin(&r, task, NULL, NULL);
	if (round_time(&r) - r.ctx->tick_stamp < PERIOD_TICK)
		return;
	ctx_lock(task);
	if (tick_if_due(&r))
		arm(&r, false);
	ctx_unlock(task);
}

static void reach_polled(struct round *r)
{
	struct event *e;

	for_each_in_ctx(e, r->ctx)
		if (e->source.polled && overflow_active(e))
			reach(r, e, event_source_now(e));
}

/* All that it changes in its caller's frame is *r and *out. */
static __attribute__((noinline)) void overflow_locked(struct round *r, task_id task, const struct shot *shot, struct overflow_result *out)
{
	struct event *e;

	section_keep_frame();
	round_lock(r, task);
	round_begin(r, task, shot, out);
	if (tick_if_due(r))
		reach_polled(r);
	for_each_in_ctx(e, r->ctx) {
		if (!overflow_active(e) || has_no_limit(e) || (!e->source.clock && !shot->exact))
			continue;
		reach(r, e, e->source.clock ? event_source_now(e) : round_source(r, e)->now);
	}
	if (unlikely(r->waking)) {
		round_unlock(r); /* the wakeups were put off up to here */
		round_lock(r, task);
		throttle_spent(task, r->waking, host_task_clock(task));
	}
	arm(r, !r->any);
	round_unlock(r);
}

void event_overflow(task_id task, const struct shot *shot, struct overflow_result *out)
{
	struct round r;

	overflow_locked(&r, task, shot, out);
}

static void hit(struct round *r, struct event *e)
{
	__atomic_store_n(&e->hits, e->hits + 1, __ATOMIC_RELAXED);
	if (overflow_active(e))
		reach(r, e, e->hits);
}

void event_hit(task_id task, u32 event, u64 event_id, const struct shot *shot, struct overflow_result *out)
{
	struct event *e = event_slot(event);
	struct round r;

	round_begin(&r, task, shot, out);
	round_lock(&r, task);
	if (e->slot == SLOT_LIVE && e->id == event_id && e->task == task && event_tally(e)->state == PERF_STATE_ACTIVE) {
		hit(&r, e);
		if (r.any && needs_ticks(e))
			arm(&r, false);
	}
	round_unlock(&r);
}

void event_trace(task_id task, u32 source, const struct shot *shot, struct overflow_result *out)
{
	const struct filter_subject subject = {(const u8 *)shot->raw + sizeof(u32), shot->comm, shot->ustring, task};
	bool ticks = false;
	struct event *e;
	struct round r;

	round_begin(&r, task, shot, out);
	round_lock(&r, task);
	for_each_in_ctx(e, r.ctx) {
		if (e->source.source != source || !e->source.hits || event_tally(e)->state != PERF_STATE_ACTIVE)
			continue;
		/* Units: without them it is excluded. */
		if (!e->source.units || !filter_passes_event(e, &subject))
			continue;
		hit(&r, e);
		ticks |= needs_ticks(e);
	}
	if (r.any && ticks)
		arm(&r, false);
	round_unlock(&r);
}

void event_poll(task_id task, const struct shot *shot, struct overflow_result *out)
{
	struct round r;

	if (!__atomic_load_n(&event_ctx(task)->polling, __ATOMIC_RELAXED))
		return;
	round_begin(&r, task, shot, out);
	round_lock(&r, task);
	reach_polled(&r);
	round_unlock(&r);
}

/* ---- for the core ---- */

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
	__atomic_store_n(&event_ctx(task)->rearm, 1, __ATOMIC_RELEASE);
	if (task != host_current())
		kick_after(task);
}

void overflow_sync(task_id task)
{
	struct overflow_wants w;

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
	e->freq_count = now;
	if (!e->throttled)
		return;
	e->throttled = 0;
	e->interrupts = 0;
	if (event_is_leader(e))
		sideband_throttle_locked(e, false);
}

void overflow_sched_out(struct event *e, u64 now)
{
	e->period_left = e->next > now ? e->next - now : 0; /* 0: reached, and the task has not come to tell */
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
	if (root->attr.inherit)
		return refuse(EINVAL, "inherited events cannot be refreshed");
	if (!attr_is_sampling(&root->attr))
		return refuse(EINVAL, "the event does not sample");
	event_hold(root);
	root->limit += n;
	event_enable_family(root);
	return 0;
}
