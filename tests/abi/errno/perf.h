/*
 * What the tests of one errno each share. The same program runs natively and under pcl and expects the same of both:
 * its events are software events, which every kernel has.
 */
#ifndef TESTS_ABI_ERRNO_PERF_H
#define TESTS_ABI_ERRNO_PERF_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/perf.h"

static int failures, checks;

#define expect(got, want)                                                                                              \
	do {                                                                                                           \
		long got_ = (long)(got), want_ = (long)(want);                                                         \
		checks++;                                                                                              \
		if (got_ != want_) {                                                                                   \
			failures++;                                                                                    \
			printf("%s:%d: %s is %ld, expected %ld\n", __FILE__, __LINE__, #got, got_, want_);             \
		}                                                                                                      \
	} while (0)

/* The descriptor or -errno. */
static inline long perf_open(void *attr, int pid, int cpu, int group_fd, unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);

	return fd < 0 ? -errno : fd;
}

/* Opens and closes: 0 or -errno. */
static inline long perf_try(struct perf_attr attr, int pid, int cpu, int group_fd, unsigned long flags)
{
	long fd = perf_open(&attr, pid, cpu, group_fd, flags);

	if (fd >= 0)
		close((int)fd);
	return fd < 0 ? fd : 0;
}

static inline struct perf_attr perf_attr_sw(unsigned long config)
{
	return (struct perf_attr){
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(struct perf_attr), .config = config, .exclude_kernel = 1};
}

/* The task-clock with one thing changed. */
#define refused(err, change)                                                                                           \
	do {                                                                                                           \
		struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);                                           \
		change;                                                                                                \
		expect(perf_try(a, 0, -1, -1, 0), -(err));                                                             \
	} while (0)

static inline long perf_ioctl(long fd, unsigned long cmd, unsigned long arg)
{
	return ioctl((int)fd, cmd, arg) < 0 ? -errno : 0;
}

static inline long perf_value(long fd)
{
	unsigned long v = 0;
	long n = read((int)fd, &v, sizeof(v));

	return n < 0 ? -errno : (long)v;
}

/* What an event tells whose read_format is PERF_TIMES. */
#define PERF_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
struct perf_times {
	unsigned long count, enabled, running;
};

static inline struct perf_times perf_times_of(long fd)
{
	struct perf_times t = {0, 0, 0};

	expect(read((int)fd, &t, sizeof(t)), sizeof(t));
	return t;
}

/* Runs the rest as a user without privilege; in a child, so that a test can do both. Returns true in the child. */
static inline int as_nobody(void)
{
	int status;
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, &status, 0);
		expect(status, 0);
		return 0;
	}
	failures = 0;
	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		exit(1);
	return 1;
}

static inline int linux_since(int since_major, int since_minor)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	return major > since_major || (major == since_major && minor >= since_minor);
}

/* pcl answers as Linux 6.18. What older kernels answer otherwise is not compared on them. */
static inline int perf_linux_is_new(void)
{
	return linux_since(6, 15);
}

static inline int perf_result(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	if (perf_try(a, 0, -1, -1, 0)) {
		printf("no perf_event_open here\n");
		return 77;
	}
	return failures || !checks;
}

#endif
