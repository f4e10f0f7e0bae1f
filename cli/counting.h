/*
 * Running a program with counters on it, for a process that is a guest itself: it is a client like any other, and what
 * it does is not counted. The events begin with the program's first instruction and include all threads and processes
 * that it starts.
 */
#ifndef CLI_COUNTING_H
#define CLI_COUNTING_H

#include <stdbool.h>
#include "abi/types.h"
#include "cli/spec.h"
#include "cli/tasks.h"
#include "cli/watcher.h"

struct reading {
	u64 count, enabled, running; /* times in ns */
};

struct run {
	struct reading *reading; /* one for each event */
	int status;		 /* as wait(2) gives it */
	u64 elapsed;		 /* ns; 0: not known, by a virtual clock */
	bool began;		 /* the program executed an instruction */
	int still_running;	 /* tasks that had not ended when the program had, -1: not known */
	int leavers;		 /* processes that gave up the session's user and were not counted any more */
	struct tasks tasks;	 /* with `shares` only */
};

/* Runs argv once with what a watcher opens; `arg` is the watcher's. Sets out's reading, status and elapsed, and returns
 * what counting_run() does. */
int counting_watched(struct specs *specs, char **argv, const struct watcher *by, void *arg, struct run *out);

/* Why an event was not counted at any time; NULL: it was. */
const char *counting_why_never(const struct run *run, int event);

/*
 * Runs argv once. Returns 0, or an exit status after a message: 125 if an event is refused (nothing was run then), 126
 * or 127 if the program cannot be run.
 */
int counting_run(struct specs *specs, char **argv, bool shares, struct run *out);

#endif
