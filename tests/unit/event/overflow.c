/* Where exactly events overflow, and what each overflow does to their periods, limits, groups and families. */
#include "tests/unit/event/sampling.h"

/* Sample i is at first + i * period. */
static void expect_grid(u32 n, u64 first, u64 period)
{
	expect_long(nr_samples, n);
	for (u32 i = 0; i < nr_samples && i < n; i++)
		expect_long(sample[i].ip, first + i * period);
}

static void test_exact(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 7);
	long fd;

	sampling_session();
	step(1, 5);
	fd = open_sampling(&a, -1);
	step(1, 100);
	take_samples(fd);
	expect_grid(14, 12, 7);
	expect_long(sample[3].period, 7);
	expect_long(sample[3].id, event_of(fd)->id);
	expect_long(value_of(fd), 100);
	expect(event_ctx(1)->sampling);
	expect_empty();
	expect(!event_ctx(1)->sampling);
}

/* The distance to the next overflow is kept while the event is off, and a reset does not change it. */
static void test_off_and_on(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10);
	long fd;

	sampling_session();
	fd = open_sampling(&a, -1);
	step(1, 14);
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_valid("off");
	step(1, 100);
	expect_long(fake[1].limit[0], ~0ul);
	control(fd, PERF_EVENT_IOC_ENABLE, 0);
	control(fd, PERF_EVENT_IOC_RESET, 0);
	step(1, 17);
	take_samples(fd);
	expect_long(nr_samples, 3);
	expect_long(sample[0].ip, 10);
	expect_long(sample[1].ip, 120);
	expect_long(sample[2].ip, 130);
	expect_empty();
}

/* The cell of quarters: 3 an instruction, so that overflow i is in instruction i * 20 / 3, rounded up. */
static void test_shift(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 2, 5);
	long fd;

	sampling_session();
	fd = open_sampling(&a, -1);
	step(1, 70);
	take_samples(fd);
	expect_long(nr_samples, 10);
	for (u32 i = 0; i < nr_samples; i++)
		expect_long(sample[i].ip, ((i + 1) * 20 + 2) / 3);
	expect_empty();
	/* Periods shorter than an instruction: one sample each. */
	a.sample_period = 1;
	fd = open_sampling(&a, -1);
	step(1, 4);
	control(fd, PERF_EVENT_IOC_PERIOD, (gva) & (u64){1ul << 62});
	take_samples(fd);
	expect_long(nr_samples, 3);
	expect_empty();
}

/*
 * All that overflow at one instruction have a sample, the leader first; siblings and plain counters do not disturb each
 * other.
 */
static void test_groups(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 6), b = sampling_attr(PERF_TYPE_RAW, 1, 4);
	long leader, sibling, plain;

	sampling_session();
	leader = open_sampling(&a, -1);
	plain = open_simple(PERF_TYPE_RAW, 0, (s32)leader);
	sibling = open_sampling(&b, (s32)leader);
	step(1, 12);
	take_samples(leader);
	expect_long(nr_samples, 5);
	expect_long(sample[0].ip, 4);
	expect_long(sample[1].ip, 6);
	expect_long(sample[2].ip, 8);
	expect_long(sample[3].ip, 12);
	expect_long(sample[3].id, event_of(leader)->id);
	expect_long(sample[4].ip, 12);
	expect_long(sample[4].id, event_of(sibling)->id);
	expect_long(value_of(plain), 12);
	control(leader, PERF_EVENT_IOC_DISABLE, 0);
	step(1, 50);
	control(leader, PERF_EVENT_IOC_ENABLE, 0);
	step(1, 4);
	take_samples(leader);
	expect_long(nr_samples, 1);
	expect_long(sample[0].ip, 66);
	expect_empty();
}

static void test_period(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 100);
	u64 value = 9;
	long fd, plain;

	sampling_session();
	fd = open_sampling(&a, -1);
	plain = open_simple(PERF_TYPE_RAW, 0, -1);
	step(1, 50);
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value), 0);
	step(1, 20);
	take_samples(fd);
	expect_grid(2, 59, 9);
	expect_long(sample[0].period, 9);
	/* The same while it is off. */
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	value = 5;
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value), 0);
	control(fd, PERF_EVENT_IOC_ENABLE, 0);
	step(1, 10);
	take_samples(fd);
	expect_grid(2, 75, 5);
	expect_long(control(plain, PERF_EVENT_IOC_PERIOD, (gva)&value), -EINVAL);
	value = 0;
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value), -EINVAL);
	value = 1ul << 63;
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value), -EINVAL);
	value = 100001;
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value), 0);
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_empty();
	a.freq = 1;
	fd = open_sampling(&a, -1);
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value), -EINVAL);
	value = 100000;
	expect_long(control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value), 0);
	expect_long(event_of(fd)->attr.sample_freq, 100000);
	expect_empty();
}

