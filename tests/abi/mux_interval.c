/* perf_event_mux_interval_ms of the PMUs: a number above 0, which root may write. */
#include "tests/abi/errno/perf.h"

#define DEVICES "/sys/bus/event_source/devices/"

static long file_read(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -errno;
	expect(read(fd, text, sizeof(text) - 1) > 0, 1);
	close(fd);
	return atol(text);
}

/* What was written, or -errno. */
static long file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	long n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

static void test_pmu(const char *path)
{
	long before = file_read(path);
	char text[32];

	if (before == -ENOENT)
		return;
	expect(before > 0, 1);
	if (as_nobody()) {
		expect(file_write(path, "5"), -EACCES);
		exit(failures != 0);
	}
	if (getuid())
		return;
	expect(file_write(path, "17\n"), 3);
	expect(file_read(path), 17);
	expect(file_write(path, "17"), 2);
	expect(file_write(path, "0"), -EINVAL);
	expect(file_write(path, "-1"), -EINVAL);
	expect(file_write(path, "x"), -EINVAL);
	expect(file_read(path), 17);
	expect(file_write(path, "1"), 1);
	expect(file_read(path), 1);
	snprintf(text, sizeof(text), "%ld", before);
	expect(file_write(path, text), (long)strlen(text));
}

int main(void)
{
	test_pmu(DEVICES "cpu/perf_event_mux_interval_ms");
	test_pmu(DEVICES "software/perf_event_mux_interval_ms");
	test_pmu(DEVICES "breakpoint/perf_event_mux_interval_ms");
	test_pmu(DEVICES "tracepoint/perf_event_mux_interval_ms");
	test_pmu(DEVICES "uprobe/perf_event_mux_interval_ms");
	return perf_result();
}
