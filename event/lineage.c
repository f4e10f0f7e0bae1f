/* See lineage.h. */
#include "event/lineage.h"

#include "event/event.h"
#include "event/fold.h"
#include "event/inherit.h"
#include "event/ready.h"
#include "event/sideband.h"
#include "rt/log.h"

static struct event_lineage *lineage_slot(u32 nr)
{
	return &event_space->lineage[EVENT_WITHIN(nr, lineage)];
}

#define for_each_root(r, l) for_each_linked(r, nr_l_, next_l_, (l)->roots, in_lineage)
#define for_each_heir(task, l)                                                                                         \
	for (task_id task = (l)->heirs, left_ = EVENT_TASKS; task && left_--; task = event_ctx(task)->next_heir)

static bool has_inherited(const struct event_ctx *ctx, const struct event *root)
{
	return root->lineage && root->lineage == ctx->lineage && root->lineage_seq < ctx->lineage_seq;
}

static bool is_pending(task_id task, const struct event *root)
{
	return has_inherited(event_ctx(task), root) && !lineage_has_seen(task, root->cpu);
}

/* By that the children of the root that are pending are counted as enabled. */
static bool is_on(const struct event *root)
{
	return root->lineage_on && event_leader(root)->lineage_on;
}

/* What was read once is not forgotten when the task is killed. */
static u64 clock_of(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);

	ctx->clock_read = MAX(ctx->clock_read, host_task_clock(task));
	return ctx->clock_read;
}

/* ---- making what is pending ---- */

static struct event *make(struct event *root, struct event *leader, task_id task, u64 clock)
{
	struct event *e = inherit_child(root, task, root->lineage_on ? PERF_STATE_INACTIVE : PERF_STATE_OFF, clock);

	if (!e)
		return NULL;
	e->tally.enabled = is_on(root) ? clock : 0;
	if (leader) {
		e->leader = event_nr(leader);
		e->leader_id = leader->id;
	}
	event_attach(e);
	return e;
}

/* False: no slot is left, and the task will not be counted there. */
static bool make_group(struct event *root, task_id task)
{
	u64 clock = clock_of(task);
	struct event *leader = make(root, NULL, task, clock), *s;
	bool all = leader;

	for_each_sibling(s, root)
		if (all && has_inherited(event_ctx(task), s))
			all = make(s, leader, task, clock);
	if (leader) {
		leader->group_generation = root->group_generation;
		event_sched_group(leader, clock);
	}
	return all;
}

static void make_all(task_id task, s32 cpu)
{
	struct event_ctx *ctx = event_ctx(task);
	bool all = true;
	struct event *e;

	if (ctx->lineage)
		for_each_root(e, lineage_slot(ctx->lineage))
			if (e->cpu == cpu && event_is_leader(e) && has_inherited(ctx, e))
				all &= make_group(e, task);
	for_each_linked(e, nr, next, event_space->system, in_ctx)
		if (e->cpu == cpu)
			all &= !inherit_system_event(e, task);
	curious(!all);
}

static void set_seen(struct event_ctx *ctx, s32 cpu)
{
	ctx->seen[cpu / 64] |= 1ul << cpu % 64;
}

void lineage_see(task_id task, s32 cpu)
{
	struct event_ctx *ctx = event_ctx(task);

	check_slow(event_is_locked());
	if (cpu < 0 || lineage_has_seen(task, cpu))
		return;
	set_seen(ctx, cpu);
	make_all(task, cpu);
}

void lineage_settle(struct event *root)
{
	check_slow(event_is_locked());
	if (!root->lineage)
		return;
	for_each_heir(task, lineage_slot(root->lineage))
		if (is_pending(task, root))
			lineage_see(task, root->cpu);
}

/* ---- roots ---- */

static bool may_wait(const struct event *e)
{
	const struct perf_attr *a = &e->attr;

	return !e->parent && a->inherit && !a->inherit_thread && !a->sigtrap && !a->enable_on_exec &&
	       !a->remove_on_exec;
}

/* A leader and its siblings, or none of them. */
static bool group_may_wait(const struct event *leader)
{
	const struct event *s;

	if ((u32)leader->cpu >= EVENT_CPUS || !may_wait(leader))
		return false;
	for_each_sibling(s, leader)
		if (!may_wait(s))
			return false;
	return true;
}

