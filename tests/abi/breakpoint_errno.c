/*
 * What x86 Linux refuses of attr.bp_type, bp_addr and bp_len, and with which errno; nothing is left open by a refusal.
 * covers: HW_BREAKPOINT_*, attr.bp_*
 */
#include <time.h>
#include "tests/abi/breakpoint.h"

static _Alignas(4096) char buf[8192];

static const struct {
	u32 type;
	long off;
	u64 len;
	int err;
} places[] = {
	{HW_BREAKPOINT_EMPTY, 0, 1, EINVAL},
	{HW_BREAKPOINT_R, 0, 1, EINVAL}, /* the processor cannot watch reads alone */
	{HW_BREAKPOINT_R, 0, 8, EINVAL},
	{HW_BREAKPOINT_W, 0, 1, 0},
	{HW_BREAKPOINT_W, 1, 1, 0},
	{HW_BREAKPOINT_W, 1, 2, EINVAL},
	{HW_BREAKPOINT_W, 2, 2, 0},
	{HW_BREAKPOINT_W, 2, 4, EINVAL},
	{HW_BREAKPOINT_W, 4, 4, 0},
	{HW_BREAKPOINT_W, 4, 8, EINVAL},
	{HW_BREAKPOINT_W, 8, 8, 0},
	{HW_BREAKPOINT_W, 0, 0, EINVAL},
	{HW_BREAKPOINT_W, 0, 3, EINVAL},
	{HW_BREAKPOINT_W, 8, 16, EINVAL},
	{HW_BREAKPOINT_RW, 3, 1, 0},
	{HW_BREAKPOINT_RW, 8, 8, 0},
	{HW_BREAKPOINT_X, 0, 8, 0},
	{HW_BREAKPOINT_X, 1, 8, 0},
	{HW_BREAKPOINT_X, 0, 1, EINVAL},
	{HW_BREAKPOINT_X, 0, 4, EINVAL},
	{HW_BREAKPOINT_X, 0, 0, EINVAL},
	{HW_BREAKPOINT_X | HW_BREAKPOINT_R, 0, 8, EINVAL},
	{HW_BREAKPOINT_X | HW_BREAKPOINT_W, 0, 8, EINVAL},
	{HW_BREAKPOINT_INVALID, 0, 8, EINVAL},
	{8, 0, 8, EINVAL},
};

static const u64 kernel_addresses[] = {0x7ffffffff000, 0x800000000000, 0xffff888000000000, 0xfffffffffffffff8};

static void refused_with(int err, struct perf_attr a)
{
	expect(perf_try(a, 0, -1, -1, 0), -err);
}

static void other_fields(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, buf, 8), b = a;

	a.sample_type = PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	refused_with(EOPNOTSUPP, a);
	a.bp_type = HW_BREAKPOINT_EMPTY; /* is looked at later */
	refused_with(EOPNOTSUPP, a);
	b.config = 77;
	b.precise_ip = 2;
	b.sample_period = 1;
	refused_with(0, b);
	b.use_clockid = 1;
	b.clockid = CLOCK_MONOTONIC;
	refused_with(0, b);
	b.clockid = CLOCK_REALTIME;
	refused_with(EINVAL, b);
}

static void in_groups(void)
{
	struct perf_attr sw = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS), bp = bp_attr(HW_BREAKPOINT_W, buf, 8);
	long leader = perf_open(&sw, 0, -1, -1, 0), fd;

	expect(perf_try(bp, 0, -1, (int)leader, 0), 0);
	fd = perf_open(&bp, 0, -1, -1, 0);
	expect(perf_try(sw, 0, -1, (int)fd, 0), 0);
	close((int)fd);
	close((int)leader);
}

int main(void)
{
	bp_skip_without();
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		refused_with(places[i].err, bp_attr(places[i].type, buf + places[i].off, places[i].len));
		if (failures)
			printf("at type %u offset %ld length %lu\n", places[i].type, places[i].off,
			       (long)places[i].len);
	}
	for (size_t i = 0; i < sizeof(kernel_addresses) / sizeof(u64); i++) {
		refused_with(EINVAL, bp_attr(HW_BREAKPOINT_W, (void *)kernel_addresses[i], 8));
		refused_with(EINVAL, bp_attr(HW_BREAKPOINT_X, (void *)kernel_addresses[i], 8));
	}
	refused_with(0, bp_attr(HW_BREAKPOINT_W, (void *)0x7fffffffeff8, 8));
	refused_with(0, bp_attr(HW_BREAKPOINT_X, (void *)0x7fffffffefff, 8));
	refused_with(EINVAL, bp_attr(HW_BREAKPOINT_X, (void *)0xfffffffffffffffc, 8));
	other_fields();
	in_groups();
	return perf_result();
}
