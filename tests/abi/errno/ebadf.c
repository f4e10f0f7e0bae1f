/*
 * EBADF: descriptors that are no events.
 * covers: EBADF
 */
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int ordinary = open("/dev/null", O_RDONLY), pipes[2];
	long fd = perf_open(&a, 0, -1, -1, 0);
	unsigned long v;

	expect(pipe(pipes), 0);
	expect(perf_try(a, 0, -1, ordinary, 0), -EBADF);
	expect(perf_try(a, 0, -1, pipes[0], 0), -EBADF);
	expect(perf_try(a, 0, -1, 999, 0), -EBADF);
	expect(perf_try(a, 0, -1, -2, 0), -EBADF);
	expect(perf_try(a, 0, -1, 999, PERF_FLAG_FD_NO_GROUP), -EBADF);
	expect(perf_try(a, 99999999, -1, 999, 0), -EBADF); /* before the task */
	expect(perf_try(a, ordinary, 0, -1, PERF_FLAG_PID_CGROUP), -EBADF);
	expect(perf_try(a, 999, 0, -1, PERF_FLAG_PID_CGROUP), -EBADF);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 999), -EBADF);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)ordinary), -EBADF);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_BPF, 999), -EBADF);
	close((int)fd);
	expect(perf_try(a, 0, -1, (int)fd, 0), -EBADF);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_RESET, 0), -EBADF);
	expect(read((int)fd, &v, sizeof(v)) < 0 ? errno : 0, EBADF);
	return perf_result();
}
