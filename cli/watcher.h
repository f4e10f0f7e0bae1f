/*
 * A way of counting a program, which a run is told of: how its events are opened, and what is read of them meanwhile
 * and at the end. What it tells of parts of the program cannot be estimated, so such events are pinned: they have their
 * counters all the time or never.
 */
#ifndef CLI_WATCHER_H
#define CLI_WATCHER_H

#include <sys/types.h>
#include "abi/types.h"
#include "cli/spec.h"

struct watcher {
	/* Opens the events on the process, to be enabled by its execve. Returns 0, or an errno with *refused set to the
	 * event. */
	int (*open)(void *arg, struct specs *specs, pid_t pid, int *refused);
	/* Reads what has been written; from time to time while the program runs, and once when it has ended. May be
	 * NULL. */
	void (*drain)(void *arg);
	/* One event: count, times enabled and running. 0 or -1. */
	int (*read)(void *arg, int event, u64 value[3]);
	/* In the end, whether open() succeeded or not. May be NULL. */
	void (*close)(void *arg);
	/* FORK, EXIT and COMM records of all tasks, from the first instruction on. May be NULL. */
	void (*see)(void *arg, void *record);
};

#endif
