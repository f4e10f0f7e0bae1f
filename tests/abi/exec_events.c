/*
 * Events and descriptors across exec: enable_on_exec, remove_on_exec, close-on-exec, dup. What remove_on_exec removes
 * is taken out of its group, and the rest of the group goes on.
 * covers: PERF_FLAG_FD_CLOEXEC, attr.enable_on_exec, attr.remove_on_exec, attr.disabled
 */
#include "tests/abi/errno/perf.h"

static long event(unsigned on_exec, unsigned remove, unsigned long flags)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	a.disabled = a.enable_on_exec = on_exec;
	a.remove_on_exec = remove;
	return perf_open(&a, 0, -1, -1, flags);
}

static void spin(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

#define GROUPS 4   /* each of the two may have remove_on_exec */
#define FIRST_FD 20 /* of the leaders, then of the members */

static int remove_leader(int group)
{
	return group & 1;
}

static int remove_member(int group)
{
	return group >> 1;
}

static long group_event(long leader, int remove)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	a.remove_on_exec = (unsigned)remove;
	a.read_format = PERF_FORMAT_GROUP;
	return perf_open(&a, 0, -1, (int)leader, 0);
}

static void open_groups(void)
{
	long fd;

	for (int i = 0; i < GROUPS; i++) {
		fd = group_event(-1, remove_leader(i));
		expect(dup2((int)fd, FIRST_FD + i), FIRST_FD + i);
		close((int)fd);
		fd = group_event(FIRST_FD + i, remove_member(i));
		expect(dup2((int)fd, FIRST_FD + GROUPS + i), FIRST_FD + GROUPS + i);
		close((int)fd);
	}
}

/* Its own count; nr: of how many events it tells. */
static long group_value(int fd, int first, long nr)
{
	long v[4];

	expect(read(fd, v, sizeof(v)), 8 + 8 * nr);
	expect(v[0], nr);
	return v[first ? 1 : nr];
}

/* A root that is removed reads as a group of one. */
static void test_groups(void)
{
	long nr, leader[GROUPS], member[GROUPS];

	for (int i = 0; i < GROUPS; i++) {
		nr = remove_leader(i) || remove_member(i) ? 1 : 2;
		leader[i] = group_value(FIRST_FD + i, 1, nr);
		member[i] = group_value(FIRST_FD + GROUPS + i, 0, nr);
	}
	spin();
	for (int i = 0; i < GROUPS; i++) {
		nr = remove_leader(i) || remove_member(i) ? 1 : 2;
		expect(group_value(FIRST_FD + i, 1, nr) > leader[i], !remove_leader(i));
		expect(group_value(FIRST_FD + GROUPS + i, 0, nr) > member[i], !remove_member(i));
	}
}

/* After exec: descriptors 10 enabled by exec, 11 removed by exec, 12 close-on-exec, 13 a duplicate of 10. */
static int second_image(void)
{
	long v;

	spin();
	v = perf_value(10);
	expect(v > 0, 1);
	expect(perf_value(13) >= v, 1);
	v = perf_value(11);
	expect(v >= 0, 1);
	spin();
	expect(perf_value(11), v); /* it counts no more */
	expect(perf_ioctl(11, PERF_EVENT_IOC_ENABLE, 0), 0);
	spin();
	expect(perf_value(11), v);
	expect(perf_value(12), -EBADF);
	expect(fcntl(12, F_GETFD) < 0 ? errno : 0, EBADF);
	expect(perf_ioctl(13, PERF_EVENT_IOC_DISABLE, 0), 0);
	v = perf_value(10);
	spin();
	expect(perf_value(10), v);
	test_groups();
	return perf_result();
}

int main(int argc, char **argv)
{
	char *again[] = {argv[0], "again", NULL};
	long fd[3];

	if (argc > 1)
		return second_image();
	fd[0] = event(1, 0, 0);
	fd[1] = event(0, 1, 0);
	fd[2] = event(0, 0, PERF_FLAG_FD_CLOEXEC);
	if (fd[0] < 0)
		return perf_result();
	expect(fcntl((int)fd[0], F_GETFD), 0);
	expect(fcntl((int)fd[2], F_GETFD), FD_CLOEXEC);
	spin();
	expect(perf_value(fd[0]), 0);
	expect(dup2((int)fd[0], 10), 10);
	expect(dup2((int)fd[1], 11), 11);
	expect(fcntl((int)fd[2], F_DUPFD_CLOEXEC, 12), 12);
	expect(dup2(10, 13), 13);
	for (int i = 0; i < 3; i++)
		close((int)fd[i]);
	expect(perf_value(13), 0);
	open_groups();
	if (perf_result())
		return perf_result();
	execv("/proc/self/exe", again);
	return 1;
}