/* Someone else's change reaches the task before it runs on. */
static void test_change_from_outside(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 1000);
	u64 value = 3;
	u32 kicks;
	long fd;

	sampling_session();
	fake_fork(1, 2, 0);
	memset(fake[2].limit, 0xff, sizeof(fake[2].limit));
	fd = fake_open(&a, 1002, -1, -1, 0);
	give_ring(fd, -1);
	step(2, 10);
	kicks = fake[2].kicks;
	control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value);
	expect(fake[2].kicks > kicks && event_ctx(2)->rearm);
	step(2, 10);
	take_samples(fd);
	expect_grid(3, 13, 3);
	fake_exit(2);
	expect_empty();
}

static void test_refresh(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10);
	long fd, plain;

	sampling_session();
	plain = open_simple(PERF_TYPE_RAW, 0, -1);
	expect_long(control(plain, PERF_EVENT_IOC_REFRESH, 1), -EINVAL);
	a.disabled = 1;
	a.wakeup_events = 1;
	fd = open_sampling(&a, -1);
	event_of(fd)->async_pid = 1001;
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	step(1, 25);
	expect_long(fake_wakes.kill, POLL_IN);
	expect_long(fake_wakes.calls, 2);
	step(1, 5);
	expect_long(fake_wakes.kill, POLL_HUP);
	step(1, 1000);
	expect_long(fake_wakes.calls, 3);
	take_samples(fd);
	expect_grid(3, 10, 10);
	expect_long(value_of(fd), 30);
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	step(1, 1000);
	take_samples(fd);
	expect_grid(2, 1040, 10);
	/* 0 enables without a limit. */
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 0), 0);
	step(1, 100);
	take_samples(fd);
	expect_long(nr_samples, 10);
	expect_empty();
	a.inherit = 1;
	fd = open_sampling(&a, -1);
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 1), -EINVAL);
	expect_empty();
}

/* Each task has a count of its own to the next overflow; all write to the root's ring. */
static void test_inherited(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10);
	u64 value = 4, id;
	long fd;

	sampling_session();
	a.inherit = 1;
	fd = open_sampling(&a, -1);
	id = event_of(fd)->id;
	step(1, 7);
	fake_fork(1, 2, 0);
	memset(fake[2].limit, 0xff, sizeof(fake[2].limit));
	expect_valid("after the fork");
	step(2, 25);
	step(1, 7);
	take_samples(fd);
	expect_long(nr_samples, 3);
	expect_long(sample[0].ip, 10);
	expect_long(sample[1].ip, 20);
	expect_long(sample[2].ip, 10);
	expect(sample[0].id == id && sample[2].id == id);
	/* Linux quirk: IOC_PERIOD is for the root's own counting and for children to come. */
	control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value);
	step(2, 10);
	take_samples(fd);
	expect_grid(1, 30, 0);
	step(1, 4);
	take_samples(fd);
	expect_grid(1, 18, 0);
	fake_exit(2);
	expect_long(value_of(fd), 18 + 35);
	expect_empty();
}

/* A per-CPU event samples every task while that is on the CPU; REFRESH counts their overflows together. */
static void test_per_cpu(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10);
	long fd;

	sampling_session();
	fake_fork(1, 2, CLONE_FILES);
	memset(fake[2].limit, 0xff, sizeof(fake[2].limit));
	a.disabled = 1;
	fd = fake_open(&a, -1, 0, -1, 0);
	give_ring(fd, -1);
	expect_long(control(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	step(1, 15);
	step(2, 5);
	fake[2].cpu = 1;
	event_task_moved(2);
	step(2, 100);
	fake[2].cpu = 0;
	event_task_moved(2);
	step(2, 5);
	take_samples(fd);
	expect_long(nr_samples, 2);
	expect_long(sample[0].ip, 10);
	expect_long(sample[1].ip, 110);
	step(1, 50);
	take_samples(fd);
	expect_grid(1, 20, 0);
	expect_valid("the limit was reached");
	fake_exit(2);
	expect_empty();
}

/* What is polled has a sample for each period that has passed; Linux quirk: with PERF_SAMPLE_PERIOD, for each count. */
static void test_polled(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_SOFTWARE, 1, 10);
	struct snapshot snap;
	u64 value = 20;
	long fd;

	sampling_session();
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	fd = open_sampling(&a, -1);
	fake[1].free_running += 9;
	snap = snapshot_at(1);
	event_poll(1, &snap, NULL);
	fake[1].free_running += 23;
	event_poll(1, &snap, NULL);
	take_samples(fd);
	expect_long(nr_samples, 3);
	/* Linux quirk: a new period begins with an overflow at the next count and one where the old period ends. */
	control(fd, PERF_EVENT_IOC_PERIOD, (gva)&value);
	event_poll(1, &snap, NULL);
	take_samples(fd);
	expect_long(nr_samples, 0);
	fake[1].free_running += 19;
	event_poll(1, &snap, NULL);
	take_samples(fd);
	expect_long(nr_samples, 2);
	fake[1].free_running += 21;
	event_poll(1, &snap, NULL);
	take_samples(fd);
	expect_long(nr_samples, 1);
	expect_empty();
	a.sample_type |= PERF_SAMPLE_PERIOD;
	fd = open_sampling(&a, -1);
	fake[1].free_running += 17;
	event_poll(1, &snap, NULL);
	take_samples(fd);
	expect_long(nr_samples, 17);
	expect_long(sample[16].period, 1);
	expect_empty();
}

