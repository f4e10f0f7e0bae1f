/*
 * epoll on events: level triggered, edge triggered and one-shot, each wakeup is reported once; POLLHUP is reported by
 * every level-triggered wait. Instances that are inherited and duplicated, and other files in the same instance, go on
 * as they do.
 */
#include <sys/epoll.h>
#include "tests/abi/wakeup.h"

#define DATA 0xfedcba9876543210ul

static long control(int ep, int op, int fd, unsigned int events, unsigned long data)
{
	struct epoll_event item = {events, {.u64 = data}};

	return epoll_ctl(ep, op, fd, &item) < 0 ? -errno : 0;
}

/* The events of the only item that is ready, whose data must be DATA; 0: nothing within ms, or -errno. */
static long waited(int ep, int ms)
{
	struct epoll_event item[2] = {{0}};
	int n = epoll_wait(ep, item, 2, ms);

	if (n < 0)
		return -errno;
	expect(n <= 1, 1);
	expect(n ? item[0].data.u64 == DATA : 1, 1);
	return n ? (long)item[0].events : 0;
}

static void test_level(void)
{
	struct waker w = named_open(0);
	int ep = epoll_create1(EPOLL_CLOEXEC);

	change_name();
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0); /* takes what was there */
	expect(waited(ep, 0), 0);
	change_name();
	change_name();
	expect(waited(ep, -1), EPOLLIN);
	expect(waited(ep, 0), 0);
	change_name();
	expect(waited(ep, 10), EPOLLIN);
	expect(waited(ep, 10), 0);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), -EEXIST);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLIN | EPOLLRDNORM | EPOLLOUT, DATA), 0);
	change_name();
	expect(waited(ep, 0), EPOLLIN | EPOLLRDNORM);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLOUT, DATA), 0);
	change_name();
	expect(waited(ep, 0), 0);
	expect(control(ep, EPOLL_CTL_DEL, w.fd, 0, 0), 0);
	expect(control(ep, EPOLL_CTL_DEL, w.fd, 0, 0), -ENOENT);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLIN, DATA), -ENOENT);
	change_name();
	expect(waited(ep, 0), 0);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	change_name();
	expect(waited(ep, 0), EPOLLIN);
	waker_close(&w);
	expect(waited(ep, 0), 0);
	close(ep);
}

static void test_edge(void)
{
	struct waker w = named_open(0);
	int ep = epoll_create1(0);

	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN | EPOLLET, DATA), 0);
	for (int i = 0; i < 20; i++) {
		change_name();
		expect(waited(ep, -1), EPOLLIN);
		expect(waited(ep, 0), 0);
	}
	for (int i = 0; i < 20; i++)
		change_name();
	expect(waited(ep, -1), EPOLLIN);
	expect(waited(ep, 0), 0);
	close(ep);
	waker_close(&w);
}

static void test_oneshot(void)
{
	struct waker w = named_open(0);
	int ep = epoll_create1(0);

	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN | EPOLLONESHOT, DATA), 0);
	change_name();
	expect(waited(ep, -1), EPOLLIN);
	change_name();
	expect(waited(ep, 10), 0);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLIN | EPOLLONESHOT, DATA), 0);
	expect(waited(ep, 10), 0); /* MOD has taken that one */
	change_name();
	expect(waited(ep, -1), EPOLLIN);
	expect(control(ep, EPOLL_CTL_DEL, w.fd, 0, 0), 0);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN | EPOLLONESHOT | EPOLLEXCLUSIVE, DATA), -EINVAL);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN | EPOLLEXCLUSIVE, DATA), 0);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLIN, DATA), -EINVAL);
	change_name();
	expect(waited(ep, -1), EPOLLIN);
	close(ep);
	waker_close(&w);
}

static void test_hup(void)
{
	struct waker w = waker_open(named_attr(), 0);
	int ep = epoll_create1(0);

	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	for (int i = 0; i < 20; i++)
		expect(waited(ep, -1), EPOLLHUP);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, 0, DATA), 0);
	expect(waited(ep, -1), EPOLLHUP);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLET, DATA), 0);
	expect(waited(ep, -1), EPOLLHUP);
	expect(waited(ep, 10), 0);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLIN | EPOLLONESHOT, DATA), 0);
	expect(waited(ep, -1), EPOLLHUP);
	expect(waited(ep, 10), 0);
	expect(control(ep, EPOLL_CTL_MOD, w.fd, EPOLLIN, DATA), 0);
	waker_map(&w);
	expect(waited(ep, 10), 0);
	change_name();
	expect(waited(ep, -1), EPOLLIN);
	close(ep);
	waker_close(&w);
}

