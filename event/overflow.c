/*
 * See overflow.h. What happens at an overflow, and in which order, is the kernel's __perf_event_overflow().
 *
 * Counting goes on while an event is throttled, and its overflows stay where they would have been.
 */
#include "event/overflow.h"

#include <asm/siginfo.h>
#include "event/async.h"
#include "event/counters.h"
#include "event/order.h"
#include "event/period.h"
#include "event/round.h"
#include "event/throttle.h"
#include "rt/log.h"

static void unthrottle(struct event *e)
{
	u64 now = event_source_now(e);

	throttle_set(e, false);
	if (e->next <= now)
		period_advance(e, now);
}

/* ---- one overflow ---- */

/*
 * SIGTRAP does not queue: of several the first one that is sent stays. Linux quirk: they are sent in the reverse order
 * of overflows, which among breakpoints is the order in which they were opened, among others the reverse of that. Those
 * that are not hit overflow here in the order in which they were opened.
 */
static UNNOTED void note_sigtrap(const struct round *r, const struct event *e)
{
	struct overflow_result *out = r->out;

	if (!e->attr.sigtrap || !out || (out->sigtrap && !e->source.hits))
		return;
	*out = (struct overflow_result){
		.sigtrap = true,
		.sig_data = e->attr.sig_data,
		.sig_type = e->attr.type,
		.sig_addr = e->source.hits || (e->attr.sample_type & PERF_SAMPLE_ADDR) ? r->snap->addr : 0,
	};
}

/*
 * An overflow changes only its own context, with two exceptions: an event_limit that a whole family shares, and a
 * sample that has the family's count.
 */
READS bool concerns_others(const struct event *e)
{
	const struct event *root = event_root(e);

	return root->event_limit || (!root->task && (e->attr.sample_type & PERF_SAMPLE_READ));
}

static void take_event_lock(void *r)
{
	((struct round *)r)->whole = true;
}

/* Then the section restarts, if it does not have event_lock(). Before e is changed. */
static UNNOTED inline void lock_for(struct round *r, const struct event *e)
{
	if (unlikely(concerns_others(e)) && !r->whole)
		section_leave_for(take_event_lock, r);
}

/* IOC_REFRESH: true for the last overflow that is allowed. */
static bool is_last(struct event *root)
{
	if (root->event_limit == 1)
		root->pending_disable = 1;
	else
		root->event_limit--;
	return root->pending_disable;
}

/*
 * The kernel's perf_event_disable_inatomic(): the event itself stops at once, its group when the interrupt is over. So
 * members count, and sample, what the last overflow was of.
 */
static void disable_refreshed(struct round *r)
{
	struct event *e, *root;

	for_each_in_ctx(e, r->ctx) {
		root = event_root(e);
		if (!root->pending_disable)
			continue;
		root->pending_disable = 0;
		root->event_limit = 0;
		event_disable_family(root);
	}
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
	struct event *root = event_root(e);
	bool last = false, woke;
	u32 kill = POLL_IN;

	if (!r->waking && throttles && throttle_is_waker(e))
		r->waking = host_task_clock(r->task);
	if (!e->source.hits && sample_excluded(&e->attr, r->snap)) /* a hit is none if it is excluded */
		return;
	if (unlikely(root->pending_disable))
		return;
	if (unlikely(root->event_limit)) {
		last = is_last(root);
		kill = last ? POLL_HUP : POLL_IN;
	}
	if (throttle_is_rated(e))
		count_overflow(r, e, root, throttles);
	note_sigtrap(r, e);
	woke = sample_write(e, r->snap, period, kill);
	if (root->async_pid && !woke && !root->of_2009) { /* that has signals where poll(2) has something */
		async_wake(root, kill);
		woke = true;
	}
	if (woke && !throttle_is_rated(e))
		count_overflow(r, e, root, throttles);
	r->ended |= last;
}

/*
 * What is counted behind an overflow whose place has not been moved, where an instruction may count for more than one.
 */
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

/* The most overflows that one look emits: a count that another member has spoilt may ask for any number. */
#define PASSED_MAX (1ul << 20)

/*
 * Its source stands at now. If nothing stops the task at its limit, several overflows may have passed: each has a
 * sample.
 */
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
	if (e->source.clock && e->attr.exclude_kernel && r->snap->kernel) { /* as the kernel's perf_swevent_hrtimer() */
		period_advance(e, now);
		return;
	}
	if (e->attr.freq)
		period_overflowed(e, round_time(r));
	passed = MIN(period_advance(e, now), PASSED_MAX);
	emit(r, e, period, !has_no_limit(e));
	if (!has_no_limit(e))
		return;
	while (passed-- && overflow_active(e) && !e->throttled)
		emit(r, e, period, true);
}

/* ---- ticks ---- */

