/* The processors' own event numbers: what each processor counts, what it refuses and why, and that no number means two
 * things. */
#include "pmu/vendor.h"
#include "tests/unit/pmu/fake.h"

/* The cell, or -errno. */
static long counts(u32 processor, u64 config)
{
	u32 cell = CELL_NR;
	int err = vendor_find(processor, config, &cell);

	return err ? err : (long)cell;
}

static const char *reason(u32 processor, u64 config)
{
	refuse_slot()->why = "";
	expect_long(counts(processor, config), -ENOENT);
	return refuse_slot()->why;
}

/* As the vendors' manuals number them; format: event in bits 0-7 and 32-35, unit mask in 8-15. */
static void test_numbers(void)
{
	static const struct {
		u32 processor;
		u64 config;
		long cell;
	} known[] = {
		{PROCESSOR_ZEN1, 0xc0, CELL_INSTRUCTIONS}, {PROCESSOR_ZEN5, 0xc0, CELL_INSTRUCTIONS},
		{PROCESSOR_ZEN2, 0x76, CELL_CYCLES},	   {PROCESSOR_ZEN3, 0xc2, CELL_BRANCHES},
		{PROCESSOR_ZEN4, 0xc4, CELL_TAKEN},	   {PROCESSOR_ZEN5, 0xc8, CELL_RETURNS},
		{PROCESSOR_ZEN3, 0xcc, CELL_INDIRECT},	   {PROCESSOR_ZEN1, 0xcc, -ENOENT},
		{PROCESSOR_ZEN5, 0xd1, CELL_COND},	   {PROCESSOR_ZEN5, 0x3c, -ENOENT},
		{PROCESSOR_ZEN5, 0x1c0, -ENOENT},	   {PROCESSOR_ZEN5, 0x1000000c0, -ENOENT},
		{PROCESSOR_INTEL, 0x3c, CELL_CYCLES},	   {PROCESSOR_INTEL, 0xc0, CELL_INSTRUCTIONS},
		{PROCESSOR_INTEL, 0xc4, CELL_BRANCHES},	   {PROCESSOR_INTEL, 0x1c4, -ENOENT},
		{PROCESSOR_SKYLAKE, 0x1c4, CELL_COND},	   {PROCESSOR_ICELAKE, 0x1c4, -ENOENT},
		{PROCESSOR_ICELAKE, 0x11c4, CELL_COND},	   {PROCESSOR_ICELAKE, 0x80c4, CELL_INDIRECT},
		{PROCESSOR_SKYLAKE, 0x2c4, CELL_CALLS},	   {PROCESSOR_SKYLAKE, 0x8c4, CELL_RETURNS},
		{PROCESSOR_SKYLAKE, 0x20c4, CELL_TAKEN},   {PROCESSOR_SKYLAKE, 0x81d0, CELL_LOADS},
		{PROCESSOR_ICELAKE, 0x82d0, CELL_STORES},  {PROCESSOR_SANDYBRIDGE, 0x81d0, -ENOENT},
		{PROCESSOR_ATOM, 0x7ec4, CELL_COND},	   {PROCESSOR_ATOM, 0x82d0, -ENOENT},
		{PROCESSOR_INTEL, 0x300, CELL_CYCLES},
		{PROCESSOR_INTEL, 0x13c, HW_BUS_CYCLES},   {PROCESSOR_ZEN4, 0x100000120, CELL_CYCLES},
		{PROCESSOR_ZEN4, 0x100000020, -ENOENT},	   {PROCESSOR_INTEL, 0x76, -ENOENT},
		{PROCESSOR_INTEL, 0x1000000c0, -ENOENT},
	};

	for (u32 i = 0; i < ARRAY_SIZE(known); i++)
		expect_long(counts(known[i].processor, known[i].config), known[i].cell);
	expect_long(counts(PROCESSOR_NR, 0xc2), -ENOENT);
	expect_long(counts(~0u, 0xc2), -ENOENT);
	expect_long(counts(~0u, 0xc0), CELL_INSTRUCTIONS);
}

