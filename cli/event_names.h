/* The names of events, from pmu/events.def. */
#ifndef CLI_EVENT_NAMES_H
#define CLI_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include "abi/types.h"
#include "cli/nearest.h"

#define EXACT "exact"
#define MODELLED "modelled"
#define MEASURED "measured"
#define ESTIMATED "estimated" /* it had to wait for a counter (--counters) */
#define UNCOUNTED "uncounted" /* it has never had one */

struct event_row {
	const char *name, *alias; /* alias may be NULL */
	u32 type;
	u64 config;
	const char *class, *text;
	bool is_time; /* in ns */
};

extern const struct event_row event_rows[];
extern const size_t event_nr_rows;

/* By its name or alias; raw: only those of the cpu PMU. NULL: none. */
const struct event_row *event_name_find(const char *name, bool raw);
const struct event_row *event_name_of(u32 type, u64 config);

/* An event that perf knows and pcl cannot count: why. NULL: no such name. */
const char *event_name_missing(const char *name);

void event_names_offer(struct nearest *n);

#endif
