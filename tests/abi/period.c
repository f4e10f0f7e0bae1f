/*
 * sample_period and IOC_PERIOD: how many samples there are, what each says, and what is refused.
 * covers: attr.sample_period, PERF_EVENT_IOC_PERIOD
 */
#include <time.h>
#include "tests/abi/breakpoint.h"
#include "tests/abi/sampling.h"

static long set_period(long fd, u64 value)
{
	return perf_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&value);
}

static void test_refused(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(set_period(fd, 5), -EINVAL);
	close((int)fd);
	a.sample_period = 7;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(set_period(fd, 0), -EINVAL);
	expect(set_period(fd, 1ul << 63), -EINVAL);
	expect(set_period(fd, 1ul << 62), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PERIOD, 8), -EFAULT);
	close((int)fd);
	a.freq = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(set_period(fd, 1ul << 40), -EINVAL);
	expect(set_period(fd, 1000), 0);
	close((int)fd);
	/* Linux quirk: a clock's frequency has become a period, which may be anything. */
	a.config = PERF_COUNT_SW_TASK_CLOCK;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(set_period(fd, 1ul << 40), 0);
	close((int)fd);
}

static void test_faults(void)
{
	struct perf_attr a = faults_attr(10);
	struct sampler s = sampler_open(&a, -1);
	long count;

	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(100);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	count = perf_value(s.fd);
	expect(sampler_take(&s), count / 10);
	expect(count >= 100, 1);
	/* A disabled event begins with the new period. */
	expect(set_period(s.fd, 25), 0);
	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(100);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(sampler_take(&s), (perf_value(s.fd) - count) / 25);
	sampler_close(&s);
}

static volatile long watched;

/* At which of its counts it overflows. */
static void expect_overflows(struct sampler *s, const int *want, int n)
{
	int stores = 0;

	for (int i = 0; i < n; i++) {
		do {
			watched = ++stores;
		} while (!sampler_take(s) && stores < 200);
		expect(stores, want[i]);
	}
}

/* Linux quirk: after the overflow that comes at once there is an interval of the old period, from the change. */
static void test_old_period_once(void)
{
	static const int first[] = {1, 40, 50, 60}, second[] = {1, 10, 35, 60}, third[] = {7, 14};
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &watched, sizeof(watched));
	struct sampler s;

	if (perf_try(a, 0, -1, -1, 0))
		return;
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	a.sample_period = 40;
	s = sampler_open(&a, -1);
	watched = 1;
	expect(set_period(s.fd, 10), 0);
	expect_overflows(&s, first, 4);
	expect(set_period(s.fd, 25), 0);
	expect_overflows(&s, second, 4);
	/* It is not so if the event is scheduled in before it counts. */
	expect(set_period(s.fd, 7), 0);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	expect_overflows(&s, third, 2);
	sampler_close(&s);
}

static int samples_of_new_period(void)
{
	struct perf_attr a = faults_attr(1000);
	struct sampler s = sampler_open(&a, -1);
	int n;

	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(20);
	expect(sampler_take(&s), 0);
	expect(set_period(s.fd, 100000), 0);
	fault(20);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	n = sampler_take(&s);
	sampler_close(&s);
	return n;
}

/* Linux quirk: a software event that counts overflows at once, unless it is scheduled in again before it counts. */
static void test_new_period_at_once(void)
{
	int n = samples_of_new_period();

	for (int i = 0; i < 10 && !n; i++) /* natively others may run meanwhile */
		n = samples_of_new_period();
	expect(n, 1);
}

/* Linux quirk: if its samples tell the period, a software event with a fixed one overflows every time. */
static void test_told_period(void)
{
	struct perf_attr a = faults_attr(10);
	struct sampler s;

	a.sample_type |= PERF_SAMPLE_PERIOD;
	s = sampler_open(&a, -1);
	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(50);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect_fault_samples(sampler_take(&s), perf_value(s.fd));
	expect(s.last_period, 1);
	sampler_close(&s);
}

static void test_clock(void)
{
	struct perf_attr a = faults_attr(1000000);
	struct sampler s;
	u64 n;

	a.config = PERF_COUNT_SW_TASK_CLOCK;
	a.sample_type |= PERF_SAMPLE_PERIOD;
	s = sampler_open(&a, -1);
	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin(50);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	n = sampler_take(&s);
	expect(n >= 10 && n <= 60, 1); /* a busy host may have merged some */
	expect(s.last_period, 1000000);
	sampler_close(&s);
}

/* Where there is a PMU: to the last one. */
static void test_insns(void)
{
	struct perf_attr a = insns_attr(10007);
	struct sampler s;
	long count;

	if (!have_pmu())
		return;
	a.sample_type |= PERF_SAMPLE_PERIOD;
	a.precise_ip = 2;
	s = sampler_open(&a, -1);
	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin(2);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	count = perf_value(s.fd);
	expect(sampler_take(&s), count / 10007);
	expect(s.last_period, 10007);
	expect(set_period(s.fd, 7777), 0);
	perf_ioctl(s.fd, PERF_EVENT_IOC_ENABLE, 0);
	spin(2);
	perf_ioctl(s.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(sampler_take(&s), (perf_value(s.fd) - count) / 7777);
	expect(s.last_period, 7777);
	sampler_close(&s);
}

int main(void)
{
	fault(10);
	test_refused();
	test_faults();
	test_new_period_at_once();
	test_old_period_once();
	test_told_period();
	test_clock();
	test_insns();
	return perf_result();
}
