/* See counters.h. */
#include "event/counters.h"

#include <asm-generic/errno.h>
#include <asm/siginfo.h>
#include "event/async.h"
#include "event/event.h"
#include "event/overflow.h"
#include "event/ring.h"
#include "event/state.h"
#include "rt/log.h"
#include "rt/refuse.h"

#define NS_PER_MS 1000000ul

/* What is left of a CPU's counters, while groups are placed. */
struct counters {
	u32 left;
	bool alone; /* an exclusive group has them */
	/* Of the list that is being placed: */
	bool some;  /* groups of it have counters */
	bool full;  /* one found no room */
};

static struct counters all_counters(void)
{
	return (struct counters){.left = event_space->counters ? event_space->counters : ~0u};
}

static bool is_hardware(u32 pmu)
{
	return !(pmu_by_number(pmu)->capabilities & PMU_SOFTWARE);
}

static bool is_hardware_group(const struct event *leader)
{
	const struct event *s;

	if (is_hardware(leader->pmu))
		return true;
	for_each_sibling(s, leader)
		if (is_hardware(s->pmu))
			return true;
	return false;
}

static bool needs_counter(const struct event *e)
{
	return is_hardware(e->pmu) && event_tally(e)->state >= PERF_STATE_INACTIVE;
}

static u32 counters_needed(const struct event *leader)
{
	u32 n = needs_counter(leader);
	const struct event *s;

	for_each_sibling(s, leader)
		n += needs_counter(s);
	return n;
}

int counters_check_group(const struct event *leader, u32 pmu)
{
	const struct event *s;
	u32 n = 1;

	if (!event_space->counters || !leader || !is_hardware(pmu))
		return 0;
	n += is_hardware(leader->pmu); /* enabled or not, as in x86's driver */
	for_each_sibling(s, leader)
		n += needs_counter(s);
	return n > event_space->counters ? refuse(EINVAL, "the group needs more counters than there are") : 0;
}

/* ---- placing ---- */

/* The kernel's group_can_go_on() and group_sched_in(). */
static bool take(struct counters *c, const struct event *leader)
{
	u32 n;

	if (!is_hardware_group(leader))
		return true;
	n = counters_needed(leader);
	if (c->full || c->alone || (leader->attr.exclusive && c->some) || n > c->left) {
		c->full = true;
		return false;
	}
	c->left -= n;
	c->some = true;
	c->alone = leader->attr.exclusive;
	return true;
}

static void begin_list(struct counters *c)
{
	c->some = c->full = false;
}

/* One of the groups that are placed in the list of a task or of the per-CPU events. */
static bool is_placed(const struct event *e, bool pinned)
{
	return event_is_leader(e) && !event_follows_cpu(e) && e->attr.pinned == pinned &&
	       event_tally(e)->state >= PERF_STATE_INACTIVE;
}

static void fail(struct event *leader, u64 now)
{
	struct event *root = event_root(leader);

	event_leader_changes(leader, now);
	event_set_state(leader, PERF_STATE_ERROR, now);
	if (!leader->task)
		event_sched_system_group(leader);
	if (ring_of(root))
		ring_wake(ring_of(root), 0);
	async_wake(root, POLL_ERR);
}

/* True: some have to wait. */
static bool place_list(struct counters *c, const struct elist *list, s32 cpu, bool pinned, u64 now)
{
	bool wait = false, here, on;
	struct event *e;

	begin_list(c);
	for_each_linked(e, nr, next, *list, in_ctx) {
		if (!is_placed(e, pinned))
			continue;
		here = e->cpu < 0 || e->cpu == cpu;
		if (e->cgroup.at) {
			event_set_group(e, true, event_clock(e)); /* which tasks have room is seen with each of them */
			continue;
		}
		if (!here && !e->task)
			continue; /* another CPU's */
		on = here && take(c, e);
		event_set_group(e, on, now);
		if (!here || on)
			continue;
		if (pinned)
			fail(e, now);
		else
			wait = true;
	}
	return wait;
}

static u64 interval(void)
{
	return (u64)MAX(event_sysctl()->mux_interval_ms, 1) * NS_PER_MS;
}

/* at: when the next rotation is due, 0: nothing waits. */
static void set_rotation(u64 *at, bool wait, u64 now)
{
	if (!wait)
		*at = 0;
	else if (!*at)
		*at = now + interval();
}

static u64 *rotation_of(s32 cpu)
{
	return &event_space->cpu_rotate_at[EVENT_WITHIN((u32)cpu, cpu_rotate_at)];
}

/* ---- a task ---- */

/*
 * What the groups of the task's CPU have, or would have if they were not crowded out by those before them. True: some
 * are.
 */
static bool take_of_cpu(struct counters *c, task_id task, bool pinned)
{
	bool out = false;
	struct event *e;

	begin_list(c);
	for_each_linked(e, nr, next, event_space->system, in_ctx) {
		if (e->cpu != event_ctx(task)->cpu || !is_placed(e, pinned) || !cgroup_has(task, e) ||
		    event_tally(e)->state != PERF_STATE_ACTIVE)
			continue;
		e->crowded_out = !take(c, e);
		out |= e->crowded_out;
		if (e->crowded_out && pinned)
			fail(e, event_clock(e));
	}
	return out;
}

/* For how long the task of this child has kept it out. */
static u64 kept_out(const struct event *child)
{
	u64 now;

	if (!child->kept_out)
		return 0;
	now = event_clock(child);
	return now - MIN(child->kept_out - 1, now);
}

