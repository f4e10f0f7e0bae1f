/*
 * Calls that change as much as the program has opened: a fork that inherits 3,800 events, their end with the child, and
 * the close of all descriptors in one call.
 */
#include <sys/resource.h>
#include "tests/abi/errno/perf.h"

#define EVENTS 3800

static int open_all(void)
{
	struct perf_attr attr = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	long last = 0;

	attr.inherit = 1;
	for (int i = 0; i < EVENTS && last >= 0; i++)
		last = perf_open(&attr, 0, -1, -1, 0);
	expect(last > 0, 1);
	return (int)last;
}

static void fork_with_all(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(7);
	expect(pid > 0, 1);
	waitpid(pid, &status, 0);
	expect(WEXITSTATUS(status), 7);
}

int main(void)
{
	struct rlimit limit;
	unsigned long value = 1;
	int last;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < EVENTS + 100) {
		printf("no more than %lu descriptors\n", (unsigned long)limit.rlim_cur);
		return 77;
	}
	last = open_all();
	fork_with_all();
	expect(read(last, &value, sizeof(value)), 8);
	expect(value, 0);
	expect(close_range(3, ~0u, 0), 0);
	expect(read(last, &value, sizeof(value)), -1);
	expect(errno, EBADF);
	return perf_result();
}
