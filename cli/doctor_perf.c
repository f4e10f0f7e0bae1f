/*
 * See doctor.h. On Ubuntu /usr/bin/perf is a script that runs the perf of the running kernel's version, from
 * linux-tools-VERSION; where that package is not there or the kernel is another one's (containers, WSL), it only says
 * so. Under pcl the kernel's version does not matter: any perf will do.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "abi/types.h"
#include "cli/doctor.h"
#include "cli/probe.h"

#define TEXT 2048

static bool is_program(const char *path)
{
	struct stat st;

	return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

/* The first perf of PATH. */
static bool find_perf(char *path, size_t size)
{
	const char *dir = getenv("PATH"), *end;

	for (dir = dir ? dir : "/bin:/usr/bin";; dir = end + 1) {
		end = strchrnul(dir, ':');
		snprintf(path, size, "%.*s/perf", (int)(end - dir), dir);
		if (end > dir && is_program(path))
			return true;
		if (!*end)
			return false;
	}
}

static bool is_script(const char *path)
{
	char head[2] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof(head));

	if (fd >= 0)
		close(fd);
	return n == 2 && head[0] == '#' && head[1] == '!';
}

static void cut_line(char *text)
{
	text[strcspn(text, "\n")] = 0;
}

/* As a user would: perf stat, of pcl --version. */
static void try_under_pcl(char *self, char *perf)
{
	char *argv[] = {self, perf, "stat", "-x,", "-e", "instructions:u", "--", self, "--version", NULL};
	char text[TEXT], *count;
	int status = probe_run(argv, text, sizeof(text));

	count = strstr(text, ",instructions:u,");
	while (count && count > text && count[-1] != '\n')
		count--;
	if (status || !count || *count < '0' || *count > '9')
		doctor_say(DOCTOR_NOTE, "perf under pcl", "perf stat ends with status %d: %s", status,
			   probe_reason(status, text));
	else
		doctor_say(DOCTOR_GOOD, "perf under pcl", "perf stat counts %ld instructions of pcl --version",
			   atol(count));
}

/* False: it does not run. */
static bool try_perf(char *self, char *perf)
{
	char *argv[] = {perf, "--version", NULL};
	char text[TEXT];
	int status = probe_run(argv, text, sizeof(text));

	cut_line(text);
	if (status || strncmp(text, "perf version", strlen("perf version"))) {
		doctor_say(DOCTOR_NOTE, perf, "%sdoes not run here, status %d: %s",
			   is_script(perf) ? "is a script and " : "", status, probe_reason(status, text));
		return false;
	}
	doctor_say(DOCTOR_GOOD, perf, "%s%s", text, is_script(perf) ? ", by a script" : "");
	try_under_pcl(self, perf);
	return true;
}

/* perf is named by its whole path then: pcl /usr/lib/linux-tools/VERSION/perf stat ... */
static bool try_ubuntu(char *self)
{
	glob_t found = {0};
	bool runs = false;

	glob("/usr/lib/linux-tools/*/perf", 0, NULL, &found);
	glob("/usr/lib/linux-tools-*/perf", GLOB_APPEND, NULL, &found);
	for (size_t i = found.gl_pathc; i > 0 && !runs; i--)
		runs = try_perf(self, found.gl_pathv[i - 1]);
	globfree(&found);
	return runs;
}

void doctor_perf(char *self)
{
	char path[4096];
	bool there = find_perf(path, sizeof(path));

	if (there && try_perf(self, path))
		return;
	if (!there)
		doctor_say(DOCTOR_NOTE, "perf", "not in PATH");
	if (!try_ubuntu(self))
		doctor_say(DOCTOR_NOTE, "linux-tools",
			   "no perf below /usr/lib/linux-tools either; on Debian apt-get install linux-perf, on Ubuntu "
			   "linux-tools-generic");
}
