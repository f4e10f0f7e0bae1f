/*
 * PERF_EVENT_IOC_REFRESH: so many overflows and then off, with the last signal's POLL_HUP. The group counts what the
 * last one was of.
 * covers: PERF_EVENT_IOC_REFRESH, POLL_IN, POLL_HUP, F_SETSIG, F_SETOWN
 */
#include <time.h>
#include "tests/abi/breakpoint.h"
#include "tests/abi/sampling.h"

static volatile int signals, hups, others;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	signals++;
	if (info->si_code == POLL_HUP)
		hups++;
	else if (info->si_code != POLL_IN)
		others++;
}

static void test_refused(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(perf_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), -EINVAL);
	close((int)fd);
	a.sample_period = 1000;
	a.inherit = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), -EINVAL);
	close((int)fd);
}

/* The limit is of overflows: what it counts stays at the last one. */
static void expect_limited(struct sampler *s, u64 period)
{
	long count;

	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	fault(100);
	spin(1);
	expect(sampler_take(s), 3);
	count = perf_value(s->fd);
	expect(count, 3 * period);
	fault(100);
	expect(perf_value(s->fd), count);
	/* They add up. */
	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_REFRESH, 1), 0);
	fault(100);
	spin(1);
	expect(sampler_take(s), 2);
	/* 0 enables without one. */
	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_REFRESH, 0), 0);
	fault(100);
	spin(1);
	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	expect(sampler_take(s) >= 10, 1);
}

static void test_limit(void)
{
	struct perf_attr a = have_pmu() ? insns_attr(1000) : faults_attr(10);
	struct sampler s = sampler_open(&a, -1);

	expect_limited(&s, a.sample_period);
	sampler_close(&s);
}

static void test_signals(void)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	struct perf_attr a = faults_attr(1000000);
	struct sampler s;

	a.config = PERF_COUNT_SW_TASK_CLOCK;
	s = sampler_open(&a, -1);
	sigaction(SIGRTMIN, &act, NULL);
	fcntl((int)s.fd, F_SETSIG, SIGRTMIN);
	fcntl((int)s.fd, F_SETOWN, getpid());
	fcntl((int)s.fd, F_SETFL, fcntl((int)s.fd, F_GETFL) | O_ASYNC);
	expect(perf_ioctl(s.fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	spin(30);
	expect(signals >= 1 && signals <= 3, 1); /* those of one moment are one */
	expect(hups, 1);
	expect(others, 0);
	expect(sampler_take(&s), 3);
	sampler_close(&s);
}

/* The leader's limit ends its group after the occurrence, whether the member samples or not. */
static void expect_group_limited(struct perf_attr a, u64 period, void (*happen)(u64))
{
	struct sampler s;
	long leader, member;

	a.sample_period = a.disabled = 1;
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	leader = perf_open(&a, 0, -1, -1, 0);
	a.disabled = 0;
	a.sample_period = period;
	s = sampler_open(&a, (int)leader);
	expect(perf_ioctl(leader, PERF_EVENT_IOC_REFRESH, 3), 0);
	happen(6);
	member = perf_value(s.fd);
	expect(perf_value(leader), 3);
	expect(member, 3);
	if (period)
		expect(sampler_take(&s), member);
	sampler_close(&s);
	close((int)leader);
}

static volatile long watched;

static NOINLINE void store(u64 n)
{
	while (n--)
		watched = 1;
}

static void test_groups(void)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &watched, 8);
	int have = perf_try(a, 0, -1, -1, 0) == 0;

	for (u64 period = 0; period < 2; period++) {
		expect_group_limited(faults_attr(1), period, fault);
		if (have)
			expect_group_limited(a, period, store);
	}
}

int main(void)
{
	fault(10);
	test_refused();
	test_limit();
	test_groups();
	test_signals();
	return perf_result();
}
