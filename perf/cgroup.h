/*
 * Where tasks are among cgroups: for PERF_SAMPLE_CGROUP, and for events of cgroups (event/cgroup.h).
 *
 * Nobody tells a task that it was moved. While there are events of cgroups it is found out like this:
 *
 *   a member writes to a cgroup's file	all tasks of the session are looked up, before write(2) returns
 *   a task begins				it looks itself: clone3(2) may have put it into another cgroup
 *   somebody outside moves it			it looks itself on entering the runtime, each CGROUP_LOOK_NS
 *
 * What a task has done until then counts for the cgroup that it was in before.
 *
 * Paths are those of /proc/PID/cgroup, as one cgroup namespace sees them: that of who opened the first such event. In
 * another one no event of a cgroup can be opened, and nothing is looked up.
 */
#ifndef PERF_CGROUP_H
#define PERF_CGROUP_H

#include "abi/types.h"

#define CGROUP_LOOK_NS 10000000ul

/*
 * PERF_SAMPLE_CGROUP's id of the caller's group in the unified hierarchy: its directory's inode number; 1, the root's,
 * if that cannot be found.
 */
u64 cgroup_id_of_self(void);

#endif
