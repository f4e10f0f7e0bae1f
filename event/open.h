/*
 * perf_event_open(2), all but the descriptor.
 *
 * event_open_begin() makes the checks that Linux makes before it looks for a free descriptor number; the caller
 * then makes the descriptor, and event_open_commit() makes all other checks, in Linux's order, and the event. Until
 * then nothing has an effect. Both without the event lock.
 */
#ifndef EVENT_OPEN_H
#define EVENT_OPEN_H

#include "abi/perf.h"
#include "event/cgroup.h"
#include "event/host.h"

struct event_request {
	struct perf_attr attr;
	u32 of_2009; /* EVENT_2009, ... */
	s32 pid, cpu, group_fd;
	u64 flags;	/* PERF_FLAG_* */
	int cgroup_err;	/* PERF_FLAG_PID_CGROUP: what host_cgroup() said, and the cgroup */
	struct event_cgroup cgroup;
	task_id caller;
};

int event_open_begin(gva uattr, s32 pid, s32 cpu, s32 group_fd, u64 flags, struct event_request *out);
/* The same of an attr that was made from the interface of 2009; of_2009: what event.of_2009 will be. */
int event_open_begin_2009(const struct perf_attr *attr, u32 of_2009, s32 pid, s32 cpu, s32 group_fd,
			  struct event_request *out);

/*
 * fd: the descriptor that the caller has made in its process, still unused; inode: a number of the file behind it that
 * no other file has, not 0. From 0 on it is an event; after an error the caller closes it.
 */
int event_open_commit(const struct event_request *r, u64 fd, u64 inode);

#endif
