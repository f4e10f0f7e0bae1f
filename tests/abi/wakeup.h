/*
 * Events that wake those who wait for them, for the tests of poll, epoll and signals. `named` ones write a record at
 * every prctl(PR_SET_NAME) of their task, and each wakes; `clocked` ones a sample for each ms of CPU time in user mode.
 */
#ifndef TESTS_ABI_WAKEUP_H
#define TESTS_ABI_WAKEUP_H

#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define WAKER_PAGES 16

struct waker {
	int fd;
	struct perf_event_mmap_page *page;
};

static inline void waker_map(struct waker *w)
{
	w->page = mmap(NULL, (1 + WAKER_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	expect(w->page != MAP_FAILED, 1);
	if (w->page == MAP_FAILED)
		exit(1);
}

static inline struct waker waker_open(struct perf_attr a, int pid)
{
	struct waker w = {.fd = (int)perf_open(&a, pid, -1, -1, 0)};

	expect(w.fd >= 0, 1);
	if (w.fd < 0)
		exit(1);
	return w;
}

static inline struct perf_attr named_attr(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	a.comm = 1;
	a.watermark = 1;
	a.wakeup_watermark = 1;
	return a;
}

static inline struct waker named_open(int pid)
{
	struct waker w = waker_open(named_attr(), pid);

	waker_map(&w);
	return w;
}

static inline struct perf_attr clocked_attr(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_CPU_CLOCK);

	a.sample_period = 1000000;
	a.sample_type = PERF_SAMPLE_IP;
	a.wakeup_events = 1;
	a.disabled = 1;
	return a;
}

static inline struct waker clocked_open(int pid)
{
	struct waker w = waker_open(clocked_attr(), pid);

	waker_map(&w);
	return w;
}

static inline void waker_close(struct waker *w)
{
	munmap(w->page, (1 + WAKER_PAGES) * 4096);
	close(w->fd);
}

/* A record in the rings of the calling task's named events. */
static inline void change_name(void)
{
	prctl(PR_SET_NAME, "waker");
}

static inline double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static inline void sleep_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000l};

	while (nanosleep(&ts, &ts))
		;
}

/* Uses the CPU in user mode until the condition holds, for 5 s at most; then the test has failed. */
#define burn_until(condition)                                                                                          \
	do {                                                                                                           \
		double end_ = seconds() + 5;                                                                           \
		while (!(condition) && seconds() < end_)                                                               \
			for (volatile int i_ = 0; i_ < 100000; i_++)                                                   \
				;                                                                                      \
		expect(!!(condition), 1);                                                                              \
	} while (0)

/*
 * A child that does as it is told by single letters: 'n' changes its name, 'm' does so TOLD_MANY times, 'b' burns
 * 20 ms, 'f' has a child of its own that waits to be killed, 'z' sleeps for 50 ms, 'x' exits. It answers when it has
 * begun with each but 'z', and done 'n' and 'm'.
 */
#define TOLD_MANY 20

struct told {
	int pid, to, from;
};

static inline void told_run(int from, int to)
{
	char what;

	while (read(from, &what, 1) == 1) {
		int pid = -1;

		if (what == 'z') {
			sleep_ms(50);
			continue;
		}
		for (int i = 0; i < (what == 'n' ? 1 : what == 'm' ? TOLD_MANY : 0); i++)
			change_name();
		if (what == 'f')
			pid = fork();
		if (!pid)
			for (;;)
				pause();
		if (write(to, &pid, sizeof(pid)) != sizeof(pid) || what == 'x')
			_exit(0);
		for (clock_t end = clock() + CLOCKS_PER_SEC / 50; what == 'b' && clock() < end;)
			for (volatile int i = 0; i < 10000; i++)
				;
	}
	_exit(0);
}

static inline struct told told_new(void)
{
	int to[2], from[2];
	struct told c;

	if (pipe(to) || pipe(from))
		exit(1);
	c = (struct told){fork(), to[1], from[0]};
	if (!c.pid) {
		close(to[1]);
		close(from[0]);
		told_run(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	return c;
}

/* Its answer: the process id that 'f' has made. */
static inline int told(struct told *c, char what)
{
	int pid = 0;

	expect(write(c->to, &what, 1), 1);
	expect(read(c->from, &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

/* In 50 ms from now; told_answer() takes the answer. */
static inline void tell_later(struct told *c, char what)
{
	char both[2] = {'z', what};

	expect(write(c->to, both, 2), 2);
}

static inline int told_answer(struct told *c)
{
	int pid = 0;

	expect(read(c->from, &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

static inline void told_end(struct told *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->to);
	close(c->from);
}

#endif
