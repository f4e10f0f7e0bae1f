/*
 * Whose accesses a breakpoint counts: threads and children that inherit it, a thread of its own without it, another
 * process by its id, every task on a CPU; and what is left of it when the task forks, or when it is closed.
 */
#include <pthread.h>
#include <sched.h>
#include "tests/abi/breakpoint.h"

static _Alignas(64) volatile long word;

NOINLINE static void step(void)
{
	__asm__ volatile("");
	word++;
}

static void steps(int n)
{
	while (n--)
		step();
}

static void *thread(void *arg)
{
	steps(100);
	return arg;
}

static void in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
}

static void in_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		steps(10);
		in_thread();
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static void own(int inherit)
{
	struct perf_attr data = bp_attr(HW_BREAKPOINT_W, &word, 8), exec = bp_attr(HW_BREAKPOINT_X, (void *)step, 8);
	long want = inherit ? 2 + 100 + 110 + 3 : 2 + 3, fd[2];

	data.inherit = exec.inherit = (unsigned)inherit;
	fd[0] = perf_open(&data, 0, -1, -1, 0);
	fd[1] = perf_open(&exec, 0, -1, -1, 0);
	steps(2);
	in_thread();
	in_child();
	steps(3);
	expect(perf_value(fd[0]), want);
	expect(perf_value(fd[1]), want);
	close((int)fd[0]);
	close((int)fd[1]);
	steps(1);
}

/* A process that runs and is then watched, and is left again while it runs. */
static void another(void)
{
	struct perf_attr exec = bp_attr(HW_BREAKPOINT_X, (void *)step, 8), data = bp_attr(HW_BREAKPOINT_W, &word, 8);
	int to_child[2], to_parent[2], status;
	long fd[2];
	pid_t pid;
	char c;

	expect(pipe(to_child) | pipe(to_parent), 0);
	pid = fork();
	if (!pid) {
		steps(50);
		while (write(to_parent[1], "", 1) == 1 && read(to_child[0], &c, 1) == 1 && c)
			steps(c);
		_exit(0);
	}
	expect(read(to_parent[0], &c, 1), 1);
	fd[0] = perf_open(&exec, pid, -1, -1, 0);
	fd[1] = perf_open(&data, pid, -1, -1, 0);
	steps(5);
	expect(write(to_child[1], "\7", 1) + read(to_parent[0], &c, 1), 2);
	expect(perf_value(fd[0]), 7);
	expect(perf_value(fd[1]), 7);
	close((int)fd[0]);
	expect(write(to_child[1], "\7", 1) + read(to_parent[0], &c, 1), 2);
	expect(perf_value(fd[1]), 14);
	expect(write(to_child[1], "", 1), 1);
	waitpid(pid, &status, 0);
	expect(perf_value(fd[1]), 14);
	close((int)fd[1]);
}

/* Needs privilege. The thread stays on one CPU, the event is bound to it. */
static void by_cpu(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_X, (void *)step, 8);
	int cpu = sched_getcpu();
	cpu_set_t set, all;
	long fd;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	fd = perf_open(&a, -1, cpu, -1, 0);
	if (fd == -EACCES)
		return;
	steps(4);
	in_child();
	expect(perf_value(fd), 4 + 110);
	close((int)fd);
	sched_setaffinity(0, sizeof(all), &all);
}

int main(void)
{
	bp_skip_without();
	own(0);
	own(1);
	another();
	by_cpu();
	return perf_result();
}
