/*
 * EFAULT: attr, ids and buffers in memory that is not there.
 * covers: EFAULT
 */
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	long fd = perf_open(&a, 0, -1, -1, 0);
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *edge = pages + 4096;
	void *volatile nowhere = (void *)8;

	munmap(edge, 4096);
	expect(perf_open(NULL, 0, -1, -1, 0), -EFAULT);
	expect(perf_open((void *)8, 0, -1, -1, 0), -EFAULT);
	expect(perf_open(NULL, 0, -1, -1, 16), -EINVAL); /* the flags are looked at first */
	memcpy(edge - 64, &a, 64);
	expect(perf_open(edge - 64, 0, -1, -1, 0), -EFAULT);
	((struct perf_attr *)(edge - 64))->size = 64;
	expect(perf_open(edge - 64, 0, -1, -1, 0) >= 0, 1);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ID, 8), -EFAULT);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PERIOD, 8), -EFAULT);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, 8), -EFAULT);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 8), -EFAULT);
	expect(read((int)fd, nowhere, 8) < 0 ? errno : 0, EFAULT);
	return perf_result();
}
