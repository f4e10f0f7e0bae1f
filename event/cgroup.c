/* See cgroup.h. */
#include "event/cgroup.h"

#include "event/counters.h"
#include "event/event.h"
#include "event/lineage.h"
#include "rt/hash.h"
#include "rt/log.h"
#include "rt/string.h"

bool cgroup_path_of(const char *path, struct cgroup_path *out)
{
	u64 hash = FNV_BEGIN;

	*out = (struct cgroup_path){.at = {FNV_BEGIN}};
	while (*path == '/' && path[1]) {
		if (out->levels == CGROUP_LEVELS)
			return false;
		hash = fnv_add(hash, (u8)*path++);
		for (; *path && *path != '/'; path++)
			hash = fnv_add(hash, (u8)*path);
		out->at[++out->levels] = hash | !hash; /* 0 says that an event has no cgroup */
	}
	return true;
}

bool cgroup_path_is_same(const struct cgroup_path *a, const struct cgroup_path *b)
{
	u32 levels = MIN(a->levels, CGROUP_LEVELS);

	return levels == b->levels && !memcmp(a->at, b->at, sizeof(a->at[0]) * (levels + 1));
}

bool cgroup_has(task_id task, const struct event *root)
{
	const struct cgroup_path *path = &event_ctx(task)->cgroup;
	u32 level = root->cgroup.level;

	return !root->cgroup.at || (level <= MIN(path->levels, CGROUP_LEVELS) && path->at[level] == root->cgroup.at);
}

static bool is_due(const struct event *child)
{
	const struct event *root = event_slot(child->parent), *leader = event_leader(root);

	if (event_tally(root)->state < PERF_STATE_INACTIVE || event_tally(leader)->state < PERF_STATE_INACTIVE)
		return false;
	return !root->cgroup.at || (child->cpu == event_ctx(child->task)->cpu && cgroup_has(child->task, root));
}

void cgroup_follow(struct event *child)
{
	check_slow(event_is_locked());
	if (is_due(child))
		event_enable(child);
	else
		event_disable(child);
}

static void move(task_id task, const struct cgroup_path *path)
{
	struct event_ctx *ctx = event_ctx(task);
	struct event *e;

	ctx_hold(task);
	ctx->cgroup = *path;
	__atomic_store_n(&ctx->cgroup_moves, ctx->cgroup_moves + 1, __ATOMIC_RELEASE);
	for_each_in_ctx(e, ctx)
		if (event_follows_cpu(e))
			cgroup_follow(e);
	if (event_space->counters_scarce)
		counters_place_task(task, host_task_clock(task));
}

bool event_cgroup_moved(task_id task, u32 generation, u32 looked, const struct cgroup_path *path)
{
	struct event_ctx *ctx = event_ctx(task);
	bool same, current;

	event_lock();
	same = ctx->live && ctx->generation == generation;
	current = ctx->cgroup_moves == looked;
	if (same && current && !cgroup_path_is_same(&ctx->cgroup, path))
		move(task, path);
	event_unlock();
	return current || !same;
}
