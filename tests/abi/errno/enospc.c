/*
 * ENOSPC: a read that is shorter than what attr.read_format asks for.
 * covers: ENOSPC
 */
#include "tests/abi/errno/perf.h"

static long read_some(long fd, size_t n)
{
	unsigned long v[64];
	long got = read((int)fd, v, n);

	return got < 0 ? -errno : got;
}

/* The length of a read of a leader with two siblings. */
static long length(unsigned long format)
{
	long each = 8 + (format & PERF_FORMAT_ID ? 8 : 0);
	long times = (format & 1 ? 8 : 0) + (format & 2 ? 8 : 0);

	return format & PERF_FORMAT_GROUP ? 8 + times + 3 * each : times + each;
}

int main(void)
{
	for (unsigned long format = 0; format < 16; format++) {
		struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
		long fd;

		a.read_format = format;
		fd = perf_open(&a, 0, -1, -1, 0);
		perf_open(&a, 0, -1, (int)fd, 0);
		perf_open(&a, 0, -1, (int)fd, 0);
		expect(read_some(fd, 0), -ENOSPC);
		expect(read_some(fd, (size_t)length(format) - 1), -ENOSPC);
		expect(read_some(fd, (size_t)length(format)), length(format));
		expect(read_some(fd, 512), length(format));
	}
	return perf_result();
}
