/*
 * Per-CPU events that count the tasks of one cgroup and of those below it (PERF_FLAG_PID_CGROUP).
 *
 * Such an event counts through its children on all tasks, as any per-CPU event (lineage.h). A child is enabled while
 * its task is in the cgroup and on the CPU, and OFF else: so the event's times are the CPU time of the cgroup's tasks
 * there, as on Linux, and the sum of its children's.
 *
 * A cgroup is named by its path in the hierarchy of the perf_event controller. Of a path only hashes are kept, one for
 * each level: a task is in a cgroup if its path has that one's hash at that one's level.
 */
#ifndef EVENT_CGROUP_H
#define EVENT_CGROUP_H

#include "abi/types.h"

struct event;

#define CGROUP_LEVELS 32 /* below the root; what is deeper counts as being in the deepest of these */

struct cgroup_path {
	u32 levels; /* 0: the root */
	u64 at[CGROUP_LEVELS + 1];
};

/* Of "/a/b". False: it is deeper than CGROUP_LEVELS, and the rest was cut off. */
bool cgroup_path_of(const char *path, struct cgroup_path *out);
bool cgroup_path_is_same(const struct cgroup_path *a, const struct cgroup_path *b);

/* What event_open_begin() asks host_cgroup() for, and the event keeps; at 0: none. */
struct event_cgroup {
	u64 at;
	u32 level;
};

/* The task is in the cgroup of a root event; true if that has none. */
bool cgroup_has(u32 task, const struct event *root);

/* A child of a per-CPU event is enabled as it should be. With event_lock(). */
void cgroup_follow(struct event *child);

/*
 * Where the task is now, if event_ctx.generation still says that it is that task. looked: event_ctx.cgroup_moves before
 * that was looked up; false: somebody has told of a move since, and it is to be looked up again. Without the lock.
 */
bool event_cgroup_moved(u32 task, u32 generation, u32 looked, const struct cgroup_path *path);

#endif
