/*
 * Whose accesses a breakpoint counts: threads and children that inherit it, a thread of its own without it, another
 * process by its id, every task on a CPU, a task on the CPU that it is moved to; and what is left of it when the task
 * forks, or when it is closed.
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

static void move_to(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	expect(sched_setaffinity(tid, sizeof(set), &set), 0);
}

/* Two CPUs that may be used; false: there is one. */
static int two_cpus(const cpu_set_t *all, int cpu[2])
{
	int n = 0;

	for (int i = 0; n < 2 && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, all))
			cpu[n++] = i;
	return n == 2;
}

/* Events of the task on either CPU: those of the one that it has moved itself to count, from that call on. */
static void moving(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &word, 8);
	long want[2] = {0, 0}, fd[2];
	cpu_set_t all;
	int cpu[2];

	sched_getaffinity(0, sizeof(all), &all);
	if (!two_cpus(&all, cpu))
		return;
	move_to(0, cpu[0]);
	for (int i = 0; i < 2; i++)
		fd[i] = perf_open(&a, 0, cpu[i], -1, 0);
	for (int i = 0; i < 6; i++) {
		move_to(i & 2 ? 0 : getpid(), cpu[i & 1]);
		steps(10 + i);
		want[i & 1] += 10 + i;
		expect(perf_value(fd[0]), want[0]);
		expect(perf_value(fd[1]), want[1]);
	}
	close((int)fd[0]);
	close((int)fd[1]);
	sched_setaffinity(0, sizeof(all), &all);
}

static volatile int phase;

/* Another one moves it while it runs, and has done so when phase is 2. */
static void *moved_thread(void *tid)
{
	*(volatile int *)tid = (int)syscall(SYS_gettid);
	while (phase < 1)
		sched_yield();
	while (phase < 2)
		;
	steps(30);
	phase = 3;
	while (phase < 4)
		sched_yield();
	return NULL;
}

static void moved(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &word, 8);
	volatile int tid = 0;
	cpu_set_t all;
	pthread_t t;
	int cpu[2];
	long fd[2];

	sched_getaffinity(0, sizeof(all), &all);
	if (!two_cpus(&all, cpu))
		return;
	pthread_create(&t, NULL, moved_thread, (void *)&tid);
	while (!tid)
		sched_yield();
	move_to(tid, cpu[0]);
	for (int i = 0; i < 2; i++)
		fd[i] = perf_open(&a, tid, cpu[i], -1, 0);
	phase = 1;
	usleep(20000);
	move_to(tid, cpu[1]);
	usleep(20000);
	phase = 2;
	while (phase < 3)
		sched_yield();
	expect(perf_value(fd[0]), 0);
	expect(perf_value(fd[1]), 30);
	phase = 4;
	pthread_join(t, NULL);
	close((int)fd[0]);
	close((int)fd[1]);
}

int main(void)
{
	bp_skip_without();
	own(0);
	own(1);
	another();
	by_cpu();
	moving();
	moved();
	return perf_result();
}
