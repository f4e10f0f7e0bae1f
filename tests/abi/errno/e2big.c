/*
 * E2BIG: attr.size, and groups whose read would be too long.
 * covers: E2BIG, attr.size, PERF_ATTR_SIZE_VER*
 */
#include "tests/abi/errno/perf.h"

static char room[8192] __attribute__((aligned(8)));

static struct perf_attr *fresh(unsigned size)
{
	struct perf_attr *a = (struct perf_attr *)room;

	memset(room, 0, sizeof(room));
	*a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	a->size = size;
	return a;
}

static void test_sizes(void)
{
	static const unsigned bad[] = {1, 63, 4097, 8000, 0xffffffff}, good[] = {0,
										 PERF_ATTR_SIZE_VER0,
										 65,
										 PERF_ATTR_SIZE_VER1,
										 PERF_ATTR_SIZE_VER2,
										 PERF_ATTR_SIZE_VER3,
										 PERF_ATTR_SIZE_VER4,
										 PERF_ATTR_SIZE_VER5,
										 120,
										 128,
										 4096};
	struct perf_attr *a;

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		a = fresh(bad[i]);
		expect(perf_open(a, 0, -1, -1, 0), -E2BIG);
		expect(a->size >= PERF_ATTR_VER5 && a->size < 4096 && a->size != bad[i], 1); /* the kernel's own */
	}
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		a = fresh(good[i]);
		long fd = perf_open(a, 0, -1, -1, 0);

		expect(fd >= 0, 1);
		expect(a->size, good[i]);
		close((int)fd);
	}
	a = fresh(4096);
	room[4095] = 1;
	expect(perf_open(a, 0, -1, -1, 0), -E2BIG);
	expect(a->size < 4096, 1);
	a = fresh(64); /* flags come after the size */
	a->size = 63;
	expect(perf_open(a, 0, -1, -1, 1ul << 40), -EINVAL);
	expect(a->size, 63);
}

static void test_group(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	long leader, fd, n = 1;

	a.read_format = 15; /* without LOST: 16 bytes each, 24 for nr and the times */
	leader = perf_open(&a, 0, -1, -1, 0);
	while ((fd = perf_open(&a, 0, -1, (int)leader, 0)) >= 0)
		n++;
	if (fd == -EMFILE) /* RLIMIT_NOFILE is too low to see it */
		return;
	expect(fd, -E2BIG);
	expect(n, (16384 - 24) / 16);
}

int main(void)
{
	test_sizes();
	test_group();
	return perf_result();
}
