/*
 * Every read_format, for an event alone, a leader and a member of a group: what a read gives, how long the buffer must
 * be, and which of the words is what. Of groups the leader's read_format decides.
 * covers: attr.read_format, PERF_FORMAT_*, read.*
 */
#include "tests/abi/errno/perf.h"

#define FORMATS 32

static unsigned long id_of(long fd)
{
	unsigned long id = 0;

	ioctl((int)fd, PERF_EVENT_IOC_ID, &id);
	return id;
}

static long open_as(unsigned long format, int group)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	a.read_format = format;
	return perf_open(&a, 0, -1, group, 0);
}

/* One event's words: value, id, lost. */
static const unsigned long *print_one(const unsigned long *v, unsigned long format, const long *fds, int n)
{
	printf(" value %d", *v++ > 0);
	if (format & PERF_FORMAT_ID) {
		for (int i = 0; i < n; i++)
			if (*v == id_of(fds[i]))
				printf(" id %d", i);
		v++;
	}
	if (format & PERF_FORMAT_LOST)
		printf(" lost %lu", *v++);
	return v;
}

static const unsigned long *print_times(const unsigned long *v, unsigned long format)
{
	unsigned long enabled = 0, running = 0;

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		enabled = *v++;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		running = *v++;
	printf(" time_enabled %d time_running %d", enabled > 0, running > 0);
	if (enabled && running && enabled != running)
		printf(" but they differ");
	return v;
}

static void print_read(const char *what, long fd, unsigned long format, const long *fds, int n)
{
	unsigned long v[64], nr = 1;
	const unsigned long *at = v;
	long got, least = 0;

	while (least < (long)sizeof(v) && read((int)fd, v, (size_t)least) < 0)
		least++;
	got = read((int)fd, v, sizeof(v));
	printf("%s, format %lx: %ld bytes, at least %ld:", what, format, got, least);
	if (got > 0 && format & PERF_FORMAT_GROUP) {
		nr = *at++;
		printf(" nr %lu", nr);
		at = print_times(at, format);
		for (unsigned long i = 0; i < nr; i++)
			at = print_one(at, format, fds, n);
	} else if (got > 0) {
		unsigned long one[3] = {v[0]};

		at = print_times(at + 1, format); /* the times are between the value and the id */
		memcpy(one + 1, at, 16);
		print_one(one, format, fds, n);
		at += !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	}
	printf(got > 0 && at == v + got / 8 ? "\n" : " and other words\n");
}

int main(void)
{
	if (!perf_linux_is_new() || perf_result() == 77) {
		printf("no perf_event_open as that of Linux 6.15 and later\n");
		return 77;
	}
	for (unsigned long format = 0; format < FORMATS; format++) {
		long alone = open_as(format, -1), fds[3];

		print_read("alone", alone, format, &alone, 1);
		fds[0] = open_as(format, -1);
		fds[1] = open_as(format ^ PERF_FORMAT_ID, (int)fds[0]);
		fds[2] = open_as(format, (int)fds[0]);
		if (fds[1] < 0 || fds[2] < 0)
			printf("members: %ld %ld\n", fds[1] < 0 ? fds[1] : 0, fds[2] < 0 ? fds[2] : 0);
		print_read("leader", fds[0], format, fds, 3);
		if (fds[2] >= 0)
			print_read("member", fds[2], format, fds, 3);
		close((int)alone), close((int)fds[0]), close((int)fds[1]), close((int)fds[2]);
	}
	for (unsigned long bit = 5; bit < 64; bit++) {
		long fd = open_as(1ul << bit, -1);

		printf("bit %lu: %ld\n", bit, fd < 0 ? fd : 0);
		if (fd >= 0)
			close((int)fd);
	}
	return 0;
}
