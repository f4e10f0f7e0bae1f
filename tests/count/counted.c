/*
 * Runs a program with counters on it, as perf stat does, and prints what they say. For use under pcl.
 *
 *   counted [-k] [-o FILE] program [args...]
 *
 * Instructions and branches, with -k also the other kinds that the PMU lists in sysfs, opened on the child before its execve with
 * enable_on_exec and inherit, so that the count starts at the first instruction of the new program and covers all its threads and children. Prints `exec N...` in the order of the oracle's columns, `-` for what this PMU
 * cannot count. Exit status: the program's (128 + signal for a death by signal); 77 if there is no counter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPU_EVENTS "/sys/bus/event_source/devices/cpu/"

/* In the order of the oracle's columns. The names are those under CPU_EVENTS "events/". */
static const char *const event_names[] = {
	NULL, NULL, "branches_cond", "branches_taken", "calls", "returns", "branches_indirect", "mem_loads", "mem_stores",
	"syscall_instructions",
};
#define EVENTS (sizeof(event_names) / sizeof(event_names[0]))

static int open_event(pid_t pid, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int read_file(const char *dir, const char *name, char *to, size_t size)
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

/* Opens an event that the PMU lists as "event=0x..[,umask=0x..]", by its format: event is config 0-7, umask 8-15. */
static int open_named(pid_t pid, const char *name)
{
	char text[256], *at;
	uint64_t config = 0;

	if (read_file(CPU_EVENTS "events/", name, text, sizeof(text)))
		return -1;
	at = strstr(text, "event=");
	if (!at)
		return -1;
	config = strtoull(at + 6, NULL, 0);
	at = strstr(text, "umask=");
	if (at)
		config |= strtoull(at + 6, NULL, 0) << 8;
	return open_event(pid, PERF_TYPE_RAW, config);
}

static void open_all(pid_t pid, bool kinds, int *fd)
{
	fd[0] = open_event(pid, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	if (fd[0] < 0) {
		printf("counted: perf_event_open: %s\n", strerror(errno));
		exit(errno == ENOENT || errno == ENOSYS || errno == EACCES || errno == EOPNOTSUPP ? 77 : 1);
	}
	fd[1] = open_event(pid, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	for (unsigned i = 2; i < EVENTS; i++)
		fd[i] = kinds ? open_named(pid, event_names[i]) : -1;
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
	int fd[EVENTS], go[2], status, opt;
	bool kinds = false;
	FILE *out = stderr;
	char c;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+ko:")) != -1) {
		if (opt == 'k')
			kinds = true;
		else if (opt == 'o')
			out = fopen(optarg, "we");
		else
			return 1;
	}
	argv += optind;
	if (!out || !argv[0] || pipe2(go, O_CLOEXEC))
		return 1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		close(go[0]);
		execvp(argv[0], argv);
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(go[0]);
	open_all(pid, kinds, fd);
	if (write(go[1], "", 1) != 1)
		return 1;
	close(go[1]);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	print_all(out, fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
