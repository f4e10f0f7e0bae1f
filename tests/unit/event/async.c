/* The signals that an event owes: each wakeup is one, and no news of it is taken for another. */
#include "event/async.h"
#include "tests/unit/event/sampling.h"

/* What is owed to whom an event signals is counted with the wakeup, and taken one by one where signals queue. */
static void test_owed(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10);
	struct event *e;
	long fd;

	sampling_session();
	a.disabled = 1;
	a.wakeup_events = 1;
	fd = open_sampling(&a, -1);
	e = event_of(fd);
	e->async_pid = e->async_owner = 1001;
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 4), 0);
	step(1, 1000);
	expect_long(fake_wakes.calls, 4);
	async_not_sent(e);
	expect_long(async_send_again(e), 1);
	event_lock();
	expect_long(async_take(e, POLL_IN, true), POLL_IN);
	expect_long(async_take(e, POLL_HUP, true), POLL_HUP);
	expect_long(async_take(e, POLL_HUP, true), POLL_IN);
	expect_long(async_take(e, POLL_IN, true), POLL_IN);
	expect_long(async_take(e, POLL_IN, true), 0);
	event_unlock();
	async_not_sent(e);
	expect_long(async_send_again(e), 0);
	/* Others merge. */
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 4), 0);
	step(1, 1000);
	event_lock();
	expect_long(async_take(e, POLL_IN, false), POLL_IN);
	expect_long(async_take(e, POLL_IN, false), POLL_HUP);
	expect_long(async_take(e, POLL_IN, false), 0);
	event_unlock();
	take_samples(fd);
	expect_empty();
}

int main(void)
{
	test_owed();
	return unit_result();
}
