/*
 * The virtual files: contents, directories, and what may be written.
 * covers: /proc/sys/kernel/perf_event_*, /sys/bus/event_source/devices/?/type,
 * /sys/bus/event_source/devices/cpu/rdpmc
 */
#include <unistd.h>
#include "pmu/sysfs.h"
#include "pmu/vendor.h"
#include "tests/unit/pmu/fake.h"

#define DEVICES "/sys/bus/event_source/devices"

static const char *text_of(const char *path)
{
	static char text[PMU_SYSFS_TEXT];
	long n = pmu_sysfs_read(path, text, sizeof(text));

	return n < 0 ? (n == -EISDIR ? "(directory)" : "(nothing)") : text;
}

static void test_contents(void)
{
	expect_str(text_of(DEVICES "/cpu/type"), "4\n");
	expect_str(text_of(DEVICES "/software/type"), "1\n");
	expect_str(text_of("/sys/devices/tracepoint/type"), "2\n");
	expect_str(text_of("/sys/devices/cpu/type"), "4\n");
	expect_str(text_of("/sys/devices/software/type"), "1\n");
	expect_str(text_of(DEVICES "/cpu/format/event"), "config:0-7,32-35\n");
	expect_str(text_of(DEVICES "/cpu/rdpmc"), "1\n");
	expect_str(text_of(DEVICES "/cpu"), "(directory)");
	expect_str(text_of(DEVICES "/cpu/"), "(directory)");
	expect_str(text_of(DEVICES "/cpu/events/no-such"), "(nothing)");
	expect_str(text_of("/sys/devices/system/cpu/online"), "(nothing)");
	expect_str(text_of("/sys/devices/cpux/type"), "(nothing)");
	expect_str(text_of("/proc/sys/kernel/perf_event_paranoid"), "2\n");
	expect_str(text_of("/proc/sys/kernel/perf_event_max_sample_rate"), "100000\n");
	expect_str(text_of("/proc/sys/kernel/perf_event_mlock_kb"), "516\n");
	expect_str(text_of("/proc/sys/kernel/perf_event_max_stack"), "127\n");
	expect_str(text_of("/proc/sys/kernel/perf_event_max_contexts_per_stack"), "8\n");
	expect_str(text_of("/proc/sys/kernel/perf_cpu_time_max_percent"), "25\n");
	expect_str(text_of("/proc/sys/kernel/pid_max"), "(nothing)");
	expect_long(pmu_sysfs_find("/etc/passwd", NULL), PMU_NODE_NONE);
	expect_long(pmu_sysfs_find("", NULL), PMU_NODE_NONE);
}

/* Every event's file says the config that the driver takes for it. */
static void test_events(void)
{
	const char *name;
	u32 n = 0;

	while (pmu_sysfs_entry(DEVICES "/cpu/events", n, &name) != PMU_NODE_NONE) {
		char path[PMU_SYSFS_TEXT];
		unsigned config = 0;
		u32 cell = CELL_NR;

		snprintf(path, sizeof(path), DEVICES "/cpu/events/%s", name);
		expect_long(pmu_sysfs_find(path, NULL), PMU_NODE_FILE);
		expect_long(sscanf(text_of(path), "event=%x", &config), 1);
		expect(config && config < 256); /* what format/event has room for */
		expect_long(vendor_find(event_space->processor, config, &cell), 0);
		for (u32 i = 0; i < pmu_nr_events; i++)
			if (pmu_events[i].type == PERF_TYPE_RAW && !strcmp(pmu_events[i].name, name))
				expect_long(cell, pmu_events[i].source);
		n++;
	}
	expect(n >= 11);
}