/* The kernel's perf_adjust_freq_unthr_context(). */
static void tick(struct round *r)
{
	u64 clock = host_task_clock(r->task);
	struct event *e;

	for_each_in_ctx(e, r->ctx) {
		if (!overflow_active(e))
			continue;
		if (e->throttled && throttle_may_end(r->task, e, clock))
			unthrottle(e);
		if (e->attr.freq)
			period_ticked(e, event_source_now(e), clock - r->ctx->tick_clock,
				      r->ctx->spent - r->ctx->tick_spent);
	}
	r->ctx->tick_spent = r->ctx->spent;
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

/* ---- what the task calls ---- */

static UNNOTED void arm_all(struct round *r, bool again)
{
	round_see_all(r);
	round_arm(r, again);
}

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

static struct round round_of(task_id task, const struct snapshot *snap, struct overflow_result *out)
{
	struct round r;

	r.task = task;
	r.whole = false;
	r.ctx = event_ctx(task);
	r.snap = snap;
	r.out = out;
	r.time = 0;
	return r; /* the rest has no value yet: this is done for every sample */
}

/* A section of a round begins, perhaps again. */
static UNNOTED void round_begin(struct round *r)
{
	round_lock(r);
	r->time = r->waking = 0;
	r->any = r->ended = false;
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

	if (event_ctx(task)->timer_refused)
		counters_rotate(task);
	if (event_ctx(task)->tick_stamp && round_time(&r) - r.ctx->tick_stamp >= PERIOD_TICK)
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
	round_see_none(r);
	for_each_in_ctx(e, r->ctx) {
		if (!overflow_active(e))
			continue;
		s = round_source(r, e);
		if (s ? r->snap->exact : e->source.clock)
			reach(r, e, s ? s->now : event_source_now(e));
		if (likely(!r->changed))
			round_see(r, e, s);
	}
	if (unlikely(r->ended))
		disable_refreshed(r);
	if (unlikely(r->waking)) {
		round_unlock(r); /* the wakeups were put off up to here */
		round_lock(r);
		throttle_spent(r->task, r->waking, host_task_clock(r->task));
		r->changed = true;
	}
	if (r->changed)
		round_see_all(r);
	round_arm(r, !r->any);
	round_unlock(r);
}

void event_overflow(task_id task, const struct snapshot *snap, struct overflow_result *out)
{
	struct round r = round_of(task, snap, out);

	check_slow(snap && out && !section_is_open());
	section_run(overflow_all, &r);
}

static void hit(struct round *r, struct event *e)
{
	lock_for(r, e);
	__atomic_store_n(&e->hits, e->hits + 1, __ATOMIC_RELAXED);
	if (overflow_active(e))
		reach(r, e, e->hits);
}

struct hits {
	struct round round;
	struct snapshot *snap;
	const struct event_hit *hit;
	u32 n;
};

static UNNOTED void set_address(struct snapshot *snap, const struct event_hit *h)
{
	snap->addr = h->addr;
	snap->data_page_size = h->page_size;
}

static bool is_hit(const struct round *r, const struct event *e, u64 id)
{
	return e->slot == SLOT_LIVE && e->id == id && e->task == r->task &&
	       event_tally(e)->state == PERF_STATE_ACTIVE;
}

static UNNOTED void find_hits(const struct hits *h, struct order_batch *b)
{
	order_begin(b);
	for (u32 i = 0; i < h->n; i++)
		if (is_hit(&h->round, event_slot(h->hit[i].event), h->hit[i].id))
			order_add(b, event_slot(h->hit[i].event));
}

static void hit_all(void *arg)
{
	const struct hits *h = arg;
	struct round *r = arg;
	struct order_batch b;
	bool ticks = false;

	round_begin(r);
	find_hits(h, &b);
	for (u32 i = 0; i < b.n; i++) {
		u32 nr = 0;

		while (h->hit[nr].event != event_nr(b.event[i]))
			nr++;
		set_address(h->snap, &h->hit[nr]);
		hit(r, b.event[i]);
		ticks |= needs_ticks(b.event[i]);
	}
	if (r->ended)
		disable_refreshed(r);
	if (r->any && ticks)
		arm_all(r, false);
	round_unlock(r);
}

void event_hit(task_id task, const struct event_hit *hit, u32 n, struct snapshot *snap, struct overflow_result *out)
{
	struct hits h = {round_of(task, snap, out), snap, hit, n};

	check_slow(snap && out && n <= EVENT_HITS && !section_is_open());
	section_run(hit_all, &h);
}

struct trace {
	struct round round;
	u32 source, other;
};

/* Units: without them it is excluded. */
static bool is_traced(const struct trace *t, const struct event *e)
{
	return (e->source.source == t->source || e->source.source == t->other) && e->source.hits && e->source.units &&
	       event_tally(e)->state == PERF_STATE_ACTIVE;
}

static void find_traced(const struct trace *t, struct order_batch *b)
{
	const struct snapshot *snap = t->round.snap;
	const struct filter_subject subject = {(const u8 *)snap->raw + sizeof(u32), snap->comm, snap->ustring,
					       t->round.task, snap->raw_size - (u32)sizeof(u32)};
	struct event *e;

	for_each_in_ctx(e, t->round.ctx)
		if (is_traced(t, e) && filter_passes_event(e, &subject))
			order_add(b, e);
}

static void hit_traced(void *arg)
{
	const struct trace *t = arg;
	struct round *r = arg;
	struct order_batch b;
	bool ticks = false;

	round_begin(r);
	order_begin(&b);
	do {
		find_traced(t, &b);
		for (u32 i = 0; i < b.n; i++) {
			hit(r, b.event[i]);
			ticks |= needs_ticks(b.event[i]);
		}
	} while (order_goes_on(&b));
	if (r->ended)
		disable_refreshed(r);
	if (r->any && ticks && r->task == host_current())
		arm_all(r, false);
	round_unlock(r);
}

void event_trace_either(task_id task, u32 source, u32 other, const struct snapshot *snap, struct overflow_result *out)
{
	struct trace t = {round_of(task, snap, out), source, other};

	section_run(hit_traced, &t);
}

static void poll_all(void *arg)
{
	struct round *r = arg;

	round_begin(r);
	reach_polled(r);
	if (r->ended)
		disable_refreshed(r);
	round_unlock(r);
}

void event_poll(task_id task, const struct snapshot *snap, struct overflow_result *out)
{
	struct round r;

	if (!__atomic_load_n(&event_ctx(task)->polling, __ATOMIC_RELAXED))
		return;
	r = round_of(task, snap, out);
	section_run(poll_all, &r);
}
