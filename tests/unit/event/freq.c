/* sample_freq: how fast the period follows what the task does; and throttling. */
#include "event/throttle.h"
#include "tests/unit/event/sampling.h"

#define MS 1000000ul

static u64 sample_ns = 200; /* taking a sample takes time, too, so that the first ones are not without end */

/* As step_slowly(), but fast: straight from limit to limit. Instructions take ns each. */
static void run_for(task_id task, u64 duration, u64 ns)
{
	u64 end = fake[task].clock + duration;

	while (fake[task].clock < end) {
		u64 n = (end - fake[task].clock + ns - 1) / ns;

		rearm(task);
		event_tick(task); /* as if it made a system call every now and then */
		n = MIN(n, MAX(MS / ns, 1ul));
		n = MIN(n, fake[task].limit[0] - fake[task].cell[0]);
		if (fake_clock_due[task] && fake_clock_due[task] > fake[task].clock)
			n = MIN(n, (fake_clock_due[task] - fake[task].clock + ns - 1) / ns);
		executed[task] += n;
		fake[task].clock += n * ns;
		fake_mono += n * ns;
		fake[task].cell[0] += n;
		if (at_limit(task)) {
			bool timer = fake[task].cell[0] < fake[task].limit[0];
			u64 took = timer ? 200 : sample_ns;

			fake[task].clock += took;
			fake_mono += took;
			overflow(task);
			if (!timer)
				event_sample_took(task, took);
		}
	}
}

static void expect_between(const char *what, u64 value, u64 low, u64 high)
{
	unit_checks++;
	if (value >= low && value <= high)
		return;
	unit_failures++;
	fprintf(stderr, "%s: %lu is not between %lu and %lu\n", what, (unsigned long)value, (unsigned long)low,
		(unsigned long)high);
}

static long open_freq(u64 freq)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, freq);

	a.freq = 1;
	return open_sampling(&a, -1);
}

static void test_converges(u64 freq)
{
	long fd;

	sampling_session();
	fd = open_freq(freq);
	expect_long(event_of(fd)->period, 1);
	run_for(1, 1000 * MS, 1);
	take_samples(fd);
	expect_between("samples in the first second", nr_samples, freq - freq / 20, freq + freq / 20 + 100);
	expect_long(sample[0].period, 1);
	run_for(1, 1000 * MS, 1);
	take_samples(fd);
	expect_between("samples in the second after", nr_samples, freq - freq / 20, freq + freq / 20);
	/* Ten times slower: the ticks shorten the period. */
	run_for(1, 1000 * MS, 10);
	run_for(1, 1000 * MS, 10);
	take_samples(fd);
	run_for(1, 1000 * MS, 10);
	take_samples(fd);
	expect_between("samples at a slower pace", nr_samples, freq - freq / 20, freq + freq / 20);
	expect_empty();
}

/* The period that was reached is the one that a sample tells: their sum is where the last one lies. */
static void test_periods_add_up(void)
{
	u64 sum = 0;
	long fd;

	sampling_session();
	fd = open_freq(1000);
	run_for(1, 100 * MS, 1);
	take_samples(fd);
	for (u32 i = 0; i < nr_samples; i++) {
		sum += sample[i].period;
		expect_long(sum, sample[i].ip);
	}
	expect(nr_samples > 100);
	expect_empty();
}

/* The driver need not stop the task where it was to be: so long was the period, and only exact places are samples. */
static void test_late(void)
{
	u64 sum = 0, late = 0;
	struct snapshot snap;
	long fd;

	sampling_session();
	fd = open_freq(1000);
	run_for(1, 100 * MS, 1);
	for (u32 i = 0; i < 20; i++) {
		u64 by = fake[1].limit[0] - fake[1].cell[0] + i * 1000;

		executed[1] += by;
		fake[1].cell[0] += by;
		fake[1].clock += by;
		fake_mono += by;
		snap = snapshot_at(1);
		snap.exact = false;
		event_overflow(1, &snap, &result);
		overflow(1);
	}
	take_samples(fd);
	for (u32 i = 0; i < nr_samples; i++) {
		sum += sample[i].period;
		expect_long(sum, sample[i].ip);
		late += i && sample[i].period > 1000000 && sample[i].period != sample[i - 1].period;
	}
	expect_long(sample[nr_samples - 1].ip, executed[1]);
	expect(late > 10);
	expect_valid("late");
	expect_empty();
}

