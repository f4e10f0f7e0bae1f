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

/* One call from the task; the work is done in a section, and again if that begins anew. */
struct round {
	task_id task;
	bool whole; /* it takes event_lock() */
	struct event_ctx *ctx;
	const struct shot *shot;
	struct overflow_result *out;
	/* Of the section; see round_begin(). */
	u64 time; /* perf clock; 0: not asked yet */
	u64 waking; /* task clock before the first overflow that wakes somebody; 0: there was none */
	bool any; /* something overflowed */
	bool changed; /* and that may have changed what other events need */
	/* What the active events need that were looked at so far. */
	bool ticks, timer, coarse; /* see needs_ticks() and so on */
	u64 at; /* task clock of the nearest overflow of a clock; ~0: none */
	u32 pmus; /* bit per driver with a source */
	u32 nr_sources;
	struct pmu_limit source[SOURCES_MAX]; /* each is read once */
};

static UNNOTED u64 round_time(struct round *r)
{
	if (!r->time)
		r->time = r->shot && r->shot->time ? r->shot->time : host_clock_perf();
	return r->time;
}

/* Nothing stops the task at its limit. */
READS bool has_no_limit(const struct event *e)
{
	return e->source.polled || e->source.hits;
}

static UNNOTED struct pmu_limit *add_source(struct round *r, const struct event *e)
{
	struct pmu_limit *s = &r->source[r->nr_sources];

	if (unlikely(r->nr_sources == SOURCES_MAX)) /* no task has so many: somebody has written over its events */
		return NULL;
	r->nr_sources++;
	s->pmu = e->pmu;
	s->source = e->source.source;
	s->now = event_source_now(e);
	s->next = ~0ul;
	s->movable = true;
	r->pmus |= 1u << e->pmu;
	return s;
}

/* NULL: no driver limits it. */
static UNNOTED inline struct pmu_limit *round_source(struct round *r, const struct event *e)
{
	if (has_no_limit(e) || e->source.clock)
		return NULL;
	for (u32 i = 0; i < r->nr_sources; i++)
		if (r->source[i].source == e->source.source && r->source[i].pmu == e->pmu)
			return &r->source[i];
	return add_source(r, e);
}

static void unthrottle(struct round *r, struct event *e)
{
	u64 now = event_source_now(e);

	throttle_set(e, false);
	if (e->next <= now)
		period_advance(e, now);
}

/* ---- one overflow ---- */

static UNNOTED void note_sigtrap(const struct round *r, const struct event *e)
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
READS bool concerns_others(const struct event *e)
{
	const struct event *root = e->parent ? event_slot(e->parent) : e;

	return root->limit || (!root->task && (e->attr.sample_type & PERF_SAMPLE_READ));
}

static void take_event_lock(void *r)
{
	((struct round *)r)->whole = true;
}

/* Then the section begins anew, if it does not have event_lock(). Before e is changed. */
static UNNOTED inline void lock_for(struct round *r, const struct event *e)
{
	if (unlikely(concerns_others(e)) && !r->whole)
		section_leave_for(take_event_lock, r);
}

/* IOC_REFRESH: true for the last overflow that is allowed. */
static bool is_last(struct event *root)
{
	if (root->limit == 1)
		return true;
	root->limit--;
	return false;
}

static void end_limit(struct round *r, struct event *root)
{
	event_disable_family(root);
	root->limit = 0;
	r->changed = true;
}

static void count_overflow(struct round *r, struct event *e, const struct event *root, bool throttles)
{
	throttle_count(r->task, e, root, round_time(r), throttles);
	r->changed = true;
}

/* throttles: it counts against the rate that is allowed. */
static UNNOTED void emit(struct round *r, struct event *e, u64 period, bool throttles)
{
	struct event *root = e->parent ? event_slot(e->parent) : e;
	bool last = false, woke;
	u32 kill = POLL_IN;

	if (!r->waking && throttles && throttle_is_waker(e))
		r->waking = host_task_clock(r->task);
	if (!e->source.hits && sample_excluded(&e->attr, r->shot)) /* a hit is none if it is excluded */
		return;
	if (unlikely(root->limit)) {
		last = is_last(root);
		kill = last ? POLL_HUP : POLL_IN;
	}
	if (throttle_is_rated(e))
		count_overflow(r, e, root, throttles);
	note_sigtrap(r, e);
	woke = sample_write(e, r->shot, period, kill);
	if (root->async_pid && !woke) {
		wake_after(event_nr(root), kill);
		woke = true;
	}
	if (woke && !throttle_is_rated(e))
		count_overflow(r, e, root, throttles);
	if (last)
		end_limit(r, root);
}

/* What is counted behind an overflow whose place has not been moved, where an instruction may count for more than one. */
#define BEHIND_MAX 1024

/* A frequency's overflow may have come later than where it was to be: so long was its period. */
static void lengthen(struct event *e, u64 now)
{
	u64 behind = now - e->next;

	if (has_no_limit(e) || (e->source.shift && behind < BEHIND_MAX))
		return;
	e->last_period += behind >> e->source.shift;
	e->next = now;
}

