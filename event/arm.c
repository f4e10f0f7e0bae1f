/* See round.h: where the task is to be stopped next. */
#include "event/period.h"
#include "event/round.h"
#include "rt/log.h"

#define UNTIMED 1000000 /* of a source's units: how often a task whose ticks no timer brings is stopped for them */

UNNOTED struct pmu_limit *round_add_source(struct round *r, const struct event *e)
{
	struct pmu_limit *s = &r->source[r->nr_sources];

	if (unlikely(r->nr_sources == SOURCES_MAX)) /* no task has so many: somebody has written over its events */
		return NULL;
	r->nr_sources++;
	s->pmu = e->pmu;
	s->source = e->source.source;
	s->now = event_source_now(e);
	s->next = ~0ul;
	s->adaptive = true;
	r->pmus |= 1u << e->pmu;
	return s;
}

static UNNOTED void set_each_limit(struct round *r, u32 pmus)
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
static UNNOTED void set_limits(struct round *r)
{
	u32 pmus = r->pmus | r->ctx->limited_pmus;
	const struct pmu *only;

	if (likely(pmus == r->pmus && !(pmus & (pmus - 1)))) {
		only = pmus ? pmu_by_number((u32)__builtin_ctz(pmus)) : NULL;
		if (only && only->limit)
			only->limit(r->task, r->source, r->nr_sources);
	} else {
		set_each_limit(r, pmus);
	}
	r->ctx->limited_pmus = r->pmus; /* not noted: it is what the drivers know */
}

/* With the first event that needs them, and the last. */
static void begin_or_end_ticks(struct round *r, bool begin)
{
	r->ctx->tick_stamp = begin ? round_time(r) : 0;
	if (begin) {
		r->ctx->tick_clock = host_task_clock(r->task);
		r->ctx->tick_spent = r->ctx->spent;
	}
}

/*
 * at: the task clock at which something is due, ~0: never. The timer that runs is left alone if it is the right one and
 * cannot have fired yet; one that fired early is set again.
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

UNNOTED void round_see_none(struct round *r)
{
	r->ticks = r->timer = r->coarse = r->changed = false;
	r->at = r->ctx->look - 1; /* ~0 if that is 0 */
	for (u32 i = 0; i < r->nr_sources; i++) {
		r->source[i].next = ~0ul;
		r->source[i].adaptive = true;
	}
}

UNNOTED void round_see(struct round *r, const struct event *e, struct pmu_limit *s)
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
		s->adaptive &= e->attr.freq && !r->ctx->timer_refused;
	} else if (e->source.clock && !e->throttled) {
		r->at = MIN(r->at, e->next);
	}
}

UNNOTED void round_see_all(struct round *r)
{
	const struct event *e;

	round_see_none(r);
	for_each_in_ctx(e, r->ctx)
		if (overflow_active(e))
			round_see(r, e, round_source(r, e));
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
	set_limits(r);
	if (unlikely(r->ticks != (r->ctx->tick_stamp != 0)))
		begin_or_end_ticks(r, r->ticks);
	if (r->timer || r->coarse)
		at = MIN(at, r->ctx->tick_clock + PERIOD_TICK);
	if (at != ~0ul || r->ctx->timer)
		set_timer(r, at, !timed, again);
}

UNNOTED void round_arm(struct round *r, bool again)
{
	bool refused = r->ctx->timer_refused;

	check_slow(ctx_is_locked());
	arm_seen(r, again);
	if (likely(refused || !r->ctx->timer_refused))
		return;
	round_see_all(r);
	arm_seen(r, false);
}
