/*
 * ENOENT: types and software events that nobody counts.
 * covers: ENOENT
 */
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(12);

	expect(perf_try(a, 0, -1, -1, 0), -ENOENT);
	a.config = 1ul << 40;
	expect(perf_try(a, 0, -1, -1, 0), -ENOENT);
	a = perf_attr_sw(0);
	a.type = 0x12345;
	expect(perf_try(a, 0, -1, -1, 0), -ENOENT);
	expect(perf_try(a, 0, 100000, -1, 0), -EINVAL); /* the CPU comes first */
	a.sample_period = 1000;
	expect(perf_try(a, 0, -1, -1, 0), -ENOENT); /* and sampling after */
	a.type = PERF_TYPE_HARDWARE;
	a.config = 1ul << 32; /* of PMU type 1 */
	a.sample_period = 0;
	expect(perf_try(a, 0, -1, -1, 0), -ENOENT);
	return perf_result();
}
