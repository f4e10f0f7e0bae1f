/*
 * The `uprobe` PMU: an event is hit when a place in a file is executed, or when the function that begins there returns.
 *
 *   config bit 0 (retprobe), bits 32 to 63 (ref_ctr_offset)      uprobe_path (config1), probe_offset (config2)
 *
 * Under the event lock nobody reads paths. So perf/uprobe_file.c looks for the file first, and puts into the copied
 * attr, instead of uprobe_path, what uprobe_pmu_file() and uprobe_pmu_no_file() make of that.
 */
#ifndef PMU_UPROBE_H
#define PMU_UPROBE_H

#include "abi/perf.h"

#define PMU_TYPE_UPROBE 8 /* what Linux gives it, without kprobes */

/* The event is about this file. */
static inline void uprobe_pmu_file(struct perf_attr *attr, u64 dev, u64 ino)
{
	attr->config1 = ino;
	attr->config3 = dev;
}

/* There is none, and why: -errno. */
static inline void uprobe_pmu_no_file(struct perf_attr *attr, int err)
{
	attr->config1 = 0;
	attr->config3 = (u64)err;
}

/* Root, CAP_PERFMON, or a session whose perf_event_paranoid is -1: not Linux's, see doc/linux-quirks.md. */
bool uprobe_allowed(void);

#endif
