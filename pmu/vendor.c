/* See vendor.h. */
#include "pmu/vendor.h"

#include <asm-generic/errno.h>
#include "rt/refuse.h"

/* What is missing, behind the event's name. */
#define WHY_CACHES     " needs the model of caches"
#define WHY_TLBS       " needs the model of TLBs"
#define WHY_PREDICTION " needs the model of branch prediction"
#define WHY_PIPELINE   " needs a model of micro-operations and of the pipeline"
#define WHY_CLOCK      " needs a model of what stops the clock"
#define WHY_COUNTER    " is not counted: translated code has no counter of this"
#define WHY_KERNEL     " counts entries to the kernel, which pcl does not see all"

#define ANY VENDOR_ANY_UMASK

const struct vendor_event vendor_events[] = {
#define COUNTED(processors, event, umask, name, class, cell, differs)                                                  \
	{processors, event, umask, name, NULL, class, cell, differs},
#define NEEDS(processors, event, umask, name, what)                                                                    \
	{processors, event, umask, name, "the processor's " name WHY_##what, EXACT, CELL_NR, ""},
#include "pmu/vendor_amd.def"
#include "pmu/vendor_intel.def"
#undef COUNTED
#undef NEEDS
};

const u32 vendor_nr_events = ARRAY_SIZE(vendor_events);

/* PERF_CTL and IA32_PERFEVTSELx. Linux quirk: these come from the attr's exclude_*, whatever config says
 * (x86_pmu_hw_config()). */
#define CTL_USR	    (1ul << 16)
#define CTL_OS	    (1ul << 17)
#define CTL_INT	    (1ul << 20)
#define CTL_EN	    (1ul << 22)
#define CTL_IGNORED (CTL_USR | CTL_OS | CTL_INT | CTL_EN)

#define CTL_EDGE  (1ul << 18)
#define CTL_INV	  (1ul << 23)
#define CTL_CMASK (0xfful << 24)

#define EVENT_LOW  0xfful
#define EVENT_HIGH (0xful << 32) /* AMD's bits 8 to 11 */
#define UMASK	   (0xfful << 8)

static bool is_of(u32 processor, u32 set)
{
	return processor < PROCESSOR_NR && (set >> processor & 1);
}

bool vendor_is_amd(u32 processor)
{
	return is_of(processor, ZENS);
}

bool vendor_is_intel(u32 processor)
{
	return is_of(processor, INTELS);
}

u64 vendor_config(const struct vendor_event *e)
{
	u64 umask = e->umask == ANY ? 0 : e->umask;

	return (e->event & EVENT_LOW) | (u64)(e->event >> 8) << 32 | umask << 8;
}

static const struct vendor_event *find_row(u32 processor, u32 event, u32 umask)
{
	for (u32 i = 0; i < vendor_nr_events; i++)
		if (is_of(processor, vendor_events[i].processors) && vendor_events[i].event == event &&
		    vendor_events[i].umask == umask)
			return &vendor_events[i];
	return NULL;
}

static const struct pmu_event *find_own(u64 config)
{
	for (u32 i = 0; i < pmu_nr_events; i++) {
		const struct pmu_event *e = &pmu_events[i];

		if (e->type != PERF_TYPE_RAW)
			continue;
		if (e->config == config || (config == VENDOR_OLD_INSTRUCTIONS && e->source == CELL_INSTRUCTIONS) ||
		    (config == VENDOR_OLD_SYSCALLS && e->source == CELL_SYSCALLS))
			return e;
	}
	return NULL;
}

static int check_bits(u32 processor, u64 config)
{
	u64 known = EVENT_LOW | UMASK | (vendor_is_intel(processor) ? 0 : EVENT_HIGH);

	if (config & (CTL_EDGE | CTL_INV | CTL_CMASK))
		return refuse(ENOENT, "edge, inv and cmask need a model that knows what happens in each cycle");
	if (config & ~known)
		return refuse(ENOENT, "config has a bit that is neither of the event nor of its unit mask");
	return 0;
}

int vendor_find(u32 processor, u64 config, u32 *cell)
{
	u64 word = config & ~CTL_IGNORED;
	u32 event = (u32)((word & EVENT_LOW) | (word & EVENT_HIGH) >> 24), umask = (u32)(word & UMASK) >> 8;
	const struct vendor_event *row = find_row(processor, event, umask);
	const struct pmu_event *own = row ? NULL : find_own(word);
	int err = check_bits(processor, word);

	if (err)
		return err;
	if (!row && !own)
		row = find_row(processor, event, ANY);
	if (!row && !own)
		return processor == PROCESSOR_NONE ? refuse(ENOENT, "not a raw event of pcl's cpu PMU: see pcl list")
						   : refuse(ENOENT, "neither in pcl's table of this processor's events "
								    "nor one of pcl's own: see pcl list");
	if (row && row->why)
		return refuse(ENOENT, row->why);
	*cell = row ? (u32)row->cell : own->source;
	return 0;
}

u64 vendor_generic(u32 processor, enum cell c)
{
	if (c > CELL_CYCLES)
		return 0;
	for (u32 i = 0; i < vendor_nr_events; i++)
		if (is_of(processor, vendor_events[i].processors) && !vendor_events[i].why &&
		    vendor_events[i].cell == c)
			return vendor_config(&vendor_events[i]);
	return 0;
}