static void join(struct event *e, u32 nr)
{
	struct event_lineage *l = lineage_slot(nr);

	e->lineage_seq = l->next_seq++;
	e->lineage_on = event_tally(e)->state >= PERF_STATE_INACTIVE;
	__atomic_store_n(&e->lineage, nr, __ATOMIC_RELEASE);
	elist_add(&l->roots, event_nr(e), LINK_LINEAGE);
	l->sideband |= sideband_of(e);
}

/* The task's own lineage, with a number if it has none yet; 0: no number is left. */
static u32 own_lineage(task_id task)
{
	struct event_space *s = event_space;
	struct event_ctx *ctx = event_ctx(task);
	u32 nr = s->lineage_free;

	if (ctx->own_lineage)
		return ctx->own_lineage;
	if (nr)
		s->lineage_free = lineage_slot(nr)->next_free;
	else if (s->lineages_high < EVENT_LINEAGES)
		nr = s->lineages_high++;
	else
		return 0;
	*lineage_slot(nr) = (struct event_lineage){.owner = task, .next_seq = 1};
	ctx->own_lineage = nr;
	return nr;
}

static void join_group(task_id task, struct event *leader)
{
	u32 nr = own_lineage(task);
	struct event *s;

	if (!nr)
		return;
	if (!leader->lineage)
		join(leader, nr);
	for_each_sibling(s, leader)
		if (!s->lineage)
			join(s, nr);
}

/* Nobody has inherited anything that could be pending: the lineage ends. */
static void end_lineage(u32 nr)
{
	struct event_lineage *l = lineage_slot(nr);
	task_id task = l->heirs;

	while (task) {
		struct event_ctx *ctx = event_ctx(task);
		task_id next = ctx->next_heir;

		ctx->lineage = ctx->lineage_sideband = ctx->next_heir = ctx->prev_heir = 0;
		sideband_sync_locked(task);
		task = next;
	}
	if (event_ctx(l->owner)->own_lineage == nr)
		event_ctx(l->owner)->own_lineage = 0;
	*l = (struct event_lineage){.next_free = event_space->lineage_free};
	event_space->lineage_free = nr;
}

/* The children of its siblings become leaders: if the leader is off and they are not, they begin to be enabled now. */
void lineage_close(struct event *root)
{
	u32 nr = root->lineage;

	check_slow(event_is_locked());
	if (!nr)
		return;
	if (root->nr_siblings && !root->lineage_on)
		lineage_settle(root);
	elist_del(&lineage_slot(nr)->roots, event_nr(root), LINK_LINEAGE);
	root->lineage = 0;
	if (!lineage_slot(nr)->roots.first)
		end_lineage(nr);
}

void lineage_switched(struct event *root, bool on)
{
	check_slow(event_is_locked());
	root->lineage_on = on;
}

/* ---- heirs ---- */

static void add_heir(struct event_lineage *l, task_id task)
{
	event_ctx(task)->prev_heir = 0;
	event_ctx(task)->next_heir = l->heirs;
	if (l->heirs)
		event_ctx(l->heirs)->prev_heir = task;
	l->heirs = task;
}

static void remove_heir(struct event_lineage *l, task_id task)
{
	struct event_ctx *ctx = event_ctx(task);

	if (ctx->prev_heir)
		event_ctx(ctx->prev_heir)->next_heir = ctx->next_heir;
	else
		l->heirs = ctx->next_heir;
	if (ctx->next_heir)
		event_ctx(ctx->next_heir)->prev_heir = ctx->prev_heir;
	ctx->next_heir = ctx->prev_heir = 0;
}

static bool matches(const struct event *e, const struct event_ctx *child)
{
	const struct event *root = event_root(e);

	return has_inherited(child, root) && root->lineage_on == (event_tally(e)->state >= PERF_STATE_INACTIVE);
}

/* A child of e's group would be what a pending one is. */
static bool group_matches(const struct event *e, const struct event_ctx *child)
{
	const struct event *s;

	if (!matches(e, child) || e->group_generation != event_root(e)->group_generation)
		return false;
	for_each_sibling(s, e)
		if (!matches(s, child))
			return false;
	return true;
}

static void set_on(struct event *leader)
{
	struct event *s;

	leader->lineage_on = event_tally(leader)->state >= PERF_STATE_INACTIVE;
	for_each_sibling(s, leader)
		s->lineage_on = event_tally(s)->state >= PERF_STATE_INACTIVE;
}

