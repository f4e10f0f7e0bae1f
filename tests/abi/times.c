/*
 * time_enabled and time_running: the task's CPU time while the event is enabled; equal without multiplexing.
 * covers: PERF_FORMAT_TOTAL_TIME_*
 */
#include <time.h>
#include "tests/abi/errno/perf.h"

static void spin(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

static void times_of(long fd, unsigned long *v)
{
	expect(read((int)fd, v, 24), 24);
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	struct timespec sleep = {0, 200000000};
	unsigned long v[3], w[3];
	long fd;

	a.disabled = 1;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&a, 0, -1, -1, 0);
	spin();
	times_of(fd, v);
	expect(v[0] | v[1] | v[2], 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	spin();
	times_of(fd, v);
	expect(v[1] > 0, 1);
	expect(v[1], (long)v[2]);
	nanosleep(&sleep, NULL);
	times_of(fd, w);
	expect(w[1] - v[1] < 100000000, 1); /* the clock stands still while the task sleeps */
	expect(perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	times_of(fd, v);
	spin();
	times_of(fd, w);
	expect(memcmp(v, w, sizeof(v)), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	times_of(fd, w);
	expect(w[0], 0);
	expect(w[1], (long)v[1]);
	return perf_result();
}