/* pcl's own numbers, old ones too, mean the same wherever the processor has no such event. */
static void test_own(void)
{
	for (u32 p = 0; p < PROCESSOR_NR; p++)
		for (u32 i = 0; i < pmu_nr_events; i++)
			if (pmu_events[i].type == PERF_TYPE_RAW)
				expect_long(counts(p, pmu_events[i].config), pmu_events[i].source);
	expect_long(counts(PROCESSOR_NONE, 0x01), CELL_INSTRUCTIONS);
	expect_long(counts(PROCESSOR_ZEN5, 0x01), CELL_INSTRUCTIONS);
	expect_str(reason(PROCESSOR_ZEN1, 0x01),
		   "the processor's fp_sched_empty needs a model of micro-operations and of the pipeline");
	expect_long(counts(PROCESSOR_NONE, 0x30), CELL_SYSCALLS);
	expect_long(counts(PROCESSOR_SKYLAKE, 0x30), CELL_SYSCALLS);
	expect_str(reason(PROCESSOR_ATOM, 0x30), "the processor's l2_reject_xq.all needs the model of caches");
}

static void test_reasons(void)
{
	expect_str(reason(PROCESSOR_ZEN5, 0xc3),
		   "the processor's ex_ret_brn_misp needs the model of branch prediction");
	expect_str(reason(PROCESSOR_ZEN5, 0xff60), "the processor's l2_request_g1 needs the model of caches");
	expect_str(reason(PROCESSOR_ZEN3, 0x729),
		   "the processor's ls_dispatch needs a model of micro-operations and of the pipeline");
	expect_str(reason(PROCESSOR_SKYLAKE, 0x412e), "the processor's longest_lat_cache needs the model of caches");
	expect_str(reason(PROCESSOR_SKYLAKE, 0x23c),
		   "the processor's cpu_clk_unhalted (of one kind) needs a model of what stops the clock");
	expect_str(reason(PROCESSOR_ZEN5, 0xfd),
		   "neither in pcl's table of this processor's events nor one of pcl's own: see pcl list");
	expect_str(reason(PROCESSOR_NONE, 0xc2), "not a raw event of pcl's cpu PMU: see pcl list");
}

/* The bits of the control register that are no part of the event's number. */
static void test_bits(void)
{
	static const char cycles[] = "edge, inv and cmask need a model that knows what happens in each cycle";

	expect_long(counts(PROCESSOR_ZEN5, 0x5300c0),
		    CELL_INSTRUCTIONS); /* usr, os, int, en: as Linux, not looked at */
	expect_str(reason(PROCESSOR_ZEN5, 0x10000c0), cycles);
	expect_str(reason(PROCESSOR_ZEN5, 0x8000c0), cycles);
	expect_str(reason(PROCESSOR_SKYLAKE, 0x400c0), cycles);
	expect_str(reason(PROCESSOR_SKYLAKE, 0x2000c0),
		   "config has a bit that is neither of the event nor of its unit mask");
	expect_str(reason(PROCESSOR_SKYLAKE, 1ul << 63 | 0xc0),
		   "config has a bit that is neither of the event nor of its unit mask");
}

/* No processor has two rows of one number, and a number that two processors count is of one class. */
static void test_tables(void)
{
	for (u32 i = 0; i < vendor_nr_events; i++) {
		const struct vendor_event *a = &vendor_events[i];

		expect(a->processors && !(a->processors >> PROCESSOR_NR) && !(a->processors & 1u << PROCESSOR_NONE));
		expect(a->why ? a->cell == CELL_NR : a->umask < 256 && (a->cell < CELL_NR || a->cell == HW_BUS_CYCLES));
		expect(a->event < (a->processors & INTELS ? 0x100 : 0x1000));
		for (u32 j = 0; j < i; j++) {
			const struct vendor_event *b = &vendor_events[j];

			if (a->event != b->event || a->umask != b->umask)
				continue;
			expect(!(a->processors & b->processors));
			expect(a->why || b->why || a->class == b->class);
		}
	}
	expect(vendor_nr_events > 150);
}

/* Of pcl's own numbers only that of instructions is a vendor's, and it means the same. */
static void test_collisions(void)
{
	for (u32 i = 0; i < pmu_nr_events; i++)
		for (u32 j = 0; pmu_events[i].type == PERF_TYPE_RAW && j < vendor_nr_events; j++)
			if (vendor_events[j].umask == 0 && vendor_events[j].event == pmu_events[i].config)
				expect_long(vendor_events[j].cell, pmu_events[i].source);
}

int main(void)
{
	test_numbers();
	test_own();
	test_reasons();
	test_bits();
	test_tables();
	test_collisions();
	return unit_result();
}
