/*
 * The files under /proc and /sys that the man page names, as a program reads and uses them.
 * covers: /proc/sys/kernel/perf_event_*, /sys/bus*, /sys/devices*
 */
#include <dirent.h>
#include <sys/stat.h>
#include "tests/abi/errno/perf.h"

#define KERNEL	"/proc/sys/kernel/"
#define DEVICES "/sys/bus/event_source/devices"

/* The number in a file; LONG_MIN: none. */
static long number(const char *path)
{
	char text[64] = "", *end;
	int fd = open(path, O_RDONLY);
	long n;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0) {
		printf("%s: %s\n", path, strerror(errno));
		close(fd);
		return (long)(1ul << 63);
	}
	close(fd);
	n = strtol(text, &end, 10);
	expect(*end, '\n');
	return n;
}

static void test_sysctl(void)
{
	long paranoid = number(KERNEL "perf_event_paranoid"), rate = number(KERNEL "perf_event_max_sample_rate");
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	expect(paranoid >= -1 && paranoid <= 4, 1);
	expect(rate > 0, 1);
	expect(number(KERNEL "perf_event_max_stack") > 0, 1);
	expect(number(KERNEL "perf_event_mlock_kb") > 0, 1);
	a.freq = 1;
	a.sample_freq = (u64)rate;
	expect(perf_try(a, 0, -1, -1, 0), 0);
	a.sample_freq++;
	expect(perf_try(a, 0, -1, -1, 0), -EINVAL);
}

/* A PMU's type opens an event; its directories and files are what they should be. */
static void test_device(const char *name)
{
	char path[512];
	struct stat st;
	long type;

	snprintf(path, sizeof(path), DEVICES "/%s/type", name);
	type = number(path);
	expect(type >= 0, 1);
	if (!strcmp(name, "software")) {
		struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

		a.type = (u32)type;
		expect(type, PERF_TYPE_SOFTWARE);
		expect(perf_try(a, 0, -1, -1, 0), 0);
	}
	expect(strcmp(name, "tracepoint") || type == PERF_TYPE_TRACEPOINT, 1);
	expect(strcmp(name, "breakpoint") || type == PERF_TYPE_BREAKPOINT, 1);
	snprintf(path, sizeof(path), DEVICES "/%s/uevent", name);
	expect(stat(path, &st) == 0 && S_ISREG(st.st_mode), 1);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), DEVICES "/%s/%s", name, i ? "events" : "format");
		expect(stat(path, &st) != 0 || S_ISDIR(st.st_mode), 1);
	}
	/* Only PMUs that are not of each CPU have a cpumask. */
	snprintf(path, sizeof(path), DEVICES "/%s/cpumask", name);
	if (!strcmp(name, "software") || !strcmp(name, "cpu") || !strcmp(name, "breakpoint"))
		expect(stat(path, &st) != 0, 1);
	if (!strcmp(name, "cpu")) {
		expect(number(DEVICES "/cpu/rdpmc") >= 0, 1);
		expect(number("/sys/devices/cpu/rdpmc") >= 0, 1);
		expect(stat(DEVICES "/cpu/format/event", &st), 0);
		expect(stat(DEVICES "/cpu/events/instructions", &st), 0);
	}
}

int main(void)
{
	DIR *dir = opendir(DEVICES);
	const struct dirent *entry;
	int seen = 0;

	if (perf_result() == 77)
		return 77;
	test_sysctl();
	expect(dir != NULL, 1);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			seen += !strcmp(entry->d_name, "software") + !strcmp(entry->d_name, "breakpoint") +
				!strcmp(entry->d_name, "tracepoint");
			test_device(entry->d_name);
		}
	expect(seen, 3);
	return perf_result();
}
