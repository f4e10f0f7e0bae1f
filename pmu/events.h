/* The table of events: events.def as data. */
#ifndef PMU_EVENTS_H
#define PMU_EVENTS_H

#include "abi/perf.h"
#include "cpu/cpu.h"

enum pmu_class { EXACT, MODELLED, MEASURED };

/* What the hardware PMU counts besides the cells: CELL_CYCLES, in cycles of the bus. */
enum { HW_BUS_CYCLES = CELL_NR + 1, HW_NO_MODEL };

/*
 * Sources of the software PMU. Those of page faults that are seen one by one (perf/faults.h) have one of SW_SEEN*
 * added; they are for event_trace(), where no tracepoint and no probe has such a number.
 */
enum pmu_sw_source { SW_CLOCK, SW_FAULTS, SW_FAULTS_MIN, SW_FAULTS_MAJ, SW_SWITCHES, SW_MIGRATIONS, SW_NEVER };
enum { SW_SEEN = 0xf0000000u, SW_SEEN_KERNEL = 0xf8000000u }; /* the kernel's besides */

struct pmu_event {
	const char *name, *alias; /* alias may be NULL */
	u32 type;
	u64 config;
	enum pmu_class class;
	u32 source;
	const char *text;
};

extern const struct pmu_event pmu_events[];
extern const u32 pmu_nr_events;

/* NULL: none. */
const struct pmu_event *pmu_event_find(u32 type, u64 config);

#endif
