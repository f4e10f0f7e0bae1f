/* The control group that a process is in. */
#ifndef PERF_CGROUP_H
#define PERF_CGROUP_H

#include "abi/types.h"

/*
 * PERF_SAMPLE_CGROUP's id of the caller's group in the unified hierarchy: its directory's inode number; 1, the root's,
 * if that cannot be found.
 */
u64 cgroup_id_of_self(void);

#endif
