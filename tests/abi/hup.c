/*
 * POLLHUP at the end of a monitored process, however it ends and whoever waits for it; with attr.inherit at the end of
 * the last of its family. Sleepers are woken.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "tests/abi/wakeup.h"

static int polled(int fd, int ms)
{
	struct pollfd p = {fd, POLLIN, -1};

	return poll(&p, 1, ms) < 0 ? -errno : p.revents;
}

/* Until it has hung up. The record of the end is there a moment before that, and may be seen first. */
static int polled_to_end(int fd)
{
	int seen = polled(fd, 10000);

	return seen == POLLIN ? polled(fd, 10000) : seen;
}

static void test_exit(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);

	expect(polled(w.fd, 0), 0);
	told(&c, 'n');
	told(&c, 'x');
	expect(waitid(P_PID, (id_t)c.pid, NULL, WEXITED | WNOWAIT), 0);
	expect(polled(w.fd, 0), POLLHUP); /* not what was there to read */
	expect(polled(w.fd, 0), POLLHUP);
	waker_close(&w);
	told_end(&c);

	c = told_new();
	w = named_open(c.pid);
	tell_later(&c, 'x');
	expect(polled_to_end(w.fd), POLLHUP);
	expect(w.page->data_head, 32); /* the EXIT record */
	waker_close(&w);
	told_end(&c);
}

/* Nobody waits for the child that is killed. */
static void test_killed(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);

	told(&c, 'b');
	kill(c.pid, SIGKILL);
	expect(polled_to_end(w.fd), POLLHUP);
	waker_close(&w);
	told_end(&c);
}

/* A child of the child lives on, and then is killed by somebody who is not its parent. */
static void test_inherited(void)
{
	struct told c = told_new();
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	struct waker w;
	int pid;

	a.inherit = 1;
	w.fd = (int)perf_open(&a, c.pid, 0, -1, 0);
	expect(w.fd >= 0, 1);
	waker_map(&w);
	pid = told(&c, 'f');
	told(&c, 'x');
	waitpid(c.pid, NULL, 0);
	expect(polled(w.fd, 50), 0);
	kill(pid, SIGKILL);
	expect(polled(w.fd, 10000), POLLHUP);
	waker_close(&w);
	close(c.to);
	close(c.from);
}

static volatile int tid, watched_already;

static void *exits_later(void *arg)
{
	tid = (int)syscall(SYS_gettid);
	while (!watched_already)
		sleep_ms(1);
	sleep_ms(50);
	return NULL;
}

static void test_thread(void)
{
	pthread_t thread;
	struct waker w;

	expect(pthread_create(&thread, NULL, exits_later, NULL), 0);
	while (!tid)
		sleep_ms(1);
	w = named_open(tid);
	watched_already = 1;
	expect(polled_to_end(w.fd), POLLHUP);
	pthread_join(thread, NULL);
	waker_close(&w);
}

/* The same for an instance with one event. */
static u32 waited_to_end(int ep)
{
	struct epoll_event item = {0};

	expect(epoll_wait(ep, &item, 1, 10000), 1);
	if (item.events == EPOLLIN)
		expect(epoll_wait(ep, &item, 1, 10000), 1);
	return item.events;
}

static void test_epoll(void)
{
	struct told c = told_new(), d = told_new();
	struct waker w = named_open(c.pid), v = named_open(d.pid);
	struct epoll_event item = {EPOLLIN, {.u64 = 1}};
	int ep = epoll_create1(0), edge = epoll_create1(0);

	expect(epoll_ctl(ep, EPOLL_CTL_ADD, w.fd, &item), 0);
	item.events |= EPOLLET;
	expect(epoll_ctl(edge, EPOLL_CTL_ADD, v.fd, &item), 0);
	tell_later(&c, 'x');
	expect(waited_to_end(ep), EPOLLHUP);
	expect(epoll_wait(ep, &item, 1, 0), 1);
	expect(epoll_wait(ep, &item, 1, -1), 1);
	told(&d, 'b');
	kill(d.pid, SIGKILL);
	expect(waited_to_end(edge), EPOLLHUP);
	expect(epoll_wait(edge, &item, 1, 20), 0);
	close(ep);
	close(edge);
	waker_close(&w);
	waker_close(&v);
	told_end(&c);
	told_end(&d);
}

static struct waker watched;

static void *waits_in_poll(void *arg)
{
	expect(polled_to_end(watched.fd), POLLHUP);
	return NULL;
}

static void *waits_in_epoll(void *arg)
{
	struct epoll_event item = {EPOLLIN, {.u64 = 1}};
	int ep = epoll_create1(0);

	expect(epoll_ctl(ep, EPOLL_CTL_ADD, watched.fd, &item), 0);
	expect(waited_to_end(ep), EPOLLHUP);
	close(ep);
	return NULL;
}

static void *waits_in_select(void *arg)
{
	struct timeval tv = {10, 0};
	fd_set in;

	FD_ZERO(&in);
	FD_SET(watched.fd, &in);
	expect(select(watched.fd + 1, &in, NULL, NULL, &tv), 1);
	return NULL;
}

/* All who wait are told, whoever is the first to see it. */
static void test_all(void)
{
	static void *(*const waits[3])(void *) = {waits_in_poll, waits_in_epoll, waits_in_select};
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	pthread_t thread[6];

	for (int round = 0; round < 20; round++) {
		struct told c = told_new();

		watched = waker_open(a, c.pid);
		waker_map(&watched);
		for (int i = 0; i < 6; i++)
			pthread_create(&thread[i], NULL, waits[i % 3], NULL);
		sleep_ms(round % 3);
		told(&c, 'x');
		for (int i = 0; i < 6; i++)
			pthread_join(thread[i], NULL);
		waker_close(&watched);
		told_end(&c);
	}
}

int main(void)
{
	test_exit();
	test_killed();
	test_inherited();
	test_thread();
	test_epoll();
	test_all();
	return perf_result();
}
