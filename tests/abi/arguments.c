/*
 * pid, cpu and group_fd: whom an event counts, by what it has counted when a known task has run on a known CPU. The
 * events of one CPU count only while their task is there.
 * covers: pid*
 */
#include <sched.h>
#include "tests/abi/errno/perf.h"

static long open_clock(int pid, int cpu, int group)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	return perf_open(&a, pid, cpu, group, 0);
}

static void spin(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

static int stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

/* The first two CPUs that we may use; the second is -1 if there is one only. */
static void find_cpus(int cpu[2])
{
	cpu_set_t all;
	int n = 0;

	cpu[0] = cpu[1] = -1;
	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &all))
			cpu[n++] = i;
}

/* pid 0: on any CPU, on the one where it runs, on the other. */
static void test_self(const int cpu[2])
{
	long any, here, there = -1, seen;

	stay_on(cpu[0]);
	any = open_clock(0, -1, -1);
	here = open_clock(0, cpu[0], -1);
	if (cpu[1] >= 0)
		there = open_clock(0, cpu[1], -1);
	spin();
	expect(perf_value(any) > 0, 1);
	expect(perf_value(here) > 0, 1);
	if (there >= 0) {
		expect(perf_value(there), 0);
		stay_on(cpu[1]);
		seen = perf_value(here);
		spin();
		expect(perf_value(here), seen);
		expect(perf_value(there) > 0, 1);
	}
	close((int)any), close((int)here), close((int)there);
}

/* pid above 0: a child that spins, then waits to be killed. */
static void test_other(const int cpu[2])
{
	int go[2], done[2], pid, status;
	long any, here, there = -1, own;
	char byte;

	expect(pipe(go) || pipe(done), 0);
	pid = fork();
	if (!pid) {
		stay_on(cpu[0]);
		if (read(go[0], &byte, 1) == 1)
			spin();
		if (write(done[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	any = open_clock(pid, -1, -1);
	here = open_clock(pid, cpu[0], -1);
	if (cpu[1] >= 0)
		there = open_clock(pid, cpu[1], -1);
	own = open_clock(0, -1, (int)any);
	expect(own, -EINVAL); /* a group is of one task */
	expect(write(go[1], "", 1), 1);
	expect(read(done[0], &byte, 1), 1);
	expect(perf_value(any) > 0, 1);
	expect(perf_value(here) > 0, 1);
	if (there >= 0)
		expect(perf_value(there) < perf_value(here), 1); /* it may have begun there */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	expect(perf_value(any) > 0, 1);
	expect(open_clock(pid, -1, -1), -ESRCH);
	close((int)any), close((int)here), close((int)there);
	close(go[0]), close(go[1]), close(done[0]), close(done[1]);
}

/* pid -1: all tasks of a CPU, for who may; no CPU is no event. */
static void test_all(const int cpu[2])
{
	long fd = open_clock(-1, cpu[0], -1);

	if (fd == -EACCES) {
		printf("no events of all tasks\n");
	} else {
		stay_on(cpu[0]);
		spin();
		expect(perf_value(fd) > 0, 1);
		expect(open_clock(0, cpu[0], (int)fd), -EINVAL);
		close((int)fd);
	}
	expect(open_clock(-1, -1, -1), -EINVAL);
	expect(open_clock(0, 100000, -1), -EINVAL);
	expect(open_clock(0, -2, -1), -EINVAL);
	expect(open_clock(-2, -1, -1), -ESRCH);
}

int main(void)
{
	int cpu[2];

	if (perf_result() == 77)
		return 77;
	find_cpus(cpu);
	test_all(cpu);
	test_other(cpu);
	test_self(cpu);
	return perf_result();
}
