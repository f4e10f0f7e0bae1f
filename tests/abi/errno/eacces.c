/*
 * EACCES: what a user without CAP_PERFMON may not count at perf_event_paranoid 2.
 * covers: EACCES, perf_event_paranoid 2
 */
#include "tests/abi/errno/perf.h"

static int paranoid(void)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	close(fd);
	return atoi(text);
}

static void test_unprivileged(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	refused(0, (void)a);
	refused(EACCES, a.exclude_kernel = 0);
	refused(EACCES, a.namespaces = 1);
	refused(EACCES, a.sample_type = PERF_SAMPLE_PHYS_ADDR);
	refused(EACCES, (a.sample_type = PERF_SAMPLE_BRANCH_STACK, a.branch_sample_type = 2 | 8));
	expect(perf_try(a, -1, 0, -1, 0), -EACCES);
	expect(perf_try(a, 1, -1, -1, 0) != 0, 1); /* another user's: ESRCH where it is outside the session */
	/* before the group, the task, the CPU and the type */
	a.exclude_kernel = 0;
	expect(perf_try(a, 99999999, -1, 99, 0), -EACCES);
	a.type = 77;
	expect(perf_try(a, 0, 100000, -1, 0), -EACCES);
	/* after the attr */
	a.sample_type = 1ul << 25;
	expect(perf_try(a, 0, -1, -1, 0), -EINVAL);
	/* the CPU's privilege comes after the type */
	a = perf_attr_sw(99);
	expect(perf_try(a, -1, 0, -1, 0), -ENOENT);
}

int main(void)
{
	if (paranoid() != 2) {
		printf("perf_event_paranoid is not 2\n");
		return 77;
	}
	if (as_nobody()) {
		test_unprivileged();
		exit(failures || !checks);
	}
	return perf_result();
}
