/*
 * All hardware and cache events of the man page by name: what opens counts a known loop, what is refused is refused as
 * absent. A machine without a PMU has none of them; pcl has instructions, branches and cycles,
 * these at three rates.
 * covers for pcl: PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_COUNT_HW_*
 */
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define TURNS 100000

static const struct event {
	const char *name;
	u64 config;
	int counted; /* by pcl */
} events[] = {
	{"cycles", PERF_COUNT_HW_CPU_CYCLES, 1},
	{"instructions", PERF_COUNT_HW_INSTRUCTIONS, 1},
	{"cache-references", PERF_COUNT_HW_CACHE_REFERENCES, 0},
	{"cache-misses", PERF_COUNT_HW_CACHE_MISSES, 0},
	{"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1},
	{"branch-misses", PERF_COUNT_HW_BRANCH_MISSES, 0},
	{"bus-cycles", PERF_COUNT_HW_BUS_CYCLES, 1},
	{"stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 0},
	{"stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 0},
	{"ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES, 1},
};

static const u64 caches[] = {
	PERF_COUNT_HW_CACHE_L1D,  PERF_COUNT_HW_CACHE_L1I, PERF_COUNT_HW_CACHE_LL,   PERF_COUNT_HW_CACHE_DTLB,
	PERF_COUNT_HW_CACHE_ITLB, PERF_COUNT_HW_CACHE_BPU, PERF_COUNT_HW_CACHE_NODE,
};
static const u64 ops[] = {PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_OP_PREFETCH};
static const u64 results[] = {PERF_COUNT_HW_CACHE_RESULT_ACCESS, PERF_COUNT_HW_CACHE_RESULT_MISS};

static long open_event(u32 type, u64 config)
{
	struct perf_attr a = {.type = type, .size = sizeof(a), .config = config, .exclude_kernel = 1, .exclude_hv = 1};

	return perf_open(&a, 0, -1, -1, 0);
}

/* 2 instructions and 1 branch a turn. */
static void turn(long n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

static void test_counts(const struct event *e)
{
	long fd = open_event(PERF_TYPE_HARDWARE, e->config), from, to;

	if (fd < 0) {
		if (e->counted)
			printf("%s: %s\n", e->name, strerror((int)-fd));
		expect(fd, -ENOENT);
		expect(e->counted, 0);
		return;
	}
	turn(TURNS);
	from = perf_value(fd);
	turn(2 * TURNS);
	to = perf_value(fd);
	close((int)fd);
	if (e->config == PERF_COUNT_HW_INSTRUCTIONS || e->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS) {
		long per_turn = e->config == PERF_COUNT_HW_INSTRUCTIONS ? 2 : 1;

		expect((to - from) / 100, 2 * TURNS * per_turn / 100); /* and the call of read(2) */
	} else if (e->counted) {
		expect(to - from > TURNS / 100, 1);
	}
}

/* pcl's rates: doc/model.md. They are asked together, so that all three are of the same instructions. */
static void test_rates(void)
{
	struct perf_attr a = {.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = PERF_COUNT_HW_CPU_CYCLES};
	u64 v[4] = {0};
	long leader;

	a.exclude_kernel = a.exclude_hv = 1;
	a.read_format = PERF_FORMAT_GROUP;
	leader = perf_open(&a, 0, -1, -1, 0);
	a.config = PERF_COUNT_HW_REF_CPU_CYCLES;
	if (perf_open(&a, 0, -1, (int)leader, 0) < 0)
		return; /* a PMU with no such counter */
	a.config = PERF_COUNT_HW_BUS_CYCLES;
	if (perf_open(&a, 0, -1, (int)leader, 0) < 0)
		return;
	perf_ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	turn(TURNS);
	expect(read((int)leader, v, sizeof(v)), sizeof(v));
	if (!v[1] || v[1] / 20 < v[3])
		return; /* not pcl's */
	expect(v[2] > v[1] - 200 && v[2] < v[1] + 200, 1); /* they were opened one after the other */
	expect(v[3] > v[1] / 32 - 10 && v[3] < v[1] / 32 + 10, 1);
}

/* One for each period, at any rate. */
static void test_samples(u64 config)
{
	struct perf_attr a = {.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = config, .sample_period = 100};
	u64 samples = 0, head;
	struct perf_event_mmap_page *p;
	long fd;

	a.exclude_kernel = a.exclude_hv = a.disabled = 1;
	a.sample_type = PERF_SAMPLE_IP;
	fd = perf_open(&a, 0, -1, -1, 0);
	if (fd < 0)
		return;
	p = mmap(NULL, 65 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(p != MAP_FAILED, 1);
	perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	turn(TURNS);
	perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	head = p->data_head;
	for (u64 at = 0; at < head; at += ((struct perf_event_header *)((char *)p + 4096 + at))->size)
		samples += ((struct perf_event_header *)((char *)p + 4096 + at))->type == PERF_RECORD_SAMPLE;
	expect(samples >= (u64)perf_value(fd) / 100 - 1 && samples <= (u64)perf_value(fd) / 100, 1);
	expect(samples > 10, 1);
	munmap(p, 65 * 4096);
	close((int)fd);
}

static void test_caches(void)
{
	for (unsigned c = 0; c < ARRAY_SIZE(caches); c++)
		for (unsigned o = 0; o < ARRAY_SIZE(ops); o++)
			for (unsigned r = 0; r < ARRAY_SIZE(results); r++) {
				long fd = open_event(PERF_TYPE_HW_CACHE, caches[c] | ops[o] << 8 | results[r] << 16);

				expect(fd >= 0 || fd == -ENOENT || fd == -EINVAL, 1);
				if (fd >= 0)
					close((int)fd);
			}
	expect(open_event(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_MAX), -EINVAL);
	expect(open_event(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_OP_MAX << 8), -EINVAL);
	expect(open_event(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_RESULT_MAX << 16), -EINVAL);
	expect(open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_MAX), -EINVAL);
}

int main(void)
{
	long fd = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	if (fd < 0) {
		expect(fd, -ENOENT);
		expect(open_event(PERF_TYPE_HW_CACHE, 0), -ENOENT);
		printf("no hardware events here\n");
		return failures ? 1 : 77;
	}
	close((int)fd);
	for (unsigned i = 0; i < ARRAY_SIZE(events); i++)
		test_counts(&events[i]);
	test_rates();
	test_samples(PERF_COUNT_HW_REF_CPU_CYCLES);
	test_samples(PERF_COUNT_HW_BUS_CYCLES);
	test_caches();
	return perf_result();
}
