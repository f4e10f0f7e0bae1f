/*
 * ESRCH: tasks that do not exist.
 * covers: ESRCH
 */
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	expect(perf_try(a, pid, -1, -1, 0), -ESRCH);
	expect(perf_try(a, -2, -1, -1, 0), -ESRCH);
	expect(perf_try(a, 99999999, 100000, -1, 0), -ESRCH); /* before the CPU */
	return perf_result();
}