/* A period that has grown far too long for a task that has become slow is given up at a tick. */
static void test_long_period_ends(void)
{
	long fd;

	sampling_session();
	fd = open_freq(1000);
	run_for(1, 100 * MS, 1);
	take_samples(fd);
	run_for(1, 500 * MS, 100000);
	take_samples(fd);
	expect_between("samples until the period is right", nr_samples, 10, 250);
	run_for(1, 500 * MS, 100000);
	take_samples(fd);
	expect_between("samples while slow", nr_samples, 450, 600);
	expect_empty();
}

/* However much samples cost and however many are wanted: of the time, they have perf_cpu_time_max_percent. */
static void test_costly(u64 freq, u64 ns, s32 percent)
{
	bool limited = percent > 0 && percent < 100;
	u64 begin, own, taken;
	long fd[2];

	sampling_session();
	event_sysctl()->cpu_time_max_percent = percent;
	for (u32 i = 0; i < 2; i++)
		fd[i] = open_freq(freq);
	sample_ns = ns;
	run_for(1, 400 * MS, 1);
	begin = executed[1];
	run_for(1, 400 * MS, 1);
	own = executed[1] - begin;
	taken = 400 * MS - own;
	if (limited)
		expect_between("time of samples", taken, 0, 400 * MS * (u64)percent * 11 / 1000);
	else
		expect_between("time of samples without a limit", taken, 350 * MS, 400 * MS);
	sample_ns = 200;
	for (u32 i = 0; i < 2; i++)
		take_samples(fd[i]);
	expect_empty();
}

/* What samples of a fixed period take is not the frequency's: it would become slower, and that would help nobody. */
static void test_beside_fixed(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 1000);
	long fixed, fd;

	sampling_session();
	fixed = open_sampling(&a, -1);
	fd = open_freq(1000);
	sample_ns = 1000; /* half of the time */
	run_for(1, 400 * MS, 1);
	take_samples(fd);
	run_for(1, 400 * MS, 1);
	take_samples(fd);
	expect_between("samples beside a fixed period", nr_samples, 380, 420);
	take_samples(fixed);
	sample_ns = 200;
	expect_empty();
}

/* A member has written over what samples took: with this number, a product of 64 bits is 0. */
static void test_spoilt_cost(void)
{
	long fd;

	sampling_session();
	event_sysctl()->cpu_time_max_percent = 16;
	fd = open_freq(1000);
	run_for(1, 10 * MS, 1);
	event_ctx(1)->spent = event_of(fd)->freq_spent + (1ul << 63);
	run_for(1, 100 * MS, 1);
	take_samples(fd);
	expect(nr_samples > 0);
	expect_empty();
}

static void set_rate(s32 rate)
{
	event_sysctl()->max_sample_rate = rate;
	event_space->rate_set = 1;
}

/* 1000 a second are 4 in a tick of 4 ms. */
static void test_throttle(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 100);
	u64 count;
	long fd;

	sampling_session();
	fd = open_sampling(&a, -1);
	run_for(1, 4 * MS, 1000);
	take_samples(fd);
	expect_between("samples without a limit", nr_samples, 36, 40);
	expect_long(nr_throttles, 0); /* nobody has set a limit */
	set_rate(1000);
	count = (u64)value_of(fd);
	run_for(1, 40 * MS, 1000);
	take_samples(fd);
	expect_between("samples of ten ticks", nr_samples, 36, 44);
	expect_between("throttles", nr_throttles, 9, 11);
	expect(nr_throttles - nr_unthrottles <= 1);
	expect_between("what it counted meanwhile", (u64)value_of(fd) - count, 39900, 40000);
	for (u32 i = 0; i < nr_samples; i++)
		expect_long(sample[i].ip % 100, 0);
	expect_valid("throttled");
	/* Scheduled in again, it is free again. */
	control(fd, PERF_EVENT_IOC_DISABLE, 0);
	control(fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_long(event_of(fd)->throttled, 0);
	expect_empty();
}

/* 100000 a second are 400 in a tick of 4 ms. Those that wake nobody are free: they were in test_throttle(). */
static void test_throttle_wakeups(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10);
	long fd;

	sampling_session();
	a.wakeup_events = 1;
	fd = open_sampling(&a, -1);
	run_for(1, 8 * MS, 200);
	take_samples(fd);
	expect_between("samples that wake", nr_samples, 799, 801);
	expect_between("throttles", nr_throttles, 1, 2);
	expect_empty();
	a.wakeup_events = 8;
	fd = open_sampling(&a, -1);
	run_for(1, 8 * MS, 200);
	take_samples(fd);
	expect_between("samples, of which one in eight wakes", nr_samples, 3630, 3640);
	expect_long(nr_throttles, 0);
	expect_empty();
	a.wakeup_events = 0;
	fd = open_sampling(&a, -1);
	event_of(fd)->async_pid = 1001;
	run_for(1, 4 * MS, 200);
	take_samples(fd);
	expect_between("samples that signal, which count for 16", nr_samples, 24, 26);
	expect_empty();
	/* However long that takes. */
	fd = open_sampling(&a, -1);
	event_of(fd)->async_pid = 1001;
	fake_wakes.ns = 20000;
	run_for(1, 30 * 22000, 200);
	take_samples(fd);
	expect_between("samples whose signals take long", nr_samples, 24, 26);
	expect_long(nr_throttles, 1);
	fake_wakes.ns = 0;
	expect_empty();
}

