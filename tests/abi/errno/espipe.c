/* ESPIPE: events have no position. */
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int fd = (int)perf_open(&a, 0, -1, -1, 0);
	unsigned long v;

	expect(lseek(fd, 0, SEEK_SET) < 0 ? errno : 0, ESPIPE);
	expect(pread(fd, &v, sizeof(v), 0) < 0 ? errno : 0, ESPIPE);
	return perf_result();
}
