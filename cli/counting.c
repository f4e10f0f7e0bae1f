/* See counting.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>
#include "cli/counting.h"
#include "cli/event_names.h"
#include "cli/family.h"
#include "cli/find.h"
#include "cli/launch.h"
#include "cli/pids.h"
#include "cli/pin.h"
#include "cli/regions.h"
#include "cli/stay.h"
#include "os/session/arena.h"

/* A program that is run, and who watches it. */
struct watched {
	const struct watcher *by;
	void *arg;
	struct family family;
};

/* The child waits at `go` and tells at `failed` with which status its execve failed. */
struct start {
	int go[2], failed[2];
};

static u64 monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ul + (u64)ts.tv_nsec;
}

static void __attribute__((noreturn)) become_program(const struct start *s, const struct program *program, char **argv)
{
	int status;
	char c;

	close(s->go[1]);
	if (read(s->go[0], &c, 1) != 1)
		_exit(LAUNCH_FAILED);
	prctl(PIN_ANEW);
	pin_environment();
	status = launch_inside(program, argv);
	_exit(write(s->failed[1], &status, sizeof(status)) == sizeof(status) ? status : LAUNCH_FAILED);
}

static pid_t start_program(struct start *s, const struct program *program, char **argv)
{
	pid_t pid;

	if (pipe2(s->go, O_CLOEXEC) || pipe2(s->failed, O_CLOEXEC)) {
		fprintf(stderr, "pcl: cannot make a pipe: %s\n", strerror(errno));
		return -1;
	}
	pids_begin_again();
	pid = stay_fork();
	if (!pid)
		become_program(s, program, argv);
	close(s->go[0]);
	close(s->failed[1]);
	return pid;
}

static int open_event(struct spec *s, pid_t pid, int group)
{
	regions_wait(&s->attr, group < 0);
	s->attr.inherit = 1;
	s->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return (int)syscall(SYS_perf_event_open, &s->attr, pid, -1, group, PERF_FLAG_FD_CLOEXEC);
}

/* The plain way: `arg` is an array of descriptors that are -1. */
static int plain_open(void *arg, struct specs *specs, pid_t pid, int *refused)
{
	int *fd = arg;

	for (int i = 0; i < specs->nr; i++) {
		struct spec *s = &specs->spec[i];

		fd[i] = open_event(s, pid, s->leader >= 0 && s->leader != i ? fd[s->leader] : -1);
		if (fd[i] < 0) {
			*refused = i;
			return errno;
		}
	}
	return 0;
}

static int plain_read(void *arg, int event, u64 value[3])
{
	const int *fd = arg;

	return read(fd[event], value, 3 * sizeof(*value)) == 3 * sizeof(*value) ? 0 : -1;
}

static const struct watcher plain_watcher = {plain_open, NULL, plain_read, NULL, NULL};

static void drain(void *arg)
{
	struct watched *w = arg;

	family_drain(&w->family);
	if (w->by->drain)
		w->by->drain(w->arg);
}

/* As perf does, where events take turns. */
static void estimate(struct spec *s, struct reading *r)
{
	if (!r->running) {
		s->class = UNCOUNTED;
	} else if (r->running < r->enabled) {
		r->count = (u64)((double)r->count * (double)r->enabled / (double)r->running + 0.5);
		s->class = ESTIMATED;
	}
}

static int complain_no_counter(const struct spec *s)
{
	fprintf(stderr, "pcl: %s found no counter (--counters, or an exclusive event): shares are not estimated\n",
		s->name);
	return LAUNCH_FAILED;
}

/* Then all counts are 0 for a reason of the program's, whoever watches it. */
static bool never_enabled(const struct specs *specs, const struct run *run)
{
	if (!run->began)
		return true;
	for (int i = 0; i < specs->nr; i++)
		if (run->reading[i].enabled)
			return false;
	return regions_are_wanted();
}