/* A clock's timer is set for its limit, and again if it fires early; what has passed is one sample. */
static void test_clock(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_SOFTWARE, 0, 20000);
	long fd;

	sampling_session();
	fd = open_sampling(&a, -1);
	step_slowly(1, 9, 10000);
	overflow(1); /* a timer of wall time: not yet */
	step_slowly(1, 2, 10000);
	take_samples(fd);
	expect_grid(5, 2, 2);
	fake[1].clock += 70000;
	fake_mono += 70000;
	overflow(1);
	take_samples(fd);
	expect_long(nr_samples, 1);
	step_slowly(1, 1, 10000);
	take_samples(fd);
	expect_long(nr_samples, 0);
	step_slowly(1, 2, 10000);
	take_samples(fd);
	expect_long(nr_samples, 1);
	expect_empty();
	rearm(1);
	expect_long(fake_clock_limit, ~0ul);
	/* Never more often than every 10 us, whatever was asked for. */
	a.sample_period = 1;
	fd = open_sampling(&a, -1);
	step_slowly(1, 100, 1000);
	take_samples(fd);
	expect_long(nr_samples, 10);
	expect_long(sample[0].period, 1);
	expect_empty();
	/* Linux quirk: a clock's frequency is a period from the start. */
	a.freq = 1;
	a.sample_freq = 1000;
	fd = open_sampling(&a, -1);
	expect_long(event_of(fd)->attr.freq, 0);
	expect_long(event_of(fd)->attr.sample_period, 1000000);
	expect_empty();
}

/* A per-CPU clock counts the CPU's time; its samples are the tasks'. */
static void test_per_cpu_clock(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_SOFTWARE, 0, 20000);
	long fd;

	sampling_session();
	fd = fake_open(&a, -1, 0, -1, 0);
	give_ring(fd, -1);
	step_slowly(1, 10, 10000);
	fake_mono += 50;
	take_samples(fd);
	expect_grid(5, 2, 2);
	expect_long(value_of(fd), 100050);
	expect_empty();
}

static int hits_init(const struct perf_attr *attr, struct event_source *out)
{
	*out = (struct event_source){.hits = 1};
	return 0;
}

static const struct pmu fake_hits = {
	.name = "breakpoint", .type = PERF_TYPE_BREAKPOINT, .capabilities = PMU_SOFTWARE, .event_init = hits_init};

void bp_pmu_init(void)
{
	pmu_register(&fake_hits);
}

static void hit(long fd, u32 n)
{
	struct event *e = event_of(fd);

	while (n--) {
		struct snapshot snap = snapshot_at(1);
		struct event_hit h = {event_nr(e), e->id, 0x1000, 0};

		executed[1]++;
		event_hit(1, &h, 1, &snap, &result);
	}
}

/* What is hit counts only while it is scheduled in, and overflows at the hit itself. */
static void test_hits(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_BREAKPOINT, 0, 3);
	struct snapshot snap = snapshot_at(1);
	long fd;

	sampling_session();
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	a.sigtrap = a.remove_on_exec = 1;
	fd = open_sampling(&a, -1);
	hit(fd, 2);
	expect(!result.sigtrap);
	hit(fd, 1);
	expect(result.sigtrap);
	expect_long(result.sig_addr, 0x1000);
	hit(fd, 5);
	expect_long(value_of(fd), 8);
	take_samples(fd);
	expect_grid(2, 2, 3);
	/* of an event that was there before */
	event_hit(1, &(struct event_hit){event_nr(event_of(fd)), event_of(fd)->id + 1, 0, 0}, 1, &snap, &result);
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	hit(fd, 3);
	expect_long(value_of(fd), 8);
	control(fd, PERF_EVENT_IOC_ENABLE, 0);
	hit(fd, 1);
	take_samples(fd);
	expect_long(nr_samples, 1);
	expect_empty();
}

static void test_sigtrap(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10);
	long fd;

	sampling_session();
	a.sigtrap = 1;
	a.remove_on_exec = 1;
	a.sig_data = 0x1234;
	fd = open_sampling(&a, -1);
	step(1, 10);
	expect(result.sigtrap);
	expect_long(result.sig_data, 0x1234);
	expect_long(result.sig_type, PERF_TYPE_RAW);
	expect_long(result.sig_addr, 0);
	overflow(1);
	expect(!result.sigtrap);
	event_files_close(1, (u64)fd);
	expect_empty();
}

int main(void)
{
	test_exact();
	test_off_and_on();
	test_shift();
	test_groups();
	test_period();
	test_change_from_outside();
	test_refresh();
	test_inherited();
	test_per_cpu();
	test_polled();
	test_clock();
	test_per_cpu_clock();
	test_hits();
	test_sigtrap();
	return unit_result();
}