void counters_end_kept_out(struct event *child)
{
	event_slot(child->parent)->tally.child_running -= kept_out(child);
	child->kept_out = 0;
}

/* Tasks that were thought to be on one CPU may have kept the event out at the same time. */
u64 counters_time_running(const struct event *root, u64 running)
{
	const struct event *c;

	for_each_child(c, root)
		running -= kept_out(c);
	return (s64)running < 0 ? 0 : running;
}

static void follow(struct event *e, s32 cpu, u64 now)
{
	struct event *root = event_slot(e->parent);
	bool due = e->cpu == cpu && event_tally(root)->state == PERF_STATE_ACTIVE;
	bool out = due && event_leader(root)->crowded_out;

	if (event_tally(e)->state < PERF_STATE_INACTIVE)
		return;
	event_set_group(e, due && !out, now);
	if (root->cgroup.at) /* its times are the child's */
		return;
	if (out && !e->kept_out)
		e->kept_out = 1 + now;
	else if (!out && e->kept_out)
		counters_end_kept_out(e);
}

static void follow_all(task_id task, u64 now)
{
	struct event_ctx *ctx = event_ctx(task);
	struct event *e;

	for_each_in_ctx(e, ctx)
		if (event_follows_cpu(e))
			follow(e, ctx->cpu, now);
}

/* When the task has to see whether an interval is over. */
static void set_look(task_id task, u64 now)
{
	struct event_ctx *ctx = event_ctx(task);
	u64 at = ctx->rotate_at ? ctx->rotate_at : ~0ul;

	if (ctx->cpu >= 0 && *rotation_of(ctx->cpu))
		at = MIN(at, now + interval());
	if (ctx->look == at + 1)
		return;
	ctx->look = at + 1;
	overflow_sync(task);
}

void counters_place_task(task_id task, u64 now)
{
	struct event_ctx *ctx = event_ctx(task);
	struct counters c = all_counters();
	bool wait;

	check_slow(event_is_locked());
	ctx_hold(task);
	take_of_cpu(&c, task, true);
	place_list(&c, &ctx->events, ctx->cpu, true, now);
	if (take_of_cpu(&c, task, false))
		set_rotation(rotation_of(ctx->cpu), true, host_clock_mono());
	wait = place_list(&c, &ctx->events, ctx->cpu, false, now);
	follow_all(task, now);
	set_rotation(&ctx->rotate_at, wait, now);
	set_look(task, now);
}

/* ---- a CPU ---- */

static void place_cpu(s32 cpu, u64 now)
{
	struct counters c = all_counters();
	bool wait;

	place_list(&c, &event_space->system, cpu, true, now);
	wait = place_list(&c, &event_space->system, cpu, false, now);
	set_rotation(rotation_of(cpu), wait, now);
	for (task_id task = 1; task < MIN(event_space->ctx_high, EVENT_TASKS); task++)
		if (event_ctx(task)->live && event_ctx(task)->cpu == cpu)
			counters_place_task(task, host_task_clock(task));
}

void counters_place(const struct event *e, u64 now)
{
	if (e->task)
		counters_place_task(e->task, now);
	else
		place_cpu(e->cpu, e->cgroup.at ? host_clock_mono() : now); /* that has no clock of its own */
}

/* ---- rotation ---- */

/* The kernel's ctx_event_to_rotate() and rotate_ctx(). */
static void rotate(struct elist *list, s32 cpu)
{
	struct event *e;
	u32 first = 0;

	for_each_linked(e, nr, next, *list, in_ctx) {
		if (!is_placed(e, false) || (e->cpu >= 0 && e->cpu != cpu) || !is_hardware_group(e))
			continue;
		if (!first || event_tally(e)->state == PERF_STATE_ACTIVE)
			first = nr;
		if (event_tally(e)->state == PERF_STATE_ACTIVE)
			break;
	}
	if (!first)
		return;
	elist_del(list, first, LINK_CTX);
	elist_add(list, first, LINK_CTX);
}

static bool is_due(u64 *at, u64 now)
{
	if (!*at || now < *at)
		return false;
	*at = 0;
	return true;
}

static void rotate_locked(task_id task, u64 clock)
{
	struct event_ctx *ctx = event_ctx(task);
	u64 mono = host_clock_mono();

	ctx_hold(task);
	if (is_due(&ctx->rotate_at, clock))
		rotate(&ctx->events, ctx->cpu);
	if (ctx->cpu >= 0 && is_due(rotation_of(ctx->cpu), mono)) {
		rotate(&event_space->system, ctx->cpu);
		place_cpu(ctx->cpu, mono);
	}
	counters_place_task(task, clock);
}

void counters_rotate_slow(task_id task)
{
	u64 clock = host_task_clock(task);

	if (clock + 1 < event_ctx(task)->look)
		return;
	event_lock();
	rotate_locked(task, clock);
	event_unlock();
}

/* ---- checks ---- */

const char *counters_validate(task_id task)
{
	u32 n = 0;
	struct event *e;

	if (!event_space->counters)
		return NULL;
	for_each_in_ctx(e, event_ctx(task))
		n += is_hardware(e->pmu) && event_tally(e)->state == PERF_STATE_ACTIVE;
	return n <= event_space->counters ? NULL : "more events of a task count than there are counters";
}
