/*
 * ENODEV: groups of tasks that have exited.
 * covers: ENODEV
 */
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int status;
	pid_t pid;
	long fd, v;

	if (!perf_linux_is_new()) {
		printf("EINVAL before Linux 6.15\n");
		return 77;
	}
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	fd = perf_open(&a, pid, -1, -1, 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	expect(perf_try(a, 0, -1, (int)fd, 0), -ENODEV);
	expect(perf_try(a, 0, -1, (int)fd, PERF_FLAG_FD_NO_GROUP), -ENODEV);
	expect(perf_try(a, 99999999, -1, (int)fd, 0), -ENODEV); /* before the task */
	/* The event itself stays: it can be read, and switched without effect. */
	v = perf_value(fd);
	expect(v >= 0, 1);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	expect(perf_value(fd), v);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	expect(perf_value(fd), 0);
	return perf_result();
}
