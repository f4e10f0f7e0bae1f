/*
 * A member writes into another's events that they signal it, and how. The other one queues no signal to itself that
 * it has not asked for.
 *
 *   raise   under pcl
 *
 * The child writes the fields, so this knows the session's structures.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "event/space.h"
#include "os/session/arena.h"

#define PERIOD 10007
#define EVENTS 8 /* the session's first */
#define ASKED_FOR SIGRTMIN
#define WORK_MS 60

struct event_space *event_space;

static volatile sig_atomic_t got[NSIG + 1], last_fd;
static volatile long sum;

static void on_signal(int signo, siginfo_t *info, void *uc)
{
	got[signo]++;
	last_fd = info->si_fd;
}

static int open_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = PERIOD,
		.wakeup_events = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void ask(int fd)
{
	struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};

	fcntl(fd, F_SETSIG, ASKED_FOR);
	fcntl(fd, F_SETOWN_EX, &owner);
	fcntl(fd, F_SETFL, O_ASYNC);
}

static void write_fields(pid_t parent, int signo)
{
	for (int nr = 1; nr <= EVENTS; nr++) {
		struct event *e = &event_space->event[nr];

		if (!e->id)
			continue;
		e->async_signo = (u32)signo;
		e->async_type = F_OWNER_TID;
		e->async_owner = parent;
		e->async_pid = parent;
	}
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Longer than events that signal are throttled. */
static void work(void)
{
	for (long end = now_ms() + WORK_MS; now_ms() < end;)
		for (long i = 0; i < 100000; i++)
			sum += i;
}

static int failed;

static void expect(const char *what, long seen, int wanted)
{
	if (!!seen == wanted)
		return;
	printf("%s: %ld\n", what, seen);
	failed = 1;
}

int main(void)
{
	const int signals[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGSEGV, SIGRTMIN + 1};
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	int fd = open_event(), silent = open_event(), status;
	pid_t child;

	event_space = arena_event_space();
	if (fd < 0 || silent < 0) {
		perror("perf_event_open");
		return 1;
	}
	sigaction(ASKED_FOR, &sa, NULL);
	sigaction(SIGIO, &sa, NULL);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	work();
	expect("signals before any was asked for", got[ASKED_FOR] + got[SIGIO], 0);
	ask(fd);
	work();
	expect("signals that were asked for", got[ASKED_FOR], 1);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		child = fork();
		if (!child) {
			write_fields(getppid(), signals[i]);
			_exit(0);
		}
		waitpid(child, &status, 0);
		expect("the child", status, 0);
		work();
		expect(strsignal(signals[i]), got[signals[i]], 0);
		expect("SIGIO", got[SIGIO], 0);
	}
	/* Once it asks again, all is as it was. */
	ask(fd);
	got[ASKED_FOR] = 0;
	work();
	expect("signals that were asked for again", got[ASKED_FOR], 1);
	expect("another descriptor", last_fd != fd, 0);
	return failed;
}