/* Two instances with the same event: what one reports, the other one still does. */
static void test_two(void)
{
	struct waker w = waker_open(named_attr(), 0);
	int once = epoll_create1(0), ep = epoll_create1(0);

	expect(control(once, EPOLL_CTL_ADD, w.fd, EPOLLIN | EPOLLET | EPOLLONESHOT, DATA), 0);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN | EPOLLET, DATA), 0);
	expect(waited(once, 0), EPOLLHUP);
	expect(waited(ep, 0), EPOLLHUP);
	expect(waited(ep, 10), 0);
	expect(control(once, EPOLL_CTL_MOD, w.fd, EPOLLIN, DATA), 0);
	expect(waited(once, 0), EPOLLHUP);
	expect(waited(once, 0), EPOLLHUP);
	expect(waited(ep, 10), 0);
	waker_map(&w);
	expect(waited(once, 0), 0);
	change_name();
	expect(waited(ep, 0), EPOLLIN);
	expect(waited(once, 0), 0); /* there is one wakeup for both */
	close(ep);
	close(once);
	waker_close(&w);
}

/* A wakeup that has signalled is there for epoll, too, after the signal was taken; and there is one signal. */
static void test_signalled(void)
{
	struct timespec none = {0, 0};
	struct waker w = named_open(0);
	int ep = epoll_create1(0);
	sigset_t set, old;
	siginfo_t s;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, &old);
	expect(fcntl(w.fd, F_SETSIG, SIGRTMIN), 0);
	expect(fcntl(w.fd, F_SETOWN, getpid()), 0);
	expect(fcntl(w.fd, F_SETFL, fcntl(w.fd, F_GETFL) | O_ASYNC), 0);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	for (int i = 0; i < 20; i++) {
		change_name();
		expect(sigtimedwait(&set, &s, &none), SIGRTMIN);
		expect(s.si_fd, w.fd);
		expect(sigtimedwait(&set, &s, &none) < 0 ? -errno : 0, -EAGAIN);
		expect(waited(ep, 0), EPOLLIN);
		expect(waited(ep, 0), 0);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(ep);
	waker_close(&w);
}

/* An item of which nothing is ready does not hide the next one, where there is room for one. */
static void test_room(void)
{
	struct waker quiet = waker_open(named_attr(), 0), w = waker_open(named_attr(), 0);
	struct epoll_event item;
	int ep = epoll_create1(0);

	expect(control(ep, EPOLL_CTL_ADD, quiet.fd, 0, DATA + 1), 0);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, 0, DATA), 0);
	waker_map(&quiet);
	change_name();
	expect(epoll_wait(ep, &item, 1, 0), 1);
	expect(item.data.u64 == DATA, 1);
	close(ep);
	waker_close(&quiet);
	close(w.fd);
}

/* Several events and a pipe in one instance, and room for fewer than are ready. */
static void test_many(void)
{
	struct epoll_event item[4];
	struct waker w[2] = {named_open(0), named_open(0)};
	int ep = epoll_create(1), end[2];
	unsigned long seen = 0;

	expect(pipe(end), 0);
	expect(control(ep, EPOLL_CTL_ADD, end[0], EPOLLIN, DATA + 2), 0);
	for (int i = 0; i < 2; i++)
		expect(control(ep, EPOLL_CTL_ADD, w[i].fd, EPOLLIN, DATA + i), 0);
	expect(write(end[1], "", 1), 1);
	change_name();
	expect(epoll_wait(ep, item, 4, -1), 3);
	for (int i = 0; i < 3; i++)
		seen += 1ul << (item[i].data.u64 - DATA) * 8;
	expect(seen, 0x010101);
	expect(epoll_wait(ep, item, 4, 0), 1);
	expect(item[0].data.u64 == DATA + 2, 1);
	expect(control(ep, EPOLL_CTL_DEL, end[0], 0, 0), 0);
	change_name();
	for (seen = 0; epoll_wait(ep, item, 1, 0) == 1;)
		seen += 1ul << (item[0].data.u64 - DATA) * 8;
	expect(seen, 0x0101);
	expect(epoll_wait(ep, item, 0, 0) < 0 ? -errno : 0, -EINVAL);
	expect(epoll_wait(end[0], item, 1, 0) < 0 ? -errno : 0, -EINVAL);
	change_name();
	expect(syscall(SYS_epoll_wait, ep, NULL, 1, 0) < 0 ? -errno : 0, -EFAULT);
	expect(control(end[0], EPOLL_CTL_ADD, w[0].fd, EPOLLIN, DATA), -EINVAL);
	expect(control(-1, EPOLL_CTL_ADD, w[0].fd, EPOLLIN, DATA), -EBADF);
	expect(syscall(SYS_epoll_ctl, ep, EPOLL_CTL_MOD, w[0].fd, NULL) < 0 ? -errno : 0, -EFAULT);
	close(end[0]);
	close(end[1]);
	close(ep);
	waker_close(&w[0]);
	waker_close(&w[1]);
}

