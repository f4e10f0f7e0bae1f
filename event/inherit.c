/* See inherit.h. */
#include "event/inherit.h"

#include <asm-generic/errno.h>
#include <linux/sched.h>
#include "event/attr.h"
#include "event/cgroup.h"
#include "event/event.h"
#include "event/lineage.h"
#include "event/period.h"
#include "rt/log.h"

/*
 * A child of the root event that `from` is or belongs to. Its state follows that of `from`, not attr.disabled; its
 * clock and sources stand at 0 when the task is new.
 */
struct event *inherit_child(struct event *from, task_id task, s64 state, u64 now)
{
	struct event *root = event_root(from);
	struct event *e = event_alloc();

	check_slow(event_is_locked());
	if (!e)
		return NULL;
	e->task = task;
	e->generation = event_ctx(task)->generation;
	e->parent = event_nr(root);
	e->parent_id = root->id;
	e->cpu = root->cpu;
	e->pidns = root->pidns;
	e->pmu = root->pmu;
	e->source = root->source;
	e->attr = root->attr;
	e->of_2009 = root->of_2009;
	period_init(e, root);
	e->tally.state = state >= PERF_STATE_INACTIVE ? PERF_STATE_INACTIVE : PERF_STATE_OFF;
	e->tally.stamp = now;
	return e;
}

/* The kernel's inherit_task_group() asks this of the leader only. */
static bool is_inherited(const struct event *leader, u64 clone_flags)
{
	const struct perf_attr *attr = &leader->attr;

	if (!attr->inherit || (attr->inherit_thread && !(clone_flags & CLONE_THREAD)))
		return false;
	return !(attr->sigtrap && (clone_flags & CLONE_CLEAR_SIGHAND));
}

static int inherit_group(struct event *leader, task_id child)
{
	struct event *e = inherit_child(leader, child, event_tally(leader)->state, 0), *new_leader = e, *s;

	if (!e)
		return -ENOMEM;
	event_attach(e);
	for_each_sibling(s, leader) {
		e = inherit_child(s, child, event_tally(s)->state, 0);
		if (!e)
			return -ENOMEM;
		e->leader = event_nr(new_leader);
		e->leader_id = new_leader->id;
		event_attach(e);
	}
	new_leader->group_generation = leader->group_generation;
	event_sched_group(new_leader, 0);
	return 0;
}

int inherit_system_event(struct event *e, task_id task)
{
	struct event *leader = event_leader(e), *c;
	bool on = event_tally(e)->state >= PERF_STATE_INACTIVE && event_tally(leader)->state >= PERF_STATE_INACTIVE;

	on &= !e->cgroup.at || (e->cpu == event_ctx(task)->cpu && cgroup_has(task, e));
	if (e->source.per_cpu && !attr_is_sampling(&e->attr))
		return 0;
	c = inherit_child(e, task, on ? PERF_STATE_INACTIVE : PERF_STATE_OFF, 0);
	if (!c)
		return -ENOMEM;
	c->tally.stamp = event_clock(c);
	event_attach(c);
	event_sched_group(c, c->tally.stamp);
	return 0;
}

int inherit_task(task_id parent, task_id child, u64 clone_flags)
{
	struct event *e;
	int err = 0;

	check_slow(event_is_locked());
	lineage_fork(parent, child);
	for_each_in_ctx(e, event_ctx(parent)) {
		/* Children of per-CPU events get sisters from their parent, below. */
		if (err || !event_is_leader(e) || event_follows_cpu(e))
			continue;
		if (is_inherited(e, clone_flags) && !lineage_is_later(e, child))
			err = inherit_group(e, child);
	}
	for_each_linked(e, nr, next, event_space->system, in_ctx)
		if (!err && lineage_has_seen(child, e->cpu))
			err = inherit_system_event(e, child);
	return err;
}
