/*
 * Each task's share of what inherited events count. A task that ends leaves a READ record of each event
 * (attr.inherit_stat); names are those of family.h; the first task's share is what is left of the whole. Records are in
 * one ring for each CPU, so the events are bound to CPUs.
 * A task whose id another one had before it adds to that one's row.
 */
#ifndef CLI_TASKS_H
#define CLI_TASKS_H

#include <stdbool.h>
#include <sys/types.h>
#include "abi/types.h"
#include "cli/watcher.h"

struct task_share {
	pid_t pid, tid;
	char comm[16];
	u64 *count;   /* one for each event */
	pid_t parent; /* thread id, 0: the first */
};

struct tasks {
	struct task_share *task; /* [0] is the program's first */
	int nr;
	u64 lost;    /* records that found no room: their tasks' shares stand with the first task */

	/* private */
	int events, cpus;
	int *fd;     /* [cpu * events + event] */
	u64 *id;     /* of the same */
	void **ring; /* [cpu] */
};

/* For counting_watched(), with struct tasks as its argument. */
extern const struct watcher tasks_watcher;

/* All has been read: the first task gets what is left of total[], and each process the counts of its threads if
 * `processes`. */
void tasks_finish(struct tasks *t, const u64 *total, bool processes);

#endif
