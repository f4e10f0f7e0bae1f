/*
 * Errnos of the man page that there is no reason for on this processor and with these PMUs: EBUSY (a PMU that only one
 * event may have), EINTR (an uprobe that ftrace has, too), ENOSYS (no stack of the user's to be sampled).
 * covers: EBUSY, EINTR, ENOSYS
 */
#include "tests/abi/errno/perf.h"

static int type_of(const char *pmu)
{
	char path[128], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	close(fd);
	return atoi(text);
}

/* Two of the same are open at once. */
static void test_twice(struct perf_attr a)
{
	long first = perf_open(&a, 0, -1, -1, 0), second = perf_open(&a, 0, -1, -1, 0);

	expect(first < 0, second < 0);
	expect(first != -EBUSY && second != -EBUSY, 1);
	expect(first != -EINTR && second != -EINTR, 1);
	close((int)first), close((int)second);
}

static void test_uprobe(void)
{
	struct perf_attr a = {.type = (u32)type_of("uprobe"), .size = sizeof(a), .exclude_kernel = 1};

	a.config1 = (u64) "/proc/self/exe";
	a.config2 = 64; /* somewhere in the file: probes are refused where they cannot be */
	test_twice(a);
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	test_twice(a);
	a.type = PERF_TYPE_HARDWARE;
	a.config = PERF_COUNT_HW_INSTRUCTIONS;
	a.exclusive = 1;
	test_twice(a);
	test_uprobe();
	refused(0, (a.sample_type = PERF_SAMPLE_STACK_USER, a.sample_stack_user = 64)); /* not ENOSYS */
	return perf_result();
}
