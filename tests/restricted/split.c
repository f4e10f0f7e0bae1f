/*
 * A process that gives up its session's user leaves the session: it can neither see nor disturb who stays, and has
 * counters of its own.
 *
 *   split [threads]     as root, under pcl
 *
 * threads  a second thread is there when the user is given up: then it is the children that leave
 *
 * A child gives up its user and writes over all of pcl's memory that it had found before. Meanwhile the parent counts,
 * samples and counts children, all exactly.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/kill/pages.h"

#define NOBODY 65534
#define LOOPS 200000ul
#define ROUNDS 60
#define PERIOD 1000
#define RING_PAGES 64

static struct {
	volatile int ready, failed, stop;
	volatile unsigned long written;
} *shared;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("%d: %s (%m)\n", getpid(), what);
	fflush(stdout);
	shared->failed = 1;
	_exit(1);
}

static int open_event(pid_t pid, bool inherit, uint64_t period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.inherit = inherit,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
}

static uint64_t value(int fd)
{
	uint64_t v = 0;

	must(read(fd, &v, sizeof(v)) == sizeof(v), "read");
	return v;
}

static void __attribute__((noinline)) work(void)
{
	__asm__ volatile("mov %0, %%rcx\n1: dec %%rcx\njnz 1b" : : "i"(LOOPS) : "rcx", "cc");
}

/* What it counts for work(), the same each time. */
static uint64_t measure(int fd)
{
	uint64_t before = value(fd);

	work();
	return value(fd) - before;
}

/* ---- who leaves ---- */

static void *nap(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* expected: 0: the C library's read() is another one than the parent's. */
static void check_own(uint64_t expected)
{
	int fd = open_event(0, false, 0);

	must(fd >= 0, "perf_event_open of one's own");
	measure(fd);
	if (!expected)
		expected = measure(fd);
	must(measure(fd) == expected && expected > 2 * LOOPS, "the count in the new session");
	close(fd);
}

static void __attribute__((noreturn)) leaver(int inherited, uint64_t expected, bool threads)
{
	pid_t parent = getppid();
	uint64_t *page, v;
	pthread_t t;
	size_t n = find_pages(&page); /* before: mincore tells only the owner of a file */

	must(n, "pages");
	if (threads)
		pthread_create(&t, NULL, nap, NULL);
	must(!setgid(NOBODY) && !setuid(NOBODY), "setuid");
	if (threads) {
		pid_t child = fork();

		if (child) {
			waitpid(child, NULL, 0);
			_exit(0);
		}
		expected = 0;
	}
	must(getuid() == NOBODY && geteuid() == NOBODY, "ids");
	must(read(inherited, &v, sizeof(v)) == 0, "an event of the old session reads as one in its error state");
	must(open_event(parent, false, 0) < 0 && (errno == ESRCH || errno == EACCES), "an event on who stays");
	check_own(expected);
	if (!fork()) {
		check_own(expected);
		_exit(0);
	}
	wait(NULL);
	shared->ready = 1;
	while (!shared->stop) {
		for (size_t i = 0; i < n; i++)
			for (uint64_t at = page[i]; at < page[i] + PAGE; at += 8)
				*(volatile uint64_t *)at = at * 0x9e3779b97f4a7c15ul >> (i + shared->written) % 64;
		shared->written++;
	}
	for (;;)
		;
}

/* ---- who stays ---- */

static void check_samples(struct perf_event_mmap_page *page, uint64_t *seen)
{
	char *data = (char *)page + PAGE;

	while (page->data_tail < page->data_head) {
		struct perf_event_header *h =
			(struct perf_event_header *)(data + page->data_tail % (RING_PAGES * PAGE));

		must(h->type == PERF_RECORD_SAMPLE && h->size == 16, "a record");
		page->data_tail += h->size;
		++*seen;
	}
}

static uint64_t count_child(void)
{
	int fd = open_event(0, true, 0), status;
	uint64_t before = value(fd), after;
	pid_t pid = fork();

	if (!pid) {
		work();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && !status, "a child");
	after = value(fd);
	close(fd);
	return after - before > LOOPS * 2 ? 1 : 0;
}

static void use_all(int fd, uint64_t expected)
{
	int sampled = open_event(0, false, PERIOD);
	struct perf_event_mmap_page *page =
		mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, sampled, 0);
	uint64_t seen = 0;

	must(page != MAP_FAILED, "mmap of an event");
	for (int i = 0; i < ROUNDS || shared->written < 3; i++) {
		must(measure(fd) == expected, "a count of who stays");
		must(count_child(), "a count of a child of who stays");
		check_samples(page, &seen);
		must(i < 10000, "nothing is written");
	}
	ioctl(sampled, PERF_EVENT_IOC_DISABLE, 0);
	check_samples(page, &seen);
	must(seen == value(sampled) / PERIOD, "samples of who stays");
}

int main(int argc, char **argv)
{
	bool threads = argc > 1 && !strcmp(argv[1], "threads");
	uint64_t expected;
	int fd, inherited;
	pid_t pid;

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fd = open_event(0, false, 0);
	inherited = open_event(0, true, 0);
	must(fd >= 0 && inherited >= 0, "perf_event_open");
	measure(fd);
	expected = measure(fd);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		leaver(inherited, expected, threads);
	}
	while (!shared->ready && !shared->failed)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	if (!shared->failed)
		use_all(fd, expected);
	shared->stop = 1;
	kill(-pid, SIGKILL);
	return shared->failed;
}
