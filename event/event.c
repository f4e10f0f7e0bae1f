/* See event.h. */
#include "event/event.h"

#include "event/after.h"
#include "event/attr.h"
#include "event/cgroup.h"
#include "event/counters.h"
#include "event/fold.h"
#include "event/lineage.h"
#include "event/overflow.h"
#include "event/state.h"
#include "event/userpage.h"
#include "rt/log.h"

/* ---- sources and clocks ---- */

/*
 * What the host counts is asked for once in a section: so all of a group begin and end with the same numbers, whatever
 * happens in between. Within a section there are few such sources.
 */
static UNNOTED u64 polled_now(const struct event *e)
{
	struct event_ctx *own = event_ctx(host_current());
	u64 section = section_serial();
	struct event_polled *p;

	for (u32 i = 0; i < EVENT_POLLED; i++) {
		p = &own->polled[i];
		if (p->section == section && p->task == e->task && p->source == e->source.source && p->pmu == e->pmu)
			return p->now;
	}
	p = &own->polled[++own->polled_last % EVENT_POLLED];
	*p = (struct event_polled){section, pmu_by_number(e->pmu)->read(e->task, e->source.source), e->task, e->pmu,
				   e->source.source};
	return p->now;
}

u64 event_source_now(const struct event *e)
{
	/* A per-CPU event whose source has no meaning without a task counts through its children only. */
	if (!e->task && !e->source.per_cpu)
		return 0;
	if (e->source.hits)
		return e->hits;
	return e->source.polled ? polled_now(e) : pmu_by_number(e->pmu)->read(e->task, e->source.source);
}

/*
 * What the source has advanced by. A count that the host keeps is lost with a killed task, and stands at less than
 * before: then the last value that was read is used.
 */
static u64 passed(const struct event *e, const struct event_tally *t)
{
	u64 now = event_source_now(e);

	return now > t->prev ? now - t->prev : 0;
}

u64 event_clock(const struct event *e)
{
	if (e->task)
		return host_task_clock(e->task);
	return e->cgroup.at ? 0 : host_clock_mono(); /* its times are its children's */
}

static s64 effective_state(const struct event *e)
{
	s64 leader = event_tally(event_leader(e))->state;

	return leader < PERF_STATE_INACTIVE ? leader : event_tally(e)->state;
}

/* Adds the time since the stamp as the state was until now. The clock never goes back. */
static void tally_time(const struct event *e, struct event_tally *t, u64 now)
{
	s64 state = effective_state(e);
	u64 ns = now > t->stamp ? now - t->stamp : 0;

	if (state >= PERF_STATE_INACTIVE)
		t->enabled += ns;
	if (state == PERF_STATE_ACTIVE && !e->source.never_runs)
		t->running += ns;
	t->stamp += ns;
}

static void update_time(struct event *e, u64 now)
{
	event_hold(e);
	tally_time(e, &e->tally, now);
}

void event_update_group(struct event *leader, u64 now)
{
	struct event *s;

	for_each_sibling(s, leader)
		update_time(s, now);
}

/* ---- units ---- */

static u32 wanted_units(const struct event_ctx *ctx)
{
	u32 units = 0;

	for (u32 u = 0; u < EVENT_UNITS; u++)
		units |= (u32)!!ctx->unit_users[u] << u;
	return units;
}

void event_sync_units(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);
	u32 units;

	check_slow(ctx_is_locked());
	if (ctx->quiet)
		return;
	units = wanted_units(ctx);
	if (units == ctx->units)
		return;
	ctx->units = units;
	for (u32 i = 0; i < PMU_MAX; i++) {
		const struct pmu *pmu = pmu_or_null(i);

		if (pmu && pmu->want)
			pmu->want(task, units);
	}
}

static void unit_use(const struct event *e, int by)
{
	u32 units = event_units(e);

	check_slow(by == 1 || by == -1);
	if (!units || !e->task)
		return;
	for (; units; units &= units - 1) {
		u32 *users = &event_ctx(e->task)->unit_users[__builtin_ctz(units)];

		check_slow(by > 0 || *users);
		*users += (u32)by;
	}
	event_sync_units(e->task);
}

