/*
 * attr.pinned and attr.exclusive. Software events and breakpoints need no counter: they run whatever the others are.
 * Where there are hardware events, an exclusive group of them takes turns with the others, and a pinned one always
 * runs.
 * covers: attr.pinned, attr.exclusive
 */
#include <linux/hw_breakpoint.h>
#include "tests/abi/errno/perf.h"

static volatile long watched;

static void spin(void)
{
	for (volatile int i = 0; i < 30000000; i++)
		watched = i;
}

static struct perf_attr attr_of(unsigned type, unsigned long config)
{
	struct perf_attr a = perf_attr_sw(config);

	a.type = type;
	a.disabled = 1;
	a.read_format = PERF_TIMES;
	if (type != PERF_TYPE_BREAKPOINT)
		return a;
	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (unsigned long)&watched;
	a.bp_len = sizeof(watched);
	return a;
}

/* They begin and end together but for some microseconds. */
static void switch_all(const long *fd, int n, unsigned long cmd)
{
	for (int i = 0; i < n; i++)
		expect(perf_ioctl(fd[i], cmd, PERF_IOC_FLAG_GROUP), 0);
}

static void close_all(const long *fd, int n)
{
	for (int i = 0; i < n; i++)
		close((int)fd[i]);
}

static void test_software(void)
{
	struct perf_attr alone = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK), other = alone;
	struct perf_attr bp = attr_of(PERF_TYPE_BREAKPOINT, 0);
	struct perf_times t;
	long fd[4];

	alone.exclusive = bp.exclusive = 1;
	fd[0] = perf_open(&other, 0, -1, -1, 0);
	fd[1] = perf_open(&alone, 0, -1, -1, 0);
	alone.pinned = 1;
	fd[2] = perf_open(&alone, 0, -1, -1, 0);
	fd[3] = perf_open(&bp, 0, -1, -1, 0);
	switch_all(fd, 3, PERF_EVENT_IOC_ENABLE);
	spin();
	switch_all(fd, 3, PERF_EVENT_IOC_DISABLE);
	for (int i = 0; i < 3; i++) {
		t = perf_times_of(fd[i]);
		expect(t.enabled > 0, 1);
		expect(t.running, t.enabled);
	}
	expect(perf_ioctl(fd[3], PERF_EVENT_IOC_ENABLE, 0), 0);
	for (int i = 0; i < 10; i++)
		watched = i;
	expect(perf_times_of(fd[3]).count, 10);
	close_all(fd, 4);
}

static void test_members(void)
{
	struct perf_attr a = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	long leader;

	a.exclusive = 1;
	leader = perf_open(&a, 0, -1, -1, 0);
	expect(leader > 0, 1);
	expect(perf_try(a, 0, -1, (int)leader, 0), -EINVAL);
	a.exclusive = 0;
	expect(perf_try(a, 0, -1, (int)leader, 0), 0);
	a.pinned = 1;
	expect(perf_try(a, 0, -1, (int)leader, 0), -EINVAL);
	close((int)leader);
}

/* Neither can have the counters while the other has them. */
static void test_hardware(void)
{
	struct perf_attr other = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS), alone = other;
	struct perf_times a, b;
	long fd[2];

	fd[0] = perf_open(&other, 0, -1, -1, 0);
	if (fd[0] < 0)
		return; /* natively: no hardware events here */
	alone.exclusive = 1;
	fd[1] = perf_open(&alone, 0, -1, -1, 0);
	switch_all(fd, 2, PERF_EVENT_IOC_ENABLE);
	spin();
	switch_all(fd, 2, PERF_EVENT_IOC_DISABLE);
	a = perf_times_of(fd[0]);
	b = perf_times_of(fd[1]);
	expect(a.running < a.enabled && a.running > 0, 1);
	expect(b.running < b.enabled && b.running > 0, 1);
	expect(a.running + b.running < a.enabled + a.enabled / 20, 1);
	expect(a.running + b.running > a.enabled - a.enabled / 20, 1);
	close_all(fd, 2);
}

static void test_pinned_hardware(void)
{
	struct perf_attr pinned = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS), alone = pinned;
	struct perf_times t;
	long fd[2];

	pinned.pinned = 1;
	fd[0] = perf_open(&pinned, 0, -1, -1, 0);
	if (fd[0] < 0)
		return;
	alone.exclusive = alone.pinned = 1;
	fd[1] = perf_open(&alone, 0, -1, -1, 0);
	switch_all(fd, 1, PERF_EVENT_IOC_ENABLE);
	spin();
	switch_all(fd, 1, PERF_EVENT_IOC_DISABLE);
	t = perf_times_of(fd[0]);
	expect(t.enabled > 0 && t.running == t.enabled, 1);
	switch_all(fd, 2, PERF_EVENT_IOC_ENABLE);
	expect(read((int)fd[1], &t, sizeof(t)), 0); /* in error: not alone */
	close_all(fd, 2);
}

int main(void)
{
	test_software();
	test_members();
	test_hardware();
	test_pinned_hardware();
	return perf_result();
}