/* What the kernel's drivers for AMD and Intel show is as they show it. */
static void test_vendors(void)
{
	event_space->processor = PROCESSOR_ZEN3;
	expect_str(text_of(DEVICES "/cpu/format/event"), "config:0-7,32-35\n");
	expect_str(text_of(DEVICES "/cpu/format/any"), "(nothing)");
	expect_str(text_of(DEVICES "/cpu/format/ldlat"), "(nothing)");
	expect_str(text_of(DEVICES "/cpu/events/instructions"), "event=0xc0\n");
	expect_str(text_of(DEVICES "/cpu/events/cpu-cycles"), "event=0x76\n");
	expect_str(text_of(DEVICES "/cpu/events/branch-instructions"), "event=0xc2\n");
	expect_str(text_of(DEVICES "/cpu/events/calls"), "event=0x12\n");
	test_events();
	event_space->processor = PROCESSOR_SKYLAKE;
	expect_str(text_of(DEVICES "/cpu/format/event"), "config:0-7\n");
	expect_str(text_of(DEVICES "/cpu/format/any"), "config:21\n");
	expect_str(text_of(DEVICES "/cpu/format/ldlat"), "config1:0-15\n");
	expect_str(text_of(DEVICES "/cpu/events/instructions"), "event=0xc0\n");
	expect_str(text_of(DEVICES "/cpu/events/cpu-cycles"), "event=0x3c\n");
	expect_str(text_of(DEVICES "/cpu/events/branch-instructions"), "event=0xc4\n");
	test_events();
	for (event_space->processor = 0; event_space->processor < PROCESSOR_NR; event_space->processor++)
		test_events();
	event_space->processor = PROCESSOR_NONE;
}

/* Everything that a directory lists exists and is what it is said to be. */
static void walk(const char *dir, u32 *files)
{
	const char *name;
	enum pmu_node kind;

	for (u32 i = 0; (kind = pmu_sysfs_entry(dir, i, &name)) != PMU_NODE_NONE; i++) {
		char path[PMU_SYSFS_TEXT];
		u32 mode;

		snprintf(path, sizeof(path), "%s/%s", dir, name);
		expect_long(pmu_sysfs_find(path, &mode), kind);
		expect_long(mode & 0111, kind == PMU_NODE_DIR ? 0111 : 0);
		if (kind == PMU_NODE_DIR)
			walk(path, files);
		else
			++*files;
	}
}

static void test_writes(void)
{
	static const char paranoid[] = "/proc/sys/kernel/perf_event_paranoid";

	if (geteuid()) {
		expect_long(pmu_sysfs_write(paranoid, "1\n", 2), -EACCES);
		return;
	}
	expect_long(pmu_sysfs_write(paranoid, "-1\n", 3), 3);
	expect_long(event_sysctl()->paranoid, -1);
	expect_str(text_of(paranoid), "-1\n");
	expect_long(pmu_sysfs_write(paranoid, " 3", 2), 2);
	expect_long(event_sysctl()->paranoid, 3);
	expect_long(pmu_sysfs_write(paranoid, "x", 1), -EINVAL);
	expect_long(pmu_sysfs_write(paranoid, "", 0), -EINVAL);
	expect_long(pmu_sysfs_write(paranoid, "99999999999", 11), -EINVAL);
	expect_long(event_sysctl()->paranoid, 3);
	expect_long(pmu_sysfs_write("/proc/sys/kernel/perf_event_max_sample_rate", "0", 1), -EINVAL);
	expect_long(pmu_sysfs_write("/proc/sys/kernel/perf_cpu_time_max_percent", "101", 3), -EINVAL);
	expect(!event_space->rate_set);
	expect_long(pmu_sysfs_write("/proc/sys/kernel/perf_event_max_sample_rate", "5000", 4), 4);
	expect(event_space->rate_set);
	expect_long(event_sysctl()->max_sample_rate, 5000);
	expect_long(pmu_sysfs_write("/proc/sys/kernel/perf_cpu_time_max_percent", "0", 1), 1);
	expect_long(pmu_sysfs_write("/proc/sys/kernel/perf_event_max_sample_rate", "5000", 4), -EINVAL);
	expect_long(pmu_sysfs_write(DEVICES "/cpu/rdpmc", "0\n", 2), 2);
	expect_long(pmu_sysfs_write(DEVICES "/cpu/rdpmc", "3\n", 2), -EINVAL);
	expect_long(pmu_sysfs_write(DEVICES "/cpu/type", "5\n", 2), -EACCES);
	expect_long(pmu_sysfs_write(DEVICES "/cpu/events/calls", "5\n", 2), -EACCES);
	expect_long(pmu_sysfs_write("/proc/sys/kernel/perf_event_nonsense", "5\n", 2), -ENOENT);
}

int main(void)
{
	u32 files = 0;

	fake_session();
	test_contents();
	test_events();
	test_vendors();
	walk(DEVICES, &files);
	expect(files > 15);
	test_writes();
	return unit_result();
}