/*
 * However long signals take, two thirds of the time are the task's own. Events that wake nobody have all their samples.
 */
static void test_own_time(u64 ns)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 10), b = sampling_attr(PERF_TYPE_RAW, 0, 1000);
	u64 begin, own;
	long fd, calm;

	sampling_session();
	fd = open_sampling(&a, -1);
	calm = open_sampling(&b, -1);
	event_of(fd)->async_pid = 1001;
	fake_wakes.ns = ns;
	begin = executed[1];
	run_for(1, 200 * MS, 200);
	own = (executed[1] - begin) * 200;
	expect_between("own time", own, 200 * MS * 2 / 3 - THROTTLE_DEBT - ns, 200 * MS * 9 / 10);
	take_samples(fd);
	expect(nr_throttles >= 3 && nr_throttles - nr_unthrottles <= 1);
	take_samples(calm);
	expect_long(nr_samples, (executed[1] - begin) / 1000);
	expect_long(nr_throttles, 0);
	fake_wakes.ns = 0;
	expect_empty();
}

/* The handler's time counts, with that of handlers in other tasks. */
static void test_handlers(bool elsewhere)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 1000);
	long fd;

	sampling_session();
	fd = open_sampling(&a, -1);
	event_of(fd)->async_pid = 1001;
	run_for(1, MS, 200);
	if (elsewhere) {
		throttle_charge(1, 20 * MS);
	} else {
		throttle_handling(1, fake[1].clock, true);
		fake[1].clock += 20 * MS;
		fake_mono += 20 * MS;
		throttle_handling(1, fake[1].clock, false);
	}
	take_samples(fd);
	run_for(1, 39 * MS, 200);
	take_samples(fd);
	expect_long(nr_samples, 1);
	expect_long(nr_throttles, 1);
	run_for(1, 10 * MS, 200);
	take_samples(fd);
	expect_long(nr_unthrottles, 1);
	expect(nr_samples >= 5);
	expect_empty();
}

/* All of the group are quiet; the record is the leader's. */
static void test_throttled_group(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 100), b = sampling_attr(PERF_TYPE_RAW, 0, 1000);
	long leader, sibling;

	sampling_session();
	leader = open_sampling(&b, -1);
	sibling = open_sampling(&a, (s32)leader);
	set_rate(1000);
	run_for(1, MS, 1000);
	take_samples(leader);
	expect_long(nr_samples, 4);
	expect_long(nr_throttles, 1);
	expect(event_of(leader)->throttled && event_of(sibling)->throttled);
	run_for(1, 4 * MS, 1000);
	take_samples(leader);
	expect(nr_unthrottles >= 1 && nr_samples >= 4);
	expect_empty();
}

/* They signal, too. */
static void test_throttle_sigtraps(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_RAW, 0, 100);
	long fd;

	sampling_session();
	a.sigtrap = a.remove_on_exec = 1;
	fd = open_sampling(&a, -1);
	set_rate(16000);
	run_for(1, MS, 1000);
	take_samples(fd);
	expect_long(nr_samples, 4);
	expect_long(nr_throttles, 1);
	expect_empty();
}

int main(void)
{
	test_converges(100);
	test_converges(1000);
	test_converges(4000);
	test_periods_add_up();
	test_late();
	test_long_period_ends();
	test_costly(2000, 1 * MS, 25);
	test_costly(50000, 20000, 25);
	test_costly(50000, 20000, 50);
	test_costly(50000, 20000, 1);
	test_costly(50000, 20000, 0);
	test_costly(50000, 20000, 100);
	test_beside_fixed();
	test_spoilt_cost();
	test_throttle();
	test_throttle_wakeups();
	test_own_time(400000);
	test_own_time(20000);
	test_own_time(5 * MS);
	test_handlers(false);
	test_handlers(true);
	test_throttled_group();
	test_throttle_sigtraps();
	return unit_result();
}
