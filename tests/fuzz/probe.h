/* Events of places in this program: breakpoints, and probes where there are any. */
#ifndef TESTS_FUZZ_PROBE_H
#define TESTS_FUZZ_PROBE_H

#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/fuzz/work.h"

static struct {
	int type; /* 0: no such PMU, or not found */
	char path[PATH_MAX];
	uint64_t offset;
} probe;

/* The file that recurse() is mapped from, and where it is there. Not every kernel answers the same of probes. */
static void probe_find(void)
{
	uintptr_t addr = (uintptr_t)recurse;
	FILE *maps = fopen("/proc/self/maps", "r"), *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	unsigned long start, end, offset;
	char line[PATH_MAX + 100];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &start, &end, &offset, probe.path) < 4 ||
		    addr < start || addr >= end || getenv("FUZZ_RESULTS"))
			continue;
		probe.offset = addr - start + offset;
		if (!type || fscanf(type, "%d", &probe.type) != 1)
			probe.type = 0;
	}
	if (maps)
		fclose(maps);
	if (type)
		fclose(type);
}

/* Of the session's tracefs, where there is one; 0: not found. */
#define TRACEPOINTS 8
static uint64_t tracepoint_ids[TRACEPOINTS];

static void tracepoints_find(void)
{
	static const char *const names[TRACEPOINTS] = {
		"sched/sched_process_fork",   "sched/sched_process_exit", "sched/sched_process_exec",
		"task/task_newtask",	      "signal/signal_deliver",	  "syscalls/sys_enter_getppid",
		"exceptions/page_fault_user", "raw_syscalls/sys_exit"};
	char path[100];

	for (int i = 0; i < TRACEPOINTS && !getenv("FUZZ_RESULTS"); i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", names[i]);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%lu", &tracepoint_ids[i]) != 1)
			tracepoint_ids[i] = 0;
		fclose(f);
	}
}

static void place_attr(struct perf_event_attr *a, uint32_t what)
{
	a->type = PERF_TYPE_BREAKPOINT;
	a->bp_type = what % 3 == 0 ? HW_BREAKPOINT_X : what % 3 == 1 ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
	a->bp_addr = a->bp_type == HW_BREAKPOINT_X ? (uintptr_t)recurse : (uintptr_t)&watched;
	a->bp_len = a->bp_type == HW_BREAKPOINT_X ? sizeof(long) : 1u << what / 3 % 4;
	if (a->bp_type != HW_BREAKPOINT_X || what / 3 % 2 == 0 || !probe.type)
		return;
	a->type = (uint32_t)probe.type;
	a->bp_type = 0;
	a->config = what / 6 % 2; /* of returns */
	a->config1 = (uintptr_t)probe.path;
	a->config2 = probe.offset;
}

#endif
