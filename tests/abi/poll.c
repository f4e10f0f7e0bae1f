/*
 * poll, ppoll, select and pselect6 on events: each wakeup is reported once, to whoever looks first; POLLHUP without a
 * ring buffer and after the end of the monitored task stays. Who waits for one event is not lost when the descriptor of
 * another becomes its duplicate.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/select.h>
#include "tests/abi/wakeup.h"

/* revents, or -errno; 0: not ready within ms. */
static int polled(int fd, short events, int ms)
{
	struct pollfd p = {fd, events, -1};
	int n = poll(&p, 1, ms);

	if (n < 0)
		return -errno;
	expect(n, p.revents != 0);
	return p.revents;
}

static void test_once(void)
{
	struct waker w = waker_open(named_attr(), 0);

	expect(polled(w.fd, POLLIN, 0), POLLHUP);
	expect(polled(w.fd, 0, -1), POLLHUP);
	waker_map(&w);
	expect(polled(w.fd, POLLIN, 0), 0);
	change_name();
	change_name();
	expect(polled(w.fd, POLLIN, -1), POLLIN);
	expect(polled(w.fd, POLLIN, 0), 0);
	change_name();
	expect(polled(w.fd, POLLIN | POLLRDNORM | POLLOUT | POLLPRI, 0), POLLIN | POLLRDNORM);
	change_name();
	expect(polled(w.fd, POLLOUT, 0), 0); /* has taken it all the same */
	expect(polled(w.fd, POLLIN, 0), 0);
	expect(ioctl(w.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	change_name();
	expect(polled(w.fd, POLLIN, 20), 0);
	munmap(w.page, (1 + WAKER_PAGES) * 4096);
	expect(polled(w.fd, POLLIN, 0), POLLHUP);
	close(w.fd);
	expect(polled(w.fd, POLLIN, 0), POLLNVAL);
}

static void test_others(void)
{
	struct waker a = named_open(0), b = named_open(0);
	int end[2], copy = dup(a.fd);
	struct pollfd p[4] = {{a.fd, POLLIN, -1}, {b.fd, POLLIN, -1}, {-1, POLLIN, -1}, {0, POLLIN, -1}};

	expect(pipe(end), 0);
	p[3].fd = end[0];
	expect(poll(p, 4, 0), 0);
	change_name();
	expect(poll(p, 4, 0), 2);
	expect(p[0].revents, POLLIN);
	expect(p[1].revents, POLLIN);
	expect(p[2].revents, 0);
	expect(p[3].revents, 0);
	expect(poll(p, 4, 10), 0);
	expect(write(end[1], "", 1), 1);
	change_name();
	expect(poll(p, 4, -1), 3);
	expect(poll(p, 4, -1), 1);
	expect(p[3].revents, POLLIN);
	change_name();
	expect(polled(copy, POLLIN, 0), POLLIN);
	expect(polled(a.fd, POLLIN, 0), 0);
	close(copy);
	close(end[0]);
	close(end[1]);
	waker_close(&a);
	waker_close(&b);
}

/* Two events, one ring: one wakeup. */
static void test_output(void)
{
	struct waker a = named_open(0), b = waker_open(named_attr(), 0);

	expect(ioctl(b.fd, PERF_EVENT_IOC_SET_OUTPUT, a.fd), 0);
	change_name();
	expect(polled(b.fd, POLLIN, 0), POLLIN);
	expect(polled(a.fd, POLLIN, 0), 0);
	change_name();
	expect(polled(a.fd, POLLIN, 0), POLLIN);
	expect(polled(b.fd, POLLIN, 0), 0);
	close(b.fd);
	waker_close(&a);
}

static void test_clock(void)
{
	struct waker w = clocked_open(0);
	u64 begin, sample = 16;
	int wakeups = 0;

	burn_until(seconds() > 0);
	expect(polled(w.fd, POLLIN, 0), 0);
	expect(ioctl(w.fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	burn_until((wakeups += polled(w.fd, POLLIN, 0)) >= 5);
	expect(ioctl(w.fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	polled(w.fd, POLLIN, 0);
	for (volatile int i = 0; i < 10000000; i++)
		;
	expect(polled(w.fd, POLLIN, 0), 0);

	/* The last overflow disables. Two that come close together are one wakeup. */
	begin = w.page->data_head;
	expect(ioctl(w.fd, PERF_EVENT_IOC_REFRESH, 2), 0);
	burn_until(*(volatile __u64 *)&w.page->data_head - begin >= 2 * sample);
	expect(polled(w.fd, POLLIN, 0), POLLIN);
	for (volatile int i = 0; i < 10000000; i++)
		;
	expect(polled(w.fd, POLLIN, 0), 0);
	expect(w.page->data_head - begin, 2 * sample);
	waker_close(&w);
}

static void test_time(void)
{
	struct waker w = named_open(0);
	struct timespec ts = {0, 30000000};
	struct pollfd p = {w.fd, POLLIN, 0};
	double begin = seconds();

	expect(polled(w.fd, POLLIN, 30), 0);
	expect(seconds() - begin >= 0.03, 1);
	begin = seconds();
	expect(syscall(SYS_ppoll, &p, 1, &ts, NULL, 8), 0);
	expect(seconds() - begin >= 0.03, 1);
	expect(ts.tv_sec == 0 && ts.tv_nsec == 0, 1);
	ts = (struct timespec){10, 0};
	change_name();
	expect(syscall(SYS_ppoll, &p, 1, &ts, NULL, 8), 1);
	expect(ts.tv_sec >= 5 && ts.tv_sec < 10, 1);
	ts = (struct timespec){0, 1000000000};
	expect(syscall(SYS_ppoll, &p, 1, &ts, NULL, 8) < 0 ? -errno : 0, -EINVAL);
	expect(syscall(SYS_ppoll, &p, 1, NULL, &ts, 4) < 0 ? -errno : 0, -EINVAL);
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
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct timespec ts = {0, 50000000};
	struct pollfd p = {w.fd, POLLIN, 0};
	sigset_t block, none, old;
	fd_set in;

	sigaction(SIGALRM, &act, NULL);
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	ualarm(20000, 20000); /* the first may come too early */
	expect(polled(w.fd, POLLIN, -1), -EINTR);
	ualarm(0, 0);
	expect(alarms > 0, 1);
	alarms = 1;
	/* A signal that is pending is let in by the temporary mask only. */
	sigprocmask(SIG_BLOCK, &block, &old);
	raise(SIGALRM);
	expect(polled(w.fd, POLLIN, 20), 0);
	expect(ppoll(&p, 1, &ts, &block), 0);
	expect(alarms, 1);
	expect(ppoll(&p, 1, NULL, &none) < 0 ? -errno : 0, -EINTR);
	expect(alarms, 2);
	raise(SIGALRM);
	FD_ZERO(&in);
	FD_SET(w.fd, &in);
	expect(pselect(w.fd + 1, &in, NULL, NULL, NULL, &none) < 0 ? -errno : 0, -EINTR);
	expect(alarms, 3);
	/* What is ready comes before what is pending. */
	raise(SIGALRM);
	change_name();
	expect(ppoll(&p, 1, NULL, &none), 1);
	expect(alarms, 3);
	sigprocmask(SIG_SETMASK, &old, NULL);
	expect(alarms, 4);
	waker_close(&w);
}

static void test_select(void)
{
	struct waker w = named_open(0);
	struct timeval tv = {0, 20000};
	fd_set in, out, ex;
	int end[2];

	expect(pipe(end), 0);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&ex);
	FD_SET(w.fd, &in);
	FD_SET(w.fd, &out);
	FD_SET(w.fd, &ex);
	expect(select(w.fd + 1, &in, &out, &ex, &tv), 0);
	expect(FD_ISSET(w.fd, &in) || FD_ISSET(w.fd, &out) || FD_ISSET(w.fd, &ex), 0);
	expect(tv.tv_sec == 0 && tv.tv_usec == 0, 1);
	change_name();
	FD_SET(w.fd, &in);
	FD_SET(w.fd, &out);
	FD_SET(end[1], &out);
	FD_SET(end[0], &in);
	tv.tv_sec = 10;
	expect(select(end[1] + 1, &in, &out, NULL, &tv), 2);
	expect(FD_ISSET(w.fd, &in) && FD_ISSET(end[1], &out), 1);
	expect(FD_ISSET(end[0], &in) || FD_ISSET(w.fd, &out), 0);
	expect(tv.tv_sec, 9);
	/* POLLHUP makes it readable. */
	munmap(w.page, (1 + WAKER_PAGES) * 4096);
	expect(select(w.fd + 1, &in, NULL, NULL, NULL), 1);
	close(end[0]);
	FD_SET(end[0], &in);
	expect(select(end[1] + 1, &in, NULL, NULL, NULL) < 0 ? -errno : 0, -EBADF);
	tv = (struct timeval){0, -1};
	FD_ZERO(&in);
	FD_SET(w.fd, &in);
	expect(select(w.fd + 1, &in, NULL, NULL, &tv) < 0 ? -errno : 0, -EINVAL);
	close(end[1]);
	close(w.fd);
}

/* Records of another process end the wait. */
static void test_woken(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);
	struct timeval tv = {10, 0};
	fd_set in;

	tell_later(&c, 'n');
	expect(polled(w.fd, POLLIN, 10000), POLLIN);
	told_answer(&c);
	expect(polled(w.fd, POLLIN, 0), 0);
	tell_later(&c, 'n');
	FD_ZERO(&in);
	FD_SET(w.fd, &in);
	expect(select(w.fd + 1, &in, NULL, NULL, &tv), 1);
	told_answer(&c);
	waker_close(&w);
	told_end(&c);
}

/* However the wakeup and the begin of the wait meet, none is lost. */
static void test_race(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);

	for (int i = 0; i < 300; i++) {
		expect(write(c.to, "n", 1), 1);
		expect(polled(w.fd, POLLIN, 10000), POLLIN);
		told_answer(&c);
	}
	waker_close(&w);
	told_end(&c);
}

static pthread_barrier_t begun;

static void *waits_a_moment(void *fd)
{
	pthread_barrier_wait(&begun);
	expect(polled(*(int *)fd, POLLIN, 300), 0);
	return NULL;
}

static void *waits_long(void *fd)
{
	double begin = seconds();

	pthread_barrier_wait(&begun);
	expect(polled(*(int *)fd, POLLIN, 5000), POLLIN);
	expect(seconds() - begin < 4, 1);
	return NULL;
}

/* The descriptor that one thread waits for becomes the event that another one waits for. */
static void test_replaced(void)
{
	struct waker a = named_open(0), b = named_open(0);
	pthread_t first, second;

	pthread_barrier_init(&begun, NULL, 3);
	expect(pthread_create(&first, NULL, waits_a_moment, &a.fd), 0);
	expect(pthread_create(&second, NULL, waits_long, &b.fd), 0);
	expect(polled(a.fd, POLLIN, 0), POLLIN); /* of the threads' beginnings */
	expect(polled(b.fd, POLLIN, 0), POLLIN);
	pthread_barrier_wait(&begun);
	sleep_ms(100);
	expect(dup2(b.fd, a.fd), a.fd);
	pthread_join(first, NULL);
	change_name();
	pthread_join(second, NULL);
	waker_close(&a);
	waker_close(&b);
}

int main(void)
{
	test_once();
	test_others();
	test_output();
	test_clock();
	test_time();
	test_signals();
	test_select();
	test_woken();
	test_race();
	test_replaced();
	return perf_result();
}
