/*
 * Descriptors get the lowest free number, and what a thread puts at a number that it knows is free stays there, however
 * often events of other threads wake somebody meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include "tests/abi/wakeup.h"

#define WAKEUPS 20000

static struct waker watched;
static int ready[2]; /* a pipe: the waking thread has its id there */
static volatile int done;

static void *wakes(void *arg)
{
	int tid = (int)syscall(SYS_gettid);

	expect(write(ready[1], &tid, sizeof(tid)), sizeof(tid));
	while (!watched.page)
		sleep_ms(1);
	for (int i = 0; i < WAKEUPS; i++)
		change_name();
	done = 1;
	return NULL;
}

static void *waits(void *arg)
{
	struct pollfd p = {watched.fd, POLLIN, 0};

	for (int wakeups = 0; !done; wakeups++)
		poll(&p, 1, 10);
	return NULL;
}

/* A descriptor at `number`, which is the lowest free one, and back. */
static void take_number(int number)
{
	struct stat before, after;
	int fd = open("/dev/null", O_RDONLY);

	expect(fd, number);
	expect(fstat(fd, &before), 0);
	expect(close(fd), 0);
	expect(dup2(ready[0], number), number);
	expect(fstat(number, &after), 0);
	expect(S_ISFIFO(after.st_mode), 1);
	expect(close(number), 0);
	expect(fcntl(number, F_GETFD) < 0 ? -errno : 0, -EBADF);
}

/* Many datagrams nobody takes: the event is registered, and its instance is never asked. */
static int neglect(void)
{
	struct epoll_event item = {EPOLLIN, {.u64 = 1}};
	int ep = epoll_create1(EPOLL_CLOEXEC);

	expect(epoll_ctl(ep, EPOLL_CTL_ADD, watched.fd, &item), 0);
	return ep;
}

static void count_numbers(int neglected)
{
	pthread_t waking, waiting;
	int tid, number, ep = -1;
	struct waker w;

	done = 0;
	watched.page = NULL;
	expect(pthread_create(&waking, NULL, wakes, NULL), 0);
	expect(read(ready[0], &tid, sizeof(tid)), sizeof(tid));
	w = waker_open(named_attr(), tid);
	watched.fd = w.fd;
	waker_map(&w);
	if (neglected)
		ep = neglect();
	else
		expect(pthread_create(&waiting, NULL, waits, NULL), 0);
	number = dup(0);
	close(number);
	watched.page = w.page;
	while (!done && !failures)
		take_number(number);
	pthread_join(waking, NULL);
	if (neglected)
		close(ep);
	else
		pthread_join(waiting, NULL);
	expect(w.page->data_head > 0, 1);
	waker_close(&w);
}

int main(void)
{
	if (pipe(ready))
		return 1;
	count_numbers(0);
	count_numbers(1);
	return perf_result();
}