/* Its source stands at now. Overflows that were passed have a sample each if the source is one that is looked at late. */
static UNNOTED void reach(struct round *r, struct event *e, u64 now)
{
	u64 period, passed;

	if (likely(now < e->next) || e->throttled)
		return;
	lock_for(r, e);
	r->any = true;
	if (e->attr.freq)
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

READS bool needs_ticks(const struct event *e)
{
	return e->throttled | e->attr.freq | e->source.polled;
}

/* A tick of its own, by a timer. */
READS bool needs_timer(const struct event *e)
{
	return e->throttled || e->source.polled;
}

/* The same now and then, in case that the task passes its movable limit unseen. */
READS bool needs_coarse_timer(const struct event *e)
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

static UNNOTED void tell_each(struct round *r, u32 pmus)
{
	struct pmu_limit limits[SOURCES_MAX];

	for (; pmus; pmus &= pmus - 1) {
		u32 nr = (u32)__builtin_ctz(pmus), n = 0;

		for (u32 i = 0; i < r->nr_sources; i++)
			if (r->source[i].pmu == nr)
				limits[n++] = r->source[i];
		if (pmu_by_number(nr)->limit)
			pmu_by_number(nr)->limit(r->task, limits, n);
	}
}

/* Gives the drivers what the sources say, and takes away what was given before. */
static UNNOTED void tell_drivers(struct round *r)
{
	u32 pmus = r->pmus | r->ctx->limited;
	const struct pmu *only;

	if (likely(pmus == r->pmus && !(pmus & (pmus - 1)))) {
		only = pmus ? pmu_by_number((u32)__builtin_ctz(pmus)) : NULL;
		if (only && only->limit)
			only->limit(r->task, r->source, r->nr_sources);
	} else {
		tell_each(r, pmus);
	}
	r->ctx->limited = r->pmus; /* not noted: it is what the drivers know */
}

/* With the first event that needs them, and the last. */
static void begin_or_end_ticks(struct round *r, bool begin)
{
	r->ctx->tick_stamp = begin ? round_time(r) : 0;
	if (begin)
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

static UNNOTED void see_none(struct round *r)
{
	r->ticks = r->timer = r->coarse = r->changed = false;
	r->at = ~0ul;
	for (u32 i = 0; i < r->nr_sources; i++) {
		r->source[i].next = ~0ul;
		r->source[i].movable = true;
	}
}

/* s: its source, of an event that a driver limits. */
static UNNOTED inline void see(struct round *r, const struct event *e, struct pmu_limit *s)
{
	if (unlikely(needs_ticks(e))) {
		r->ticks = true;
		r->timer |= needs_timer(e);
		r->coarse |= needs_coarse_timer(e);
		if (e->throttled && !r->ctx->timer_refused)
			return;
	}
	if (s) {
		s->next = MIN(s->next, e->throttled ? s->now + UNTIMED : e->next);
		s->movable &= e->attr.freq && !r->ctx->timer_refused;
	} else if (e->source.clock && !e->throttled) {
		r->at = MIN(r->at, e->next);
	}
}

static UNNOTED void see_all(struct round *r)
{
	const struct event *e;

	see_none(r);
	for_each_in_ctx(e, r->ctx)
		if (overflow_active(e))
			see(r, e, round_source(r, e));
}

static void rearmed(struct event_ctx *ctx)
{
	__atomic_store_n(&ctx->rearm, 0, __ATOMIC_RELAXED);
}

/* As all events that were seen need it. */
static UNNOTED void arm_seen(struct round *r, bool again)
{
	bool timed = r->timer || r->at != ~0ul;
	u64 at = r->at;

	if (unlikely(__atomic_load_n(&r->ctx->rearm, __ATOMIC_RELAXED)))
		rearmed(r->ctx);
	tell_drivers(r);
	if (unlikely(r->ticks != (r->ctx->tick_stamp != 0)))
		begin_or_end_ticks(r, r->ticks);
	if (r->timer || r->coarse)
		at = MIN(at, r->ctx->tick_clock + PERIOD_TICK);
	if (at != ~0ul || r->ctx->timer)
		set_timer(r, at, !timed, again);
}

static UNNOTED void arm(struct round *r, bool again)
{
	bool refused = r->ctx->timer_refused;

	arm_seen(r, again);
	if (likely(refused || !r->ctx->timer_refused))
		return;
	see_all(r);
	arm_seen(r, false);
}

static UNNOTED void arm_all(struct round *r, bool again)
{
	see_all(r);
	arm(r, again);
}

/* ---- what the task calls ---- */

/* Its context's lock, and event_lock() if that was found to be needed. */
static inline void round_lock(const struct round *r)
{
	if (likely(!r->whole)) {
		ctx_lock(r->task);
		return;
	}
	event_lock();
	ctx_hold(r->task);
}

static inline void round_unlock(const struct round *r)
{
	if (unlikely(r->whole))
		event_unlock();
	else
		ctx_unlock(r->task);
}

static struct round round_of(task_id task, const struct shot *shot, struct overflow_result *out)
{
	struct round r;

	r.task = task;
	r.whole = false;
	r.ctx = event_ctx(task);
	r.shot = shot;
	r.out = out;
	r.time = 0;
	return r; /* the rest has no value yet: this is done for every sample */
}

/* A section of a round begins, perhaps anew. */
static UNNOTED void round_begin(struct round *r)
{
	round_lock(r);
	r->time = r->waking = 0;
	r->any = false;
	r->pmus = r->nr_sources = 0;
	if (r->out)
		r->out->sigtrap = false;
}

static void arm_anew(void *arg)
{
	struct round *r = arg;

	round_begin(r);
	arm_all(r, true);
	round_unlock(r);
}

void event_arm(task_id task)
{
	struct round r = round_of(task, NULL, NULL);

	section_run(arm_anew, &r);
}

static void tick_all(void *arg)
{
	struct round *r = arg;

	round_begin(r);
	if (tick_if_due(r))
		arm_all(r, false);
	round_unlock(r);
}

void event_tick_slow(task_id task)
{
	struct round r = round_of(task, NULL, NULL);

	if (round_time(&r) - r.ctx->tick_stamp >= PERIOD_TICK)
		section_run(tick_all, &r);
}

static UNNOTED void reach_polled(struct round *r)
{
	struct event *e;

	for_each_in_ctx(e, r->ctx)
		if (e->source.polled && overflow_active(e))
			reach(r, e, event_source_now(e));
}

static UNNOTED void overflow_all(void *arg)
{
	struct round *r = arg;
	struct pmu_limit *s;
	struct event *e;

	round_begin(r);
	if (r->ctx->tick_stamp && tick_if_due(r))
		reach_polled(r);
	see_none(r);
	for_each_in_ctx(e, r->ctx) {
		if (!overflow_active(e))
			continue;
		s = round_source(r, e);
		if (s ? r->shot->exact : e->source.clock)
			reach(r, e, s ? s->now : event_source_now(e));
		if (likely(!r->changed))
			see(r, e, s);
	}
	if (unlikely(r->waking)) {
		round_unlock(r); /* the wakeups were put off up to here */
		round_lock(r);
		throttle_spent(r->task, r->waking, host_task_clock(r->task));
		r->changed = true;
	}
	if (r->changed)
		see_all(r);
	arm(r, !r->any);
	round_unlock(r);
}

void event_overflow(task_id task, const struct shot *shot, struct overflow_result *out)
{
	struct round r = round_of(task, shot, out);

	section_run(overflow_all, &r);
}

static void hit(struct round *r, struct event *e)
{
	lock_for(r, e);
	__atomic_store_n(&e->hits, e->hits + 1, __ATOMIC_RELAXED);
	if (overflow_active(e))
		reach(r, e, e->hits);
}

struct hit {
	struct round round;
	u32 event;
	u64 id;
};

static void hit_one(void *arg)
{
	const struct hit *h = arg;
	struct event *e = event_slot(h->event);
	struct round *r = arg;

	round_begin(r);
	if (e->slot == SLOT_LIVE && e->id == h->id && e->task == r->task && event_tally(e)->state == PERF_STATE_ACTIVE) {
		hit(r, e);
		if (r->any && needs_ticks(e))
			arm_all(r, false);
	}
	round_unlock(r);
}

void event_hit(task_id task, u32 event, u64 event_id, const struct shot *shot, struct overflow_result *out)
{
	struct hit h = {round_of(task, shot, out), event, event_id};

	section_run(hit_one, &h);
}

struct trace {
	struct round round;
	u32 source;
};

static void hit_traced(void *arg)
{
	const struct trace *t = arg;
	const struct shot *shot = t->round.shot;
	const struct filter_subject subject = {(const u8 *)shot->raw + sizeof(u32), shot->comm, shot->ustring, t->round.task};
	struct round *r = arg;
	bool ticks = false;
	struct event *e;

	round_begin(r);
	for_each_in_ctx(e, r->ctx) {
		if (e->source.source != t->source || !e->source.hits || event_tally(e)->state != PERF_STATE_ACTIVE)
			continue;
		/* Units: without them it is excluded. */
		if (!e->source.units || !filter_passes_event(e, &subject))
			continue;
		hit(r, e);
		ticks |= needs_ticks(e);
	}
	if (r->any && ticks)
		arm_all(r, false);
	round_unlock(r);
}

void event_trace(task_id task, u32 source, const struct shot *shot, struct overflow_result *out)
{
	struct trace t = {round_of(task, shot, out), source};

	section_run(hit_traced, &t);
}

static void poll_all(void *arg)
{
	struct round *r = arg;

	round_begin(r);
	reach_polled(r);
	round_unlock(r);
}

void event_poll(task_id task, const struct shot *shot, struct overflow_result *out)
{
	struct round r;

	if (!__atomic_load_n(&event_ctx(task)->polling, __ATOMIC_RELAXED))
		return;
	r = round_of(task, shot, out);
	section_run(poll_all, &r);
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
