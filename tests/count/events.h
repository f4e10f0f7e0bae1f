/*
 * The events of the oracle's columns, as pcl's cpu PMU names them in sysfs.
 */
#ifndef TESTS_COUNT_EVENTS_H
#define TESTS_COUNT_EVENTS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPU_EVENTS "/sys/bus/event_source/devices/cpu/"

/* In the order of the oracle's columns. The names are those under CPU_EVENTS "events/". */
static const char *const event_names[] = {
	NULL,        NULL,         "branches_cond",        "branches_taken", "calls", "returns", "branches_indirect",
	"mem_loads", "mem_stores", "syscall_instructions",
};
#define EVENTS (sizeof(event_names) / sizeof(event_names[0]))

static inline int events_read_file(const char *dir, const char *name, char *to, size_t size)
{
	char path[256];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(to, 1, size - 1, f);
	to[n] = 0;
	fclose(f);
	return 0;
}

/* An event that the PMU lists as "event=0x..[,umask=0x..]", by its format: event is config 0-7, umask 8-15. */
static inline int events_find_raw(const char *name, uint64_t *config)
{
	char text[256], *at;

	if (events_read_file(CPU_EVENTS "events/", name, text, sizeof(text)))
		return -1;
	at = strstr(text, "event=");
	if (!at)
		return -1;
	*config = strtoull(at + 6, NULL, 0);
	at = strstr(text, "umask=");
	if (at)
		*config |= strtoull(at + 6, NULL, 0) << 8;
	return 0;
}

/* Which event counts the column, in user mode; -1: the PMU lists none. */
static inline int events_attr(unsigned column, struct perf_event_attr *attr)
{
	uint64_t config = column ? PERF_COUNT_HW_BRANCH_INSTRUCTIONS : PERF_COUNT_HW_INSTRUCTIONS;

	if (event_names[column] && events_find_raw(event_names[column], &config))
		return -1;
	attr->type = event_names[column] ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE;
	attr->size = sizeof(*attr);
	attr->config = config;
	attr->exclude_kernel = attr->exclude_hv = 1;
	return 0;
}

static inline int events_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* There is no such counter here, rather than an error. */
static inline int events_none(int error)
{
	return error == ENOENT || error == ENOSYS || error == EACCES || error == EOPNOTSUPP;
}

/* Starts a program that waits before its execve until something is written to *go. */
static inline pid_t events_start(char **argv, int *go)
{
	int pipe[2];
	pid_t pid;
	char c;

	if (pipe2(pipe, O_CLOEXEC))
		return -1;
	*go = pipe[1];
	pid = fork();
	if (!pid) {
		close(pipe[1]);
		if (read(pipe[0], &c, 1) != 1)
			_exit(1);
		close(pipe[0]);
		execvp(argv[0], argv);
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(pipe[0]);
	return pid;
}

#endif
