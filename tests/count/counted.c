/*
 * Runs a program with counters on it, as perf stat does, and prints what they say. For use under pcl.
 *
 *   counted [-k] [-F HZ] [-o FILE] program [args...]
 *
 * Instructions and branches, with -k also the other kinds that the PMU lists in sysfs, opened on the child before its
 * execve with enable_on_exec and inherit, so that the count starts at the first instruction of the new program and
 * covers all its threads and children. Prints `exec N...` in the order of the oracle's columns, `-` for what this PMU
 * cannot count. With -F instructions are sampled so often a second instead, as perf record does, into rings that are
 * overwritten. Exit status: the program's (128 + signal for a death by signal); 77 if there is no counter.
 * covers: PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/count/events.h"

static int open_event(pid_t pid, unsigned column)
{
	struct perf_event_attr attr = {.disabled = 1, .inherit = 1, .enable_on_exec = 1};

	return events_attr(column, &attr) ? -1 : events_open(&attr, pid, -1);
}

#define RING_PAGES 128

/* One event for each CPU, as inherited ones with rings must be. Returns the last one's descriptor. */
static int open_sampling(pid_t pid, uint64_t hz)
{
	struct perf_event_attr attr = {
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.freq = 1,
		.sample_freq = hz,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD,
	};
	int fd = events_attr(0, &attr);

	for (int cpu = 0; fd >= 0 && cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		fd = events_open(&attr, pid, cpu);
		if (fd >= 0 && mmap(NULL, (1 + RING_PAGES) * 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			return -1;
	}
	return fd;
}

static void open_all(pid_t pid, bool kinds, uint64_t hz, int *fd)
{
	fd[0] = hz ? open_sampling(pid, hz) : open_event(pid, 0);
	if (fd[0] < 0) {
		printf("counted: perf_event_open: %s\n", strerror(errno));
		exit(events_none(errno) ? 77 : 1);
	}
	for (unsigned i = 1; i < EVENTS; i++)
		fd[i] = kinds || i == 1 ? open_event(pid, i) : -1;
}

static void print_all(FILE *out, const int *fd)
{
	uint64_t value;

	fprintf(out, "exec");
	for (unsigned i = 0; i < EVENTS; i++) {
		if (fd[i] >= 0 && read(fd[i], &value, sizeof(value)) == sizeof(value))
			fprintf(out, " %llu", (unsigned long long)value);
		else
			fprintf(out, " -");
	}
	fprintf(out, "\n");
	fclose(out);
}

int main(int argc, char **argv)
{
	int fd[EVENTS], go, status, opt;
	bool kinds = false;
	uint64_t hz = 0;
	FILE *out = stderr;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+kF:o:")) != -1) {
		if (opt == 'k')
			kinds = true;
		else if (opt == 'F')
			hz = strtoull(optarg, NULL, 0);
		else if (opt == 'o')
			out = fopen(optarg, "we");
		else
			return 1;
	}
	argv += optind;
	if (!out || !argv[0])
		return 1;
	pid = events_start(argv, &go);
	if (pid < 0)
		return 1;
	open_all(pid, kinds, hz, fd);
	if (write(go, "", 1) != 1)
		return 1;
	close(go);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	print_all(out, fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