static int read_all(struct specs *specs, const struct watcher *w, void *arg, struct run *out)
{
	for (int i = 0; i < specs->nr; i++) {
		u64 value[3];

		if (w->read(arg, i, value)) {
			fprintf(stderr, "pcl: cannot read %s: %s\n", specs->spec[i].name, strerror(errno));
			return LAUNCH_FAILED;
		}
		out->reading[i] = (struct reading){value[0], value[1], value[2]};
	}
	for (int i = 0; i < specs->nr; i++)
		if (w == &plain_watcher || never_enabled(specs, out))
			estimate(&specs->spec[i], &out->reading[i]);
		else if (!out->reading[i].running)
			return complain_no_counter(&specs->spec[i]);
	return 0;
}

/* The program has its events: it goes, and ends. Returns 0 or the status of one that could not be executed. */
static int let_run(const struct start *s, pid_t pid, struct watched *w, struct run *out)
{
	u64 begin = monotonic();
	int failed, leavers = regions_leavers();

	if (write(s->go[1], "", 1) != 1 && errno != EPIPE) /* a signal may have ended it while it waited */
		return LAUNCH_FAILED;
	out->status = stay_wait(pid, drain, w);
	out->elapsed = pin_chosen()->virtual ? 0 : monotonic() - begin;
	drain(w);
	out->began = family_began(&w->family);
	out->still_running = family_alive(&w->family);
	out->leavers = regions_leavers() - leavers;
	return read(s->failed[0], &failed, sizeof(failed)) == sizeof(failed) ? failed : 0;
}

static void end_unstarted(const struct start *s, pid_t pid)
{
	close(s->go[1]);
	stay_wait(pid, NULL, NULL);
	close(s->failed[0]);
}

static int complain_refused(const struct spec *s, int err)
{
	fprintf(stderr, "pcl: %s: %s\n", s->name, spec_refusal(s, err));
	return LAUNCH_FAILED;
}

static int run_opened(struct specs *specs, const struct start *s, pid_t pid, struct watched *w, struct run *out)
{
	int refused = 0, err = w->by->open(w->arg, specs, pid, &refused);

	if (err) {
		end_unstarted(s, pid);
		return complain_refused(&specs->spec[refused], err);
	}
	err = let_run(s, pid, w, out);
	close(s->go[1]);
	close(s->failed[0]);
	return err ? err : read_all(specs, w->by, w->arg, out);
}

const char *counting_why_never(const struct run *run, int event)
{
	const struct reading *r = &run->reading[event];

	if (r->running)
		return NULL;
	if (!run->began)
		return "the program ended before its first instruction";
	return !r->enabled && regions_are_wanted() ? "no region began" : "other events were pinned";
}

int counting_watched(struct specs *specs, char **argv, const struct watcher *by, void *arg, struct run *out)
{
	struct watched w = {.by = by, .arg = arg};
	struct program program;
	struct start s;
	pid_t pid;
	int status = find_program(argv[0], &program);

	out->reading = calloc((size_t)specs->nr, sizeof(*out->reading));
	if (status || !out->reading)
		return status ? status : LAUNCH_FAILED;
	pid = start_program(&s, &program, argv);
	if (pid < 0)
		return LAUNCH_FAILED;
	family_open(&w.family, pid, by->see, arg);
	status = run_opened(specs, &s, pid, &w, out);
	family_close(&w.family);
	if (by->close)
		by->close(arg);
	return status;
}

int counting_run(struct specs *specs, char **argv, bool shares, struct run *out)
{
	int *fd = malloc((size_t)specs->nr * sizeof(*fd)), status;

	*out = (struct run){0};
	if (!fd)
		return LAUNCH_FAILED;
	memset(fd, -1, (size_t)specs->nr * sizeof(*fd));
	if (shares)
		status = counting_watched(specs, argv, &tasks_watcher, &out->tasks, out);
	else
		status = counting_watched(specs, argv, &plain_watcher, fd, out);
	for (int i = 0; i < specs->nr; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	free(fd);
	return status;
}
