/*
 * The processors' own event encodings: pmu/processors.def, pmu/vendor_amd.def and pmu/vendor_intel.def as data.
 *
 * A config of PERF_TYPE_RAW is looked up in this order, so that no number of the vendor's is ever taken for one of
 * pcl's:
 *
 *   1. the processor's rows of exactly this event and unit mask
 *   2. pcl's own raw events (pmu/events.def), and the numbers that these had before: VENDOR_OLD_*
 *   3. the processor's rows of this event and any unit mask
 *
 * Which processor it is the session's launcher finds (cli/processor.c) and says in event_space->processor. No state
 * here.
 */
#ifndef PMU_VENDOR_H
#define PMU_VENDOR_H

#include "pmu/events.h"

enum pmu_processor {
#define PROCESSOR(id, name, text) PROCESSOR_##id,
#define MODELS(id, vendor, family, first, last)
#include "pmu/processors.def"
#undef PROCESSOR
#undef MODELS
	PROCESSOR_NR,
};

/* What pmu/events.def has moved since: instructions and syscall_instructions. In force where the processor has no such
 * event. */
#define VENDOR_OLD_INSTRUCTIONS 0x01u
#define VENDOR_OLD_SYSCALLS	0x30u

#define VENDOR_ANY_UMASK 0x100u

struct vendor_event {
	u32 processors; /* bit per enum pmu_processor */
	u16 event, umask;
	const char *name, *why; /* why it is refused; NULL: it is counted, */
	enum pmu_class class;
	u32 cell; /* enum cell, or HW_BUS_CYCLES */
	const char *differs; /* from the vendor's definition; "": in nothing */
};

extern const struct vendor_event vendor_events[];
extern const u32 vendor_nr_events;

bool vendor_is_amd(u32 processor);
bool vendor_is_intel(u32 processor);

/* A row's config, as the vendor's `format` has it. */
u64 vendor_config(const struct vendor_event *e);

/*
 * The cell (or HW_BUS_CYCLES) that a raw config counts on a processor. 0, or -ENOENT, with the reason. A processor that
 * there is not is PROCESSOR_NONE.
 */
int vendor_find(u32 processor, u64 config, u32 *cell);

/* The processor's number for a cell that the kernel's driver for it has a name for (instructions, branches, cycles). 0:
 * none. */
u64 vendor_generic(u32 processor, enum cell c);

#endif
