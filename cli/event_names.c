/* See event_names.h. */
#include <linux/perf_event.h>
#include <string.h>
#include "cli/event_names.h"

const struct event_row event_rows[] = {
#define EVENT(name, alias, type, config, class, source, text)                                                          \
	{name,                                                                                                         \
	 alias,                                                                                                        \
	 type,                                                                                                         \
	 config,                                                                                                       \
	 class,                                                                                                        \
	 text,                                                                                                         \
	 (u32)type == PERF_TYPE_SOFTWARE &&                                                                            \
		 ((u64)config == PERF_COUNT_SW_CPU_CLOCK || (u64)config == PERF_COUNT_SW_TASK_CLOCK)},
#include "pmu/events.def"
#undef EVENT
};

const size_t event_nr_rows = ARRAY_SIZE(event_rows);

const struct event_row *event_name_find(const char *name, bool raw)
{
	for (size_t i = 0; i < event_nr_rows; i++) {
		const struct event_row *r = &event_rows[i];

		if ((!raw || r->type == PERF_TYPE_RAW) &&
		    (!strcmp(r->name, name) || (r->alias && !strcmp(r->alias, name))))
			return r;
	}
	return NULL;
}

const struct event_row *event_name_of(u32 type, u64 config)
{
	for (size_t i = 0; i < event_nr_rows; i++)
		if (event_rows[i].type == type && event_rows[i].config == config)
			return &event_rows[i];
	return NULL;
}

#define NO_CACHES "pcl has no model of caches"
#define NO_TLB	  "pcl has no model of TLBs"

/* perf's generic names, by how they begin. Those that pmu/events.def has are found there first. */
static const struct {
	const char *prefix, *why;
} missing[] = {
	{"branch-misses", "pcl has no model of branch prediction"},
	{"branch-load", "pcl has no model of branch prediction"},
	{"cache-references", NO_CACHES},
	{"cache-misses", NO_CACHES},
	{"L1-", NO_CACHES},
	{"l1d", NO_CACHES},
	{"LLC-", NO_CACHES},
	{"node-", NO_CACHES},
	{"dTLB-", NO_TLB},
	{"iTLB-", NO_TLB},
	{"stalled-cycles-", "pcl's cycles come from a model without stalls"},
	{"idle-cycles-", "pcl's cycles come from a model without stalls"},
	{"cgroup-switches", "pcl cannot see the switches of a CPU"},
	{"bpf-output", "pcl has no BPF"},
	{"duration_time", "the elapsed time is always shown"},
	{"user_time", "take task-clock"},
	{"system_time", "take task-clock"},
};

const char *event_name_missing(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		if (!strncmp(name, missing[i].prefix, strlen(missing[i].prefix)))
			return missing[i].why;
	return NULL;
}

void event_names_offer(struct nearest *n)
{
	for (size_t i = 0; i < event_nr_rows; i++) {
		nearest_try(n, event_rows[i].name);
		if (event_rows[i].alias)
			nearest_try(n, event_rows[i].alias);
	}
}