/* Linux 5.11 has it. */
static void test_pwait2(int ep)
{
	struct timespec ts = {0, 30000000};
	struct epoll_event item;
	double begin = seconds();
	long n = syscall(SYS_epoll_pwait2, ep, &item, 1, &ts, NULL, 8);

	if (n < 0 && errno == ENOSYS)
		return;
	expect(n, 0);
	expect(seconds() - begin >= 0.03, 1);
	ts.tv_nsec = -1;
	expect(syscall(SYS_epoll_pwait2, ep, &item, 1, &ts, NULL, 8) < 0 ? -errno : 0, -EINVAL);
	change_name();
	expect(syscall(SYS_epoll_pwait2, ep, &item, 1, NULL, NULL, 8), 1);
	expect(item.events, EPOLLIN);
}

static void test_time(void)
{
	struct waker w = named_open(0);
	int ep = epoll_create1(0);
	double begin = seconds();

	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	expect(waited(ep, 30), 0);
	expect(seconds() - begin >= 0.03, 1);
	test_pwait2(ep);
	close(ep);
	waker_close(&w);
}

static volatile int alarms;

static void on_alarm(int signo)
{
	alarms++;
}

static void test_signals(void)
{
	struct waker w = named_open(0);
	struct epoll_event item;
	sigset_t block, none, old;
	int ep = epoll_create1(0);

	signal(SIGALRM, on_alarm);
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	ualarm(20000, 20000); /* the first may come too early */
	expect(waited(ep, -1), -EINTR);
	ualarm(0, 0);
	expect(alarms > 0, 1);
	alarms = 1;
	sigprocmask(SIG_BLOCK, &block, &old);
	raise(SIGALRM);
	expect(epoll_pwait(ep, &item, 1, 20, &block), 0);
	expect(alarms, 1);
	expect(epoll_pwait(ep, &item, 1, -1, &none) < 0 ? -errno : 0, -EINTR);
	expect(alarms, 2);
	sigprocmask(SIG_SETMASK, &old, NULL);
	expect(syscall(SYS_epoll_pwait, ep, &item, 1, 0, &none, 4) < 0 ? -errno : 0, -EINVAL);
	close(ep);
	waker_close(&w);
}

/* Other processes wake, and wait. */
static void test_processes(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);
	int ep = epoll_create1(0), copy = dup(ep), status = -1, pid;

	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	tell_later(&c, 'n');
	expect(waited(ep, 10000), EPOLLIN);
	told_answer(&c);
	close(ep);
	tell_later(&c, 'n');
	expect(waited(copy, 10000), EPOLLIN);
	told_answer(&c);
	pid = fork();
	if (!pid) {
		failures = 0;
		expect(waited(copy, 10000), EPOLLIN);
		expect(waited(copy, 0), 0);
		_exit(failures);
	}
	tell_later(&c, 'n');
	told_answer(&c);
	expect(waitpid(pid, &status, 0), pid);
	expect(status, 0);
	expect(waited(copy, 0), 0);
	close(copy);
	waker_close(&w);
	told_end(&c);
}

/* However the wakeup and the begin of the wait meet, none is lost. */
static void test_race(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);
	int ep = epoll_create1(0);

	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	for (int i = 0; i < 300; i++) {
		expect(write(c.to, "n", 1), 1);
		expect(waited(ep, 10000), EPOLLIN);
		told_answer(&c);
	}
	close(ep);
	waker_close(&w);
	told_end(&c);
}

#define NEGLECTED 60

/* Wakeups of many events that nobody takes do not keep others from being woken. */
static void test_neglected(void)
{
	struct told c = told_new();
	struct waker neglected[NEGLECTED], w = named_open(c.pid);
	int ep = epoll_create1(0), neglects = epoll_create1(0);

	for (int i = 0; i < NEGLECTED; i++) {
		neglected[i] = waker_open(named_attr(), 0);
		neglected[i].page = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, neglected[i].fd, 0);
		expect(neglected[i].page != MAP_FAILED, 1);
		expect(control(neglects, EPOLL_CTL_ADD, neglected[i].fd, EPOLLIN, DATA), 0);
	}
	for (int i = 0; i < 40; i++)
		change_name();
	expect(control(ep, EPOLL_CTL_ADD, w.fd, EPOLLIN, DATA), 0);
	tell_later(&c, 'n');
	expect(waited(ep, 10000), EPOLLIN);
	told_answer(&c);
	for (int i = 0; i < NEGLECTED; i++) {
		munmap(neglected[i].page, 2 * 4096);
		close(neglected[i].fd);
	}
	close(ep);
	close(neglects);
	waker_close(&w);
	told_end(&c);
}

int main(void)
{
	test_level();
	test_edge();
	test_oneshot();
	test_hup();
	test_two();
	test_signalled();
	test_room();
	test_many();
	test_time();
	test_signals();
	test_processes();
	test_race();
	test_neglected();
	return perf_result();
}
