/*
 * An event of a child that was stopped right after fork, mostly before it has run at all: it is opened at once, and
 * counts all that the child does when it is let go.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include "tests/abi/breakpoint.h"

#define CHILDREN 40
#define STORES	 7

static volatile long watched;

static void child(void)
{
	for (int i = 0; i < STORES; i++)
		watched = i;
	_exit(0);
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

int main(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &watched, sizeof(watched));
	u64 began = now_ms();
	int whole = 0;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;
		long fd, n;

		if (!pid)
			child();
		kill(pid, SIGSTOP);
		waitpid(pid, &status, WUNTRACED);
		if (!WIFSTOPPED(status)) /* it was faster */
			continue;
		fd = perf_open(&a, pid, -1, -1, 0);
		expect(fd >= 0, 1);
		kill(pid, SIGCONT);
		waitpid(pid, NULL, 0);
		n = perf_value(fd); /* less than all if it ran before it was stopped */
		expect(n >= 0 && n <= STORES, 1);
		whole += n == STORES;
		close((int)fd);
	}
	expect(now_ms() - began < 20000, 1);
	printf("%d of %d children stopped before they began\n", whole, CHILDREN);
	return perf_result();
}
