/* Tracepoints of Linux's that tools ask for and that the session does not have: see tracefs.h. */
#include "pmu/tracefs.h"
#include "rt/string.h"

#define IN_KERNEL " happens inside the kernel, where pcl does not see it"

static const struct {
	const char *path, *why;
} missing[] = {
#define MISSING(group, name, text) {"/events/" #group "/" #name "/", #group ":" #name text}
	MISSING(sched, sched_switch, IN_KERNEL),
	MISSING(sched, sched_wakeup, IN_KERNEL),
	MISSING(sched, sched_wakeup_new, IN_KERNEL),
	MISSING(sched, sched_waking, IN_KERNEL),
	MISSING(sched, sched_migrate_task, IN_KERNEL),
	MISSING(sched, sched_stat_blocked, IN_KERNEL),
	MISSING(sched, sched_stat_iowait, IN_KERNEL),
	MISSING(sched, sched_stat_runtime, IN_KERNEL),
	MISSING(sched, sched_stat_sleep, IN_KERNEL),
	MISSING(sched, sched_stat_wait, IN_KERNEL),
	MISSING(sched, sched_process_free, IN_KERNEL),
	MISSING(sched, sched_process_wait, IN_KERNEL),
	MISSING(signal, signal_generate, IN_KERNEL),
	MISSING(exceptions, page_fault_kernel, IN_KERNEL),
#undef MISSING
};

const char *tracefs_missing(const char *path)
{
	const char *at = strstr(path, "/events/");

	for (size_t i = 0; at && tracefs_has(path) && i < ARRAY_SIZE(missing); i++)
		if (!strncmp(at, missing[i].path, strlen(missing[i].path)))
			return missing[i].why;
	return NULL;
}
