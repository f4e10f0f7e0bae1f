/*
 * What only some hardware can tell of a sample is said to be unknown, and nothing else: the parts of data_src, the
 * transaction, the weight, and the bits of branches. Of a breakpoint, which every kernel has, and of
 * pcl's instructions.
 * covers: PERF_MEM_*, PERF_TXN_*, PERF_RECORD_SAMPLE.mem_*, PERF_RECORD_SAMPLE.mispred, PERF_RECORD_SAMPLE.predicted,
 * PERF_RECORD_SAMPLE.in_tx, PERF_RECORD_SAMPLE.abort, PERF_RECORD_SAMPLE.cycles, PERF_RECORD_SAMPLE.weight,
 * PERF_RECORD_MISC_CPUMODE_*, PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_HYPERVISOR, PERF_RECORD_MISC_GUEST_*,
 * PERF_RECORD_MISC_EXT_RESERVED, PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT
 */
#include "tests/abi/breakpoint.h"

/* PERF_SAMPLE_ADDR, BRANCH_STACK of hardware, WEIGHT, DATA_SRC, TRANSACTION. */
#define FIELDS (PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION)

static volatile long word;

static const u64 never_levels[] = {
	PERF_MEM_LVL_HIT,      PERF_MEM_LVL_MISS,     PERF_MEM_LVL_L1,	     PERF_MEM_LVL_LFB,
	PERF_MEM_LVL_L2,       PERF_MEM_LVL_L3,	      PERF_MEM_LVL_LOC_RAM,  PERF_MEM_LVL_REM_RAM1,
	PERF_MEM_LVL_REM_RAM2, PERF_MEM_LVL_REM_CCE1, PERF_MEM_LVL_REM_CCE2, PERF_MEM_LVL_IO,
	PERF_MEM_LVL_UNC,
};
static const u64 never_snooped[] = {PERF_MEM_SNOOP_NONE, PERF_MEM_SNOOP_HIT, PERF_MEM_SNOOP_MISS, PERF_MEM_SNOOP_HITM};
static const u64 never_tlb[] = {PERF_MEM_TLB_HIT, PERF_MEM_TLB_MISS, PERF_MEM_TLB_L1,
				PERF_MEM_TLB_L2,  PERF_MEM_TLB_WK,   PERF_MEM_TLB_OS};
static const u64 never_aborted[] = {
	PERF_TXN_ELISION, PERF_TXN_TRANSACTION, PERF_TXN_SYNC,		 PERF_TXN_ASYNC,
	PERF_TXN_RETRY,	  PERF_TXN_CONFLICT,	PERF_TXN_CAPACITY_WRITE, PERF_TXN_CAPACITY_READ,
};

static void expect_none(u64 value, const u64 *never, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		expect(value & never[i], 0);
}

static void check_source(u64 value, int hardware)
{
	union perf_mem_data_src src = {.val = value};

	if (!hardware) {
		expect(src.mem_op, PERF_MEM_OP_NA);
	} else {
		expect(src.mem_op & (PERF_MEM_OP_PFETCH | PERF_MEM_OP_EXEC), 0);
		expect((src.mem_op & PERF_MEM_OP_LOAD) && (src.mem_op & PERF_MEM_OP_STORE), 0);
	}
	expect(src.mem_lvl, PERF_MEM_LVL_NA);
	expect(src.mem_snoop, PERF_MEM_SNOOP_NA);
	expect(src.mem_lock, PERF_MEM_LOCK_NA);
	expect(src.mem_lock & PERF_MEM_LOCK_LOCKED, 0);
	expect(src.mem_dtlb, PERF_MEM_TLB_NA);
	expect_none(value >> PERF_MEM_LVL_SHIFT, never_levels, ARRAY_SIZE(never_levels));
	expect_none(value >> PERF_MEM_SNOOP_SHIFT & 0x1f, never_snooped, ARRAY_SIZE(never_snooped));
	expect_none(value >> PERF_MEM_TLB_SHIFT & 0x7f, never_tlb, ARRAY_SIZE(never_tlb));
	expect(value >> PERF_MEM_LOCK_SHIFT & 3, PERF_MEM_LOCK_NA);
}

static void check_branches(const struct perf_branch_entry *b, u64 n)
{
	for (u64 i = 0; i < n; i++)
		expect(b[i].mispred | b[i].predicted | b[i].in_tx | b[i].abort | b[i].cycles, 0);
}

/* In user mode, on no virtual machine's behalf; the last two bits nobody sets. */
static void check_misc(unsigned misc)
{
	static const unsigned never[] = {PERF_RECORD_MISC_CPUMODE_UNKNOWN, PERF_RECORD_MISC_KERNEL,
					 PERF_RECORD_MISC_HYPERVISOR, PERF_RECORD_MISC_GUEST_KERNEL,
					 PERF_RECORD_MISC_GUEST_USER};

	for (unsigned i = 0; i < ARRAY_SIZE(never); i++)
		expect((misc & PERF_RECORD_MISC_CPUMODE_MASK) == never[i], 0);
	expect(misc & (PERF_RECORD_MISC_EXT_RESERVED | PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT), 0);
}

static u64 check_sample(const u64 *w, int hardware)
{
	u64 branches = hardware ? w[1] : 0;

	if (hardware) {
		check_branches((const void *)&w[2], branches);
		w += 1 + 3 * branches;
	}
	expect(w[1], 0); /* weight */
	check_source(w[2], hardware);
	expect_none(w[3], never_aborted, ARRAY_SIZE(never_aborted));
	expect(w[3] & PERF_TXN_ABORT_MASK, 0);
	expect(w[3] >> PERF_TXN_ABORT_SHIFT, 0);
	return branches;
}

static void test_event(struct perf_attr a, int hardware)
{
	u64 at = 0, samples = 0, branches = 0;
	struct bp_ring r = bp_ring_open(&a);

	expect(r.fd >= 0, 1);
	for (volatile int i = 0; i < 5; i++)
		word = i;
	perf_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (at < r.page->data_head && at < BP_RING) {
		const struct perf_event_header *h = (const void *)((char *)r.page + 4096 + at);

		at += h->size;
		check_misc(h->misc);
		if (h->type == PERF_RECORD_SAMPLE && at <= BP_RING) {
			samples++;
			branches += check_sample((const u64 *)(h + 1), hardware);
		}
	}
	expect(samples >= 5, 1);
	expect(branches > 0, hardware);
	bp_ring_close(&r);
}

/* Processors know better. */
static int is_pcl(void)
{
	char name[8] = "";
	int fd = open("/sys/bus/event_source/devices/cpu/caps/pmu_name", O_RDONLY);
	long n = read(fd, name, sizeof(name) - 1);

	close(fd);
	return n > 0 && !strcmp(name, "pcl\n");
}

int main(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &word, 8);

	bp_skip_without();
	a.sample_period = 1;
	a.sample_type = FIELDS;
	test_event(a, 0);
	a.type = PERF_TYPE_HARDWARE;
	a.config = PERF_COUNT_HW_INSTRUCTIONS;
	a.bp_addr = a.bp_len = a.bp_type = 0;
	a.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	if (is_pcl())
		test_event(a, 1);
	return perf_result();
}