void event_hits_changed(const struct event *e)
{
	if (!e->source.hits || !e->task)
		return;
	event_flag_set(&event_ctx(e->task)->hits_changed);
	kick_after(e->task);
}

/* ---- states ---- */

/* It has samples of its own: a per-CPU event's are its children's. */
static bool samples(const struct event *e)
{
	return attr_is_sampling(&e->attr) && e->task;
}

static void sched_in(struct event *e, u64 now)
{
	struct event_tally *t;

	unit_use(e, 1);
	t = &e->tally;
	tally_time(e, t, now);
	t->prev = event_source_now(e);
	t->state = PERF_STATE_ACTIVE;
	if (samples(e))
		overflow_sched_in(e, t->prev);
	if (samples(e))
		overflow_sync(e->task);
	event_hits_changed(e);
	userpage_update_at(e, now);
}

static void sched_out(struct event *e, s64 state, u64 now)
{
	struct event_tally *t = &e->tally;

	tally_time(e, t, now);
	t->count += passed(e, t);
	t->state = state;
	if (samples(e))
		overflow_sched_out(e, event_source_now(e));
	if (samples(e))
		overflow_sync(e->task);
	userpage_update_at(e, now);
	event_hits_changed(e);
	unit_use(e, -1);
}

void event_set_state(struct event *e, s64 state, u64 now)
{
	struct event_tally *t;

	check_slow(ctx_is_locked() && state >= PERF_STATE_EXIT && state <= PERF_STATE_ACTIVE);
	if (event_tally(e)->state == state)
		return;
	event_hold(e);
	if (unlikely(e->kept_out) && state < PERF_STATE_INACTIVE)
		counters_end_kept_out(e);
	if (state == PERF_STATE_ACTIVE) {
		sched_in(e, now);
	} else if (event_tally(e)->state == PERF_STATE_ACTIVE) {
		sched_out(e, state, now);
	} else {
		t = &e->tally;
		tally_time(e, t, now);
		t->state = state;
		userpage_update_at(e, now);
	}
}

static bool on_its_cpu(const struct event *e)
{
	return e->cpu < 0 || !e->task || event_ctx(e->task)->cpu == e->cpu;
}

void event_see_cpu(task_id task)
{
	if (!event_is_followed(task))
		event_ctx(task)->cpu = (s32)host_task_cpu(task);
}

static void sched_one(struct event *e, bool group_on, u64 now)
{
	s64 state = event_tally(e)->state;

	if (state < PERF_STATE_INACTIVE)
		return;
	event_set_state(e, group_on && on_its_cpu(e) ? PERF_STATE_ACTIVE : PERF_STATE_INACTIVE, now);
}

void event_set_group(struct event *leader, bool on, u64 now)
{
	struct event *s;

	check_slow(ctx_is_locked());
	on &= event_tally(leader)->state >= PERF_STATE_INACTIVE;
	sched_one(leader, on, now);
	for_each_sibling(s, leader)
		sched_one(s, on, now);
}

void event_sched_group(struct event *leader, u64 now)
{
	if (unlikely(event_space->counters_scarce))
		counters_place(leader, now);
	else
		event_set_group(leader, true, now);
}

void event_leader_changes(struct event *e, u64 now)
{
	struct event *s;

	if (!event_is_leader(e))
		return;
	event_hold(e);
	for_each_sibling(s, e) {
		if (event_tally(s)->state == PERF_STATE_ACTIVE)
			sched_out(s, PERF_STATE_INACTIVE, now);
	}
	event_update_group(e, now);
}

void event_enable(struct event *e)
{
	s64 state = event_tally(e)->state;
	u64 now;

	if (state >= PERF_STATE_INACTIVE || state < PERF_STATE_ERROR)
		return;
	now = event_clock(e);
	event_leader_changes(e, now);
	event_set_state(e, PERF_STATE_INACTIVE, now);
	event_sched_group(event_leader(e), now);
}

/* Linux leaves it in error; the text of 2009 says that this ends it. */
static bool is_forgiven(const struct event *e)
{
	return e->of_2009 && event_tally(e)->state == PERF_STATE_ERROR;
}