static void join_roots(task_id task)
{
	struct event *e;

	for_each_in_ctx(e, event_ctx(task)) {
		if (!event_is_leader(e) || !group_may_wait(e))
			continue;
		join_group(task, e);
		if (!lineage_slot(e->lineage)->heirs)
			set_on(e);
	}
}

/*
 * CPUs on which the parent's children are not what pending ones would be: the new task has all of those CPUs' at once.
 */
static void find_different(task_id parent, struct event_ctx *ctx)
{
	struct event *e;

	for_each_in_ctx(e, event_ctx(parent))
		if (event_is_leader(e) && has_inherited(ctx, event_root(e)) && !group_matches(e, ctx))
			set_seen(ctx, e->cpu);
}

void lineage_fork(task_id parent, task_id child)
{
	const struct event_ctx *from = event_ctx(parent);
	struct event_ctx *ctx = event_ctx(child);
	u32 nr;

	check_slow(event_is_locked());
	if (!from->lineage)
		join_roots(parent);
	nr = from->lineage ? from->lineage : from->own_lineage;
	if (!nr)
		return;
	ctx->lineage_seq = from->lineage ? from->lineage_seq : lineage_slot(nr)->next_seq;
	ctx->lineage_sideband = lineage_slot(nr)->sideband;
	__atomic_store_n(&ctx->lineage, nr, __ATOMIC_RELEASE);
	find_different(parent, ctx);
	add_heir(lineage_slot(nr), child);
}

bool lineage_is_later(const struct event *e, task_id child)
{
	return is_pending(child, event_root(e));
}

/* Those whose end is a record are made for it. */
static void make_for_records(task_id task)
{
	struct event *e;

	for_each_root(e, lineage_slot(event_ctx(task)->lineage))
		if (e->attr.inherit_stat && is_pending(task, e))
			lineage_see(task, e->cpu);
}

static void fold_pending(task_id task)
{
	u64 clock = clock_of(task);
	struct event *e;

	for_each_root(e, lineage_slot(event_ctx(task)->lineage)) {
		if (!is_pending(task, e))
			continue;
		if (clock && is_on(e))
			event_fold_pending(e, clock);
		if (event_tally(e)->state == PERF_STATE_EXIT)
			event_ready_at_exit(e);
	}
}

void lineage_exit(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);

	check_slow(event_is_locked());
	ctx->own_lineage = 0;
	if (!ctx->lineage)
		return;
	make_for_records(task);
	fold_pending(task);
	remove_heir(lineage_slot(ctx->lineage), task);
	__atomic_store_n(&ctx->lineage, 0, __ATOMIC_RELEASE);
}

/* ---- what the roots want to know ---- */

bool lineage_has_heirs(const struct event *root)
{
	if (root->lineage)
		for_each_heir(task, lineage_slot(root->lineage))
			if (has_inherited(event_ctx(task), root))
				return true;
	return false;
}

u64 lineage_enabled(const struct event *root)
{
	u64 sum = 0;

	if (root->lineage && is_on(root))
		for_each_heir(task, lineage_slot(root->lineage))
			if (is_pending(task, root))
				sum += clock_of(task);
	return sum;
}

/* ---- checks ---- */

static const char *check_heirs(u32 nr, u32 *heirs)
{
	u32 prev = 0;

	for_each_heir(task, lineage_slot(nr)) {
		if (event_ctx(task)->lineage != nr || event_ctx(task)->prev_heir != prev || ++*heirs > EVENT_TASKS)
			return "a lineage's list of heirs is broken";
		prev = task;
	}
	return NULL;
}

const char *lineage_validate(void)
{
	u32 heirs = 0, roots = 0;
	const char *why = NULL;
	struct event *e;

	for (u32 nr = 1; nr < event_space->lineages_high && !why; nr++) {
		why = check_heirs(nr, &heirs);
		for_each_root(e, lineage_slot(nr)) {
			roots++;
			if (e->lineage != nr || e->parent || e->slot != SLOT_LIVE)
				return "a lineage has a root that is not its own";
		}
	}
	if (why)
		return why;
	for (u32 nr = 1; nr < event_space->slots_high; nr++)
		roots -= event_slot(nr)->slot == SLOT_LIVE && !event_slot(nr)->parent && event_slot(nr)->lineage;
	for (task_id task = 1; task < event_space->ctx_high; task++)
		heirs -= event_ctx(task)->live && event_ctx(task)->lineage;
	return roots || heirs ? "a root or an heir is in no lineage, or in too many" : NULL;
}
