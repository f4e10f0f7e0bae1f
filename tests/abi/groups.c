/*
 * Groups: one read gives all; the leader's state rules; closing the leader frees its siblings; ids are unique.
 * covers: PERF_FORMAT_GROUP, PERF_FORMAT_ID, PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP
 */
#include "tests/abi/errno/perf.h"

static void spin(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

static long event(int group, int disabled)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	a.disabled = (unsigned)disabled;
	a.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return perf_open(&a, 0, -1, group, 0);
}

struct group {
	unsigned long nr, enabled, running;
	struct {
		unsigned long value, id;
	} e[3];
};

static void read_group(long fd, struct group *g)
{
	memset(g, 0, sizeof(*g));
	expect(read((int)fd, g, sizeof(*g)), 24 + 16 * (long)g->nr);
}

int main(void)
{
	long fd[3] = {event(-1, 1)};
	unsigned long id[3];
	struct group g, h;

	fd[1] = event((int)fd[0], 0);
	fd[2] = event((int)fd[0], 1);
	for (int i = 0; i < 3; i++)
		expect(perf_ioctl(fd[i], PERF_EVENT_IOC_ID, (unsigned long)&id[i]), 0);
	expect(id[0] != id[1] && id[1] != id[2] && id[0] != id[2] && id[0], 1);
	spin();
	read_group(fd[1], &g); /* a sibling gives the same as the leader */
	expect(g.nr, 3);
	expect(g.enabled | g.running, 0);
	for (int i = 0; i < 3; i++) {
		expect(g.e[i].id, id[i]);
		expect(g.e[i].value, 0);
	}
	expect(perf_ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0), 0);
	spin();
	expect(perf_ioctl(fd[0], PERF_EVENT_IOC_DISABLE, 0), 0);
	read_group(fd[0], &g);
	expect(g.e[0].value > 0, 1);
	expect(g.e[1].value > 0, 1);
	expect(g.e[2].value, 0); /* it was disabled itself */
	expect(g.enabled, g.running);
	expect(g.enabled > 0, 1);
	expect(perf_ioctl(fd[2], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0);
	spin();
	expect(perf_ioctl(fd[1], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP), 0);
	read_group(fd[0], &h);
	for (int i = 0; i < 3; i++)
		expect(h.e[i].value > g.e[i].value, 1);
	spin();
	read_group(fd[0], &g);
	expect(memcmp(&g, &h, sizeof(g)), 0);
	expect(perf_ioctl(fd[1], PERF_EVENT_IOC_RESET, 0), 0);
	read_group(fd[0], &g);
	expect(g.e[1].value, 0);
	expect(g.e[0].value, (long)h.e[0].value);
	expect(g.enabled, (long)h.enabled); /* times cannot be reset */
	expect(perf_ioctl(fd[2], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP), 0);
	read_group(fd[0], &g);
	expect(g.e[0].value | g.e[1].value | g.e[2].value, 0);
	close((int)fd[0]);
	expect(read((int)fd[1], &g, sizeof(g)), 40);
	expect(g.nr, 1);
	expect(g.e[0].id, id[1]);
	return perf_result();
}
