/* See probe.h. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "abi/types.h"
#include "cli/probe.h"

#define LATE	124
#define NOT_RUN 127

static void __attribute__((noreturn)) become(char *const *argv, int out)
{
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	if (null < 0)
		close(STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execv(argv[0], argv);
	_exit(NOT_RUN);
}

/* Until all that has the other end is gone. False: it takes too long. The text is one at any time. */
static bool read_all(int fd, char *text, size_t size)
{
	time_t end = time(NULL) + PROBE_SECONDS;
	size_t n = 0;

	memset(text, 0, size);
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char rest[512];
		ssize_t got;

		if (time(NULL) >= end)
			return false;
		if (poll(&p, 1, 1000) <= 0)
			continue;
		got = read(fd, rest, sizeof(rest));
		if (got <= 0)
			break;
		got = (ssize_t)MIN((size_t)got, size - 1 - n);
		memcpy(text + n, rest, (size_t)got);
		n += (size_t)got;
	}
	while (n && text[n - 1] == '\n')
		text[--n] = 0;
	return true;
}

const char *probe_reason(int status, const char *text)
{
	static char reason[32];
	const char *sig = status > 128 ? sigabbrev_np(status - 128) : NULL;

	if (status == LATE)
		return "it takes too long";
	if (*text)
		return text;
	if (status == NOT_RUN)
		return "it cannot be executed";
	if (!sig)
		return "it says nothing";
	snprintf(reason, sizeof(reason), "killed by SIG%s", sig);
	return reason;
}

int probe_run(char *const *argv, char *text, size_t size)
{
	int end[2], status;
	bool in_time;
	pid_t pid;

	*text = 0;
	if (pipe2(end, O_CLOEXEC))
		return NOT_RUN;
	pid = fork();
	if (!pid)
		become(argv, end[1]);
	close(end[1]);
	in_time = pid > 0 && read_all(end[0], text, size);
	close(end[0]);
	if (pid < 0)
		return NOT_RUN;
	if (!in_time)
		kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!in_time)
		return LATE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
