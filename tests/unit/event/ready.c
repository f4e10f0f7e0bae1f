/* What is ready of events, who waits for it, and registrations with epoll instances. */
#include <linux/eventpoll.h>
#include "event/map.h"
#include "event/ready.h"
#include "event/ring.h"
#include "event/watch.h"
#include "tests/unit/event/fake.h"

#define IN 0x41u /* EPOLLIN | EPOLLRDNORM */
#define STICKY ((u32)EPOLLERR | EPOLLHUP)
#define DATA 0x123456789abcdef0ul

static struct event *event_of(long fd)
{
	return event_slot(event_files_lookup(fake_current, (u64)fd));
}

static void wake(long fd)
{
	ring_of(event_of(fd))->poll = IN;
	event_of(fd)->wakes++;
}

/* An event of the task, by pid or 0, with a ring. */
static long open_mapped(s32 pid)
{
	struct event_map_request rq = {.len = 2 * PAGE_SIZE, .prot = 3, .flags = 1};
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long fd = fake_open(&attr, pid, -1, -1, 0);

	expect_long(event_map_begin(fake_current, (u64)fd, &rq), 0);
	rq.addr = 0x1000000ul * (u64)(fd + 1);
	event_map_commit(&rq);
	return fd;
}

static void test_ready(void)
{
	long fd;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	expect_long(event_ready(1, (u64)fd), EPOLLHUP);
	expect_long(event_ready(1, (u64)fd + 1), 0);
	fd = open_mapped(0);
	expect_long(event_ready(1, (u64)fd), 0);
	wake(fd);
	expect_long(event_ready(1, (u64)fd), IN);
	expect_long(event_ready(1, (u64)fd), 0);
	wake(fd);
	expect_long(control(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	event_of(fd)->tally.state = PERF_STATE_ERROR;
	expect_long(event_ready(1, (u64)fd), EPOLLERR);
}

/* The end is told to those who wait, and stays; who took the news for others tells them again. */
static void test_exit(void)
{
	struct event_awaited what;
	long fd;

	fake_session();
	fake_fork(1, 2, 0);
	fd = open_mapped(1002);
	expect_long(event_wait_begin(1, (u64)fd, &what), true);
	expect_long(event_wait_begin(1, (u64)fd, &what), true);
	wake(fd);
	fake[2].alive = false;
	event_task_exit(2);
	expect_long(fake_wakes.calls, 1);
	expect_long(fake_wakes.kill, 0);
	expect_long(event_ready(1, (u64)fd), EPOLLHUP);
	expect_long(event_ready(1, (u64)fd), EPOLLHUP);
	event_wait_end(&what);
	event_ready_missed(1, (u64)fd);
	expect_long(fake_wakes.calls, 2);
	event_wait_end(&what);
	event_wait_end(&what);
	event_ready_missed(1, (u64)fd);
	expect_long(fake_wakes.calls, 2);
	expect_long(event_of(fd)->waiters, 0);
	expect_long(event_wait_begin(1, (u64)open_mapped(0), &what), false);
}

/* The descriptor becomes another event's while somebody waits for each: the other one's waiter stays. */
static void test_replaced(void)
{
	struct event_awaited first, second;
	long a, b;

	fake_session();
	a = open_mapped(0);
	b = open_mapped(0);
	event_wait_begin(1, (u64)a, &first);
	event_wait_begin(1, (u64)b, &second);
	expect_long(event_wait_is(&first, 1, (u64)a), true);
	expect_long(event_files_dup(1, (u64)b, (u64)a), 0);
	expect_long(event_wait_is(&first, 1, (u64)a), false);
	event_wait_end(&first);
	expect_long(event_of(b)->waiters, 1);
	event_wait_end(&second);
	expect_long(event_of(b)->waiters, 0);
}

static u32 take(u32 watch)
{
	u64 data = 0;
	u32 bits = event_watch_take(watch, &data);

	if (bits)
		expect_long(data, DATA);
	return bits;
}

static void test_watch(void)
{
	u32 watch, other;
	long fd;

	fake_session();
	fd = open_mapped(0);
	expect(!event_watched());
	expect_long(event_watch_get(1, 9, 77), 0);
	watch = event_watch_get(1, 9, (s32)fd);
	expect(watch && event_watched());
	expect_long(event_of(fd)->waiters, 1);
	expect_long(event_watch_get(1, 9, (s32)fd), watch);
	other = event_watch_get(1, 10, (s32)fd);
	expect(other != watch);
	event_watch_put(other, true);
	expect_long(event_of(fd)->waiters, 1);
	wake(fd);
	expect_long(take(watch), 0); /* not set yet */
	event_watch_set(watch, EPOLLIN | STICKY, DATA);
	event_watch_put(watch, true);
	expect_long(take(watch), 0); /* setting has taken it */
	wake(fd);
	expect_long(take(watch), EPOLLIN);
	expect_long(take(watch), 0);
	event_watch_set(watch, EPOLLONESHOT | IN | STICKY, DATA);
	wake(fd);
	expect_long(take(watch), IN);
	wake(fd);
	expect_long(take(watch), 0);
	event_watch_put(watch, false);
	expect_long(event_of(fd)->waiters, 0);
	expect_long(take(watch), 0);
	expect_long(take(EVENT_WATCHES - 1), 0);
	expect_long(fake_wakes.calls, 0);
}

/* Level triggered, POLLHUP is told again by each look; edge triggered, by none. */
static void test_sticky(void)
{
	long fd;
	u32 watch;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	watch = event_watch_get(1, 9, (s32)fd);
	event_watch_set(watch, EPOLLIN | STICKY, DATA);
	event_watch_missed(watch);
	expect_long(fake_wakes.calls, 1);
	expect_long(take(watch), EPOLLHUP);
	event_watch_missed(watch);
	expect_long(fake_wakes.calls, 2);
	event_watch_set(watch, EPOLLET | STICKY, DATA);
	expect_long(take(watch), EPOLLHUP);
	expect_long(take(watch), 0);
	event_watch_missed(watch);
	expect_long(fake_wakes.calls, 2);
}

/* Of several registrations each has news until it has looked, whoever has taken the datagram. */
static void test_several(void)
{
	u32 first, second;
	long fd;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	first = event_watch_get(1, 9, (s32)fd);
	second = event_watch_get(1, 10, (s32)fd);
	event_watch_set(first, EPOLLET | EPOLLONESHOT | STICKY, DATA);
	event_watch_set(second, EPOLLET | STICKY, DATA);
	expect_long(take(first), EPOLLHUP);
	expect(!event_watch_listed(first) && event_watch_listed(second));
	event_watch_missed(first);
	expect_long(fake_wakes.calls, 1);
	event_of(fd)->wakes++;
	expect(!event_watch_listed(first)); /* EPOLLONESHOT, and it was */
	expect_long(take(second), EPOLLHUP);
	event_watch_missed(second);
	expect_long(fake_wakes.calls, 1);
	event_ready_missed(1, (u64)fd);
	expect_long(fake_wakes.calls, 1);
}

#define WATCHES 1000

/* Numbers are used again once their event is gone, and not before. */
static void test_full(void)
{
	u32 watch = 0, n = 0;
	long fd, late;

	fake_session();
	event_space->limits.watches = WATCHES;
	fd = open_mapped(0);
	late = open_simple(PERF_TYPE_RAW, 0, -1);
	while ((watch = event_watch_get(1, 100 + (s32)n, (s32)fd)))
		n++;
	expect_long(n, WATCHES - 1);
	expect_long(event_watch_get(1, 1, (s32)late), 0);
	expect(event_map_any(1, 0, ~0ul));
	event_map_remove_begin(1, 0, ~0ul);
	event_map_remove_end(1, 0, ~0ul, true);
	event_files_close(1, (u64)fd);
	expect(event_watch_get(1, 1, (s32)late) != 0);
}

/* Whoever waits, in whatever process, finds a descriptor of its own. */
static void test_processes(void)
{
	long fd;
	u32 watch;

	fake_session();
	fd = open_mapped(0);
	watch = event_watch_get(1, 9, (s32)fd);
	expect(!event_watch_far(1));
	expect_long(event_watch_fd(watch, 1), fd);
	fake_fork(1, 2, 0);
	expect_long(event_watch_fd(watch, 2), fd);
	expect_long(event_files_dup(2, (u64)fd, 40), 0);
	event_files_close(2, (u64)fd);
	expect_long(event_watch_fd(watch, 2), 40);
	event_files_close(2, 40);
	expect_long(event_watch_fd(watch, 2), -1);
	expect_long(event_watch_fd(0, 1), -1);
	fd = open_mapped(1002);
	expect(event_watch_get(1, 9, (s32)fd) != 0);
	expect(event_watch_far(1));
	expect(!event_watch_far(2));
}

int main(void)
{
	test_ready();
	test_exit();
	test_replaced();
	test_watch();
	test_sticky();
	test_several();
	test_full();
	test_processes();
	return unit_result();
}
