/* The drivers: which attrs they take, which they refuse with what, and what their sources read. */
#include "cpu/bank.h"
#include "tests/unit/pmu/fake.h"

static struct perf_attr attr_of(u32 type, u64 config)
{
	return (struct perf_attr){
		.type = type,
		.size = sizeof(struct perf_attr),
		.config = config,
		.exclude_kernel = 1,
	};
}

/* pmu_find: 0 or -errno. */
static int find(struct perf_attr a, const struct pmu **pmu, struct event_source *s)
{
	u32 nr;
	int err = pmu_find(&a, &nr, s);

	if (!err)
		*pmu = pmu_by_number(nr);
	return err;
}

static int try(struct perf_attr a)
{
	const struct pmu *pmu = NULL;
	struct event_source s;

	return find(a, &pmu, &s);
}

/* Every row of the table is taken by the driver of its type and reads its own source. */
static void test_every_row(void)
{
	for (u32 i = 0; i < pmu_nr_events; i++) {
		const struct pmu_event *row = &pmu_events[i];
		struct perf_attr a = attr_of(row->type, row->config);
		const struct pmu *pmu = NULL;
		struct event_source s;
		u64 before;

		a.exclude_kernel = row->type != PERF_TYPE_SOFTWARE;
		expect_long(find(a, &pmu, &s), 0);
		expect_long(pmu->type == PERF_TYPE_SOFTWARE, row->type == PERF_TYPE_SOFTWARE);
		before = pmu->read(1, s.source);
		if (row->type == PERF_TYPE_SOFTWARE) {
			fake_clock += 3;
			for (u32 c = 0; c < HOST_COUNTS; c++)
				fake_counts[c] += c + 10;
			expect_long(pmu->read(1, s.source) > before, row->source != SW_NEVER);
			expect_long(s.units, 0);
		} else {
			u32 cell = row->source == HW_BUS_CYCLES ? CELL_CYCLES : row->source;

			fake.bank.cell[cell] += 8;
			expect_long(pmu->read(1, s.source), before + 8);
			expect_long(s.units, cpu_want_bit((enum cell)cell));
			expect_long(s.shift, row->source == HW_BUS_CYCLES ? 7 : cell == CELL_CYCLES ? 2 : 0);
		}
	}
	expect(pmu_nr_events > 20);
}

static void test_software_sources(void)
{
	const struct pmu *pmu = NULL;
	struct event_source s;
	static const struct { u64 config; u64 value; } expected[] = {
		{PERF_COUNT_SW_CPU_CLOCK, 77}, {PERF_COUNT_SW_TASK_CLOCK, 77}, {PERF_COUNT_SW_PAGE_FAULTS, 11},
		{PERF_COUNT_SW_PAGE_FAULTS_MIN, 1}, {PERF_COUNT_SW_PAGE_FAULTS_MAJ, 10},
		{PERF_COUNT_SW_CONTEXT_SWITCHES, 100}, {PERF_COUNT_SW_CPU_MIGRATIONS, 1000}, {PERF_COUNT_SW_DUMMY, 0},
		{PERF_COUNT_SW_ALIGNMENT_FAULTS, 0}, {PERF_COUNT_SW_BPF_OUTPUT, 0},
	};

	fake_clock = 77;
	fake_mono = 55;
	fake_counts[HOST_FAULTS_MIN] = 1;
	fake_counts[HOST_FAULTS_MAJ] = 10;
	fake_counts[HOST_SWITCHES] = 100;
	fake_counts[HOST_MIGRATIONS] = 1000;
	for (u32 i = 0; i < ARRAY_SIZE(expected); i++) {
		struct perf_attr a = attr_of(PERF_TYPE_SOFTWARE, expected[i].config);

		a.exclude_kernel = 0;
		expect_long(find(a, &pmu, &s), 0);
		expect_long(pmu->read(1, s.source), expected[i].value);
		if (expected[i].config <= PERF_COUNT_SW_TASK_CLOCK)
			expect_long(pmu->read(0, s.source), 55); /* of a CPU */
	}
}

/* :u of what happens in the kernel counts nothing; :k of faults cannot be told. */
static void test_modes(void)
{
	struct perf_attr a = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	const struct pmu *pmu = NULL;
	struct event_source s;

	expect_long(find(a, &pmu, &s), 0);
	expect_long(pmu->read(1, s.source), 0);
	a.config = PERF_COUNT_SW_PAGE_FAULTS;
	expect_long(find(a, &pmu, &s), 0);
	expect(pmu->read(1, s.source) > 0);
	a.exclude_user = 1;
	expect_long(find(a, &pmu, &s), 0);
	expect_long(pmu->read(1, s.source), 0);
	a.exclude_kernel = 0;
	expect_long(try(a), -EOPNOTSUPP);
	a.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	expect_long(try(a), 0);
	a = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	a.exclude_user = 1;
	expect_long(find(a, &pmu, &s), 0);
	expect_long(pmu->read(1, s.source), 0);
	expect_long(s.units, 0);
	a.exclude_kernel = 0;
	expect_long(try(a), -EOPNOTSUPP);
}