void event_disable(struct event *e)
{
	u64 now;

	if (event_tally(e)->state < PERF_STATE_INACTIVE && !is_forgiven(e))
		return;
	now = event_clock(e);
	event_leader_changes(e, now);
	event_set_state(e, PERF_STATE_OFF, now);
}

static void reset(struct event *e)
{
	struct event_tally *t = &e->tally;

	event_hold(e);
	t->count = 0;
	if (t->state == PERF_STATE_ACTIVE)
		t->prev = event_source_now(e);
	userpage_update(e);
}

void event_sched_system(struct event *e)
{
	struct event *c;

	check_slow(event_is_locked());
	for_each_child(c, e)
		cgroup_follow(c);
}

/* Its page has the count of its children, so it follows them. */
static void sched_system(struct event *e)
{
	event_sched_system(e);
	userpage_update(e);
}

void event_sched_system_group(struct event *e)
{
	struct event *s;

	sched_system(e);
	if (!event_is_leader(e))
		return;
	for_each_sibling(s, e)
		sched_system(s);
}

void event_enable_family(struct event *e)
{
	struct event *c;

	check_slow(event_is_locked());
	if (!e->lineage_on)
		lineage_settle(e);
	event_enable(e);
	if (!e->task) {
		event_sched_system_group(e);
		return;
	}
	lineage_switched(e, true);
	for_each_child(c, e)
		event_enable(c);
}

void event_disable_family(struct event *e)
{
	struct event *c;

	check_slow(event_is_locked());
	if (e->lineage_on)
		lineage_settle(e);
	event_disable(e);
	if (!e->task) {
		event_sched_system_group(e);
		return;
	}
	lineage_switched(e, false);
	for_each_child(c, e)
		event_disable(c);
}

/* Linux quirk: what children that are gone had counted stays (seen on 6.18; tests/abi/inherit.c). */
void event_reset_family(struct event *e)
{
	struct event *c;

	check_slow(event_is_locked());
	reset(e);
	for_each_child(c, e)
		reset(c);
	if (!e->task)
		userpage_update(e);
}

/* ---- reading ---- */

/* What was read once of another task's clocks is not forgotten when that task is killed. */
static u64 own_count(struct event *e)
{
	struct event_tally *t;
	u64 n;

	event_hold(e);
	if (event_tally(e)->state != PERF_STATE_ACTIVE)
		return event_tally(e)->count;
	n = passed(e, event_tally(e));
	if (!event_is_measured(e) || e->task == host_current())
		return event_tally(e)->count + n;
	t = &e->tally;
	t->count += n;
	t->prev += n;
	return t->count;
}

/* The same. */
static void own_times(struct event *e, struct event_total *sum)
{
	struct event_tally *t = &e->tally;

	event_hold(e);
	if (effective_state(e) >= PERF_STATE_INACTIVE)
		tally_time(e, t, event_clock(e));
	sum->enabled += t->enabled;
	sum->running += t->running;
}

void event_read_own(struct event *e, bool with_times, struct event_total *out)
{
	*out = (struct event_total){own_count(e) >> e->source.shift, 0, 0};
	if (with_times)
		own_times(e, out);
}

void event_read_total(struct event *e, bool with_times, struct event_total *out)
{
	struct event *c;

	check_slow(event_is_locked());
	*out = (struct event_total){own_count(e) + event_tally(e)->child_count, 0, 0};
	if (with_times) {
		own_times(e, out);
		out->enabled += event_tally(e)->child_enabled;
		out->running += event_tally(e)->child_running;
		out->enabled += lineage_enabled(e);
	}
	for_each_child(c, e) {
		if (!event_counts_alone(e))
			out->count += own_count(c);
		if (with_times && event_has_times_of_tasks(e))
			own_times(c, out);
	}
	if (with_times && !event_has_times_of_tasks(e))
		out->running = counters_time_running(e, out->running);
	out->count >>= e->source.shift;
}

u64 event_read_member(struct event *e)
{
	u64 count = own_count(e) + event_tally(e)->child_count;
	struct event *c;

	check_slow(event_is_locked());
	for_each_child(c, e)
		if (!event_counts_alone(e) && (!e->task || event_leader(c)->parent == e->leader))
			count += own_count(c);
	return count >> e->source.shift;
}
