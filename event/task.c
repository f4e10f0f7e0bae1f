/* See task.h. */
#include "event/task.h"

#include <asm-generic/errno.h>
#include <linux/sched.h>
#include "event/cgroup.h"
#include "event/counters.h"
#include "event/event.h"
#include "event/files.h"
#include "event/inherit.h"
#include "event/lineage.h"
#include "event/map.h"
#include "event/overflow.h"
#include "event/sideband.h"
#include "rt/refuse.h"

/* While all of a task's events come or go, its derived words are wrong, and nobody looks: the task does not run. */
static void quiet_begin(task_id task)
{
	event_ctx(task)->quiet = 1;
}

static void quiet_end(task_id task)
{
	event_ctx(task)->quiet = 0;
	sideband_sync_locked(task);
	overflow_sync(task);
	event_sync_units(task);
}

/* Takes the task out of everything. With the lock held; nothing happens the second time. */
static void task_gone(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);
	struct event *e;

	if (!ctx->live)
		return;
	if (!ctx->forked_by)
		sideband_exit_locked(task);
	lineage_exit(task);
	quiet_begin(task);
	for_each_in_ctx_newest(e, ctx) /* a READ record of a member tells of the whole group (inherit_stat) */
		event_exit(e, false);
	quiet_end(task);
	event_files_exit_locked(task);
	__atomic_store_n(&ctx->live, 0, __ATOMIC_RELEASE);
	event_mm_leave_locked(task);
}

static void ctx_begin(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);

	if (event_space->ctx_high <= task)
		event_space->ctx_high = task + 1;
	ctx_hold(task);
	*ctx = (struct event_ctx){.lock = ctx->lock, .generation = host_task_generation(task), .cpu = -1};
}

int event_task_fork(task_id parent, task_id child, u64 clone_flags)
{
	struct event_ctx *ctx = event_ctx(child);
	int err;

	event_lock();
	task_gone(child); /* an earlier task of this slot that nobody told us about */
	ctx_begin(child);
	ctx->forked_by = parent;
	ctx->cgroup = event_ctx(parent)->cgroup;
	err = event_files_fork_locked(parent, child, clone_flags & CLONE_FILES);
	if (err) {
		event_unlock();
		return refuse(ENOMEM, "more processes than the session has descriptor tables");
	}
	event_mm_join_locked(child, clone_flags & CLONE_VM ? event_ctx(parent)->mm : 0);
	__atomic_store_n(&ctx->live, 1, __ATOMIC_RELEASE);
	quiet_begin(child);
	err = inherit_task(parent, child, clone_flags);
	quiet_end(child);
	if (err) {
		task_gone(child);
		refuse(ENOMEM, "more inherited events than the session has slots");
	}
	event_unlock();
	return err;
}

/* With the lock: who is about to record the fork may have to begin again (rule 6 of rt/section.h). */
task_id event_task_forking(task_id child)
{
	task_id parent;

	event_lock();
	parent = event_ctx(child)->forked_by;
	event_unlock();
	return parent;
}

task_id event_task_forked(task_id child, u32 generation, const struct sideband_namespaces *ns)
{
	struct event_ctx *ctx = event_ctx(child);
	task_id parent;

	event_lock();
	parent = ctx->generation == generation ? ctx->forked_by : 0;
	if (parent)
		ctx->forked_by = 0;
	if (parent && event_ctx(parent)->live)
		sideband_fork_locked(parent, child, ns);
	event_unlock();
	return parent;
}

void event_task_exec(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);
	struct event *e;

	event_lock();
	event_mm_leave_locked(task);
	event_mm_join_locked(task, 0);
	ctx->handling = 0;
	for_each_in_ctx(e, ctx) {
		if (!e->attr.enable_on_exec || event_follows_cpu(e))
			continue;
		event_enable(e);
		e->attr.enable_on_exec = 0;
	}
	for_each_in_ctx_newest(e, ctx)
		if (e->attr.remove_on_exec && !event_follows_cpu(e))
			event_exit(e, true);
	event_unlock();
}

void event_task_exit(task_id task)
{
	event_lock();
	task_gone(task);
	event_unlock();
}

bool event_task_is_elsewhere(task_id task)
{
	return (s32)host_task_cpu(task) != event_ctx(task)->cpu;
}

void event_task_moved_slow(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);
	s32 cpu = host_task_cpu(task);
	struct event *e;

	if (cpu == ctx->cpu)
		return;
	event_lock();
	ctx->cpu = cpu;
	lineage_see(task, cpu);
	for_each_in_ctx(e, ctx) {
		if (e->cpu < 0 || !event_is_leader(e))
			continue;
		if (event_follows_cpu(e))
			cgroup_follow(e);
		if (likely(!event_space->counters_scarce))
			event_sched_group(e, event_clock(e));
	}
	if (unlikely(event_space->counters_scarce))
		counters_place_task(task, host_task_clock(task));
	event_unlock();
}