static void test_refusals(void)
{
	struct perf_attr a;

	expect_long(try(attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES)), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_MAX)), -EINVAL);
	expect_long(try(attr_of(PERF_TYPE_HW_CACHE, 0)), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_NODE | 2 << 8 | 1 << 16)), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_MAX)), -EINVAL);
	expect_long(try(attr_of(PERF_TYPE_HW_CACHE, 0xff)), -EINVAL);
	expect_long(try(attr_of(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_OP_MAX << 8)), -EINVAL);
	expect_long(try(attr_of(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_RESULT_MAX << 16)), -EINVAL);
	expect_long(try(attr_of(PERF_TYPE_HW_CACHE, 1 << 24)), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_RAW, 0xc1)), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_RAW, 0x101)), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_TRACEPOINT, 1)), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_BREAKPOINT, 0)), -ENOENT);
	a = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES);
	expect_long(try(a), 0);
	a.exclude_kernel = 0;
	expect_long(try(a), -ENOENT);
	expect_long(try(attr_of(PERF_TYPE_SOFTWARE, 99)), -ENOENT);
	a = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	a.precise_ip = 1;
	expect_long(try(a), -EINVAL);
	a.precise_ip = 0;
	a.config1 = 2;
	expect_long(try(a), -EINVAL);
	a.config1 = 0;
	a.sample_type = PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY;
	expect_long(try(a), -EINVAL);
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | 1u << 19; /* COUNTERS */
	expect_long(try(a), -EINVAL);
	a.branch_sample_type = PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY;
	expect_long(try(a), -EOPNOTSUPP);
	a.type = PERF_TYPE_SOFTWARE;
	expect_long(try(a), -EOPNOTSUPP);
}

static u32 units_of(u64 branch_sample_type)
{
	struct perf_attr a = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	const struct pmu *pmu = NULL;
	struct event_source s;

	a.sample_period = 1;
	a.sample_type = branch_sample_type ? PERF_SAMPLE_BRANCH_STACK : 0;
	a.branch_sample_type = branch_sample_type;
	expect_long(find(a, &pmu, &s), 0);
	expect_long(s.units, CPU_WANT_BLOCKS);
	return s.sampling_units;
}

/* Only the kinds of branches that are asked for are noted. */
static void test_sampling_units(void)
{
	const struct pmu *pmu = NULL;
	struct event_source s;
	struct perf_attr a;

	expect_long(units_of(0), CPU_WANT_LIMITS);
	expect_long(units_of(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY), CPU_WANT_LIMITS | CPU_WANT_LBR);
	expect_long(units_of(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY_RETURN),
		    CPU_WANT_LIMITS | CPU_WANT_LBR_RET);
	expect_long(units_of(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_ANY_CALL),
		    CPU_WANT_LIMITS | CPU_WANT_LBR_COND | CPU_WANT_LBR_CALL | CPU_WANT_LBR_IND_CALL);
	expect_long(units_of(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK),
		    CPU_WANT_LIMITS | CPU_WANT_CALLS);
	a = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	a.config1 = 1;
	a.sample_type = PERF_SAMPLE_CALLCHAIN;
	expect_long(find(a, &pmu, &s), 0);
	expect_long(s.sampling_units, CPU_WANT_LIMITS | CPU_WANT_CALLS);
}

static void test_limits(void)
{
	const struct pmu *pmu = NULL;
	struct event_source s;

	find(attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), &pmu, &s);
	pmu->limit(1, &(struct pmu_limit){.source = s.source, .next = 5}, 1);
	expect(!fake.cpu.limits.far_apart);
	expect_long(fake.cpu.limits.at[CELL_CYCLES], cpu_read_cell(&fake.bank, CELL_CYCLES) + 5);
	expect_long(fake.cpu.limits.on, 1u << CELL_CYCLES);
	pmu->limit(1, NULL, 0);
	expect_long(fake.cpu.limits.on, 0);
}

static void test_want(void)
{
	const struct pmu *pmu = NULL;
	struct event_source s;
	u32 kicks = fake_kicks;

	find(attr_of(PERF_TYPE_HARDWARE, 0), &pmu, &s);
	pmu->want(1, CPU_WANT_CYCLES | CPU_WANT_KINDS);
	expect_long(fake.bank.want, CPU_WANT_CYCLES | CPU_WANT_KINDS);
	expect_long(fake_kicks, kicks + 1);
	pmu->want(1, 0);
	expect_long(fake.bank.want, 0);
}

int main(void)
{
	fake_session();
	expect(pmu_type_user_only(PERF_TYPE_HARDWARE) && pmu_type_user_only(PERF_TYPE_RAW));
	expect(!pmu_type_user_only(PERF_TYPE_SOFTWARE) && !pmu_type_user_only(99));
	test_every_row();
	test_software_sources();
	test_modes();
	test_refusals();
	test_sampling_units();
	test_limits();
	test_want();
	return unit_result();
}
