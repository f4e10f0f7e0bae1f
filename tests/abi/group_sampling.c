/* Sampling members of groups: each overflows by its own period; the leader switches all of them. */
#include <time.h>
#include "tests/abi/sampling.h"

/* Page faults of pcl's own, which are not told from the program's where faults are only counted. */
static long also_counted(void)
{
	return have_pmu() ? 20 : 0;
}

/* Leader and sibling of one kind, with different periods, and a plain counter between them. */
static void test_members(struct perf_attr a, u64 period)
{
	struct perf_attr plain = a, b = a;
	struct sampler leader, sibling;
	long counter;

	plain.sample_period = 0;
	b.sample_period = period;
	b.disabled = plain.disabled = 0;
	leader = sampler_open(&a, -1);
	counter = perf_open(&plain, 0, -1, (int)leader.fd, 0);
	sibling = sampler_open(&b, (int)leader.fd);
	fault(50);
	expect(sampler_take(&sibling), 0);
	perf_ioctl(leader.fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(100);
	perf_ioctl(leader.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(sampler_take(&leader), perf_value(leader.fd) / (long)a.sample_period);
	expect(sampler_take(&sibling), perf_value(sibling.fd) / (long)period);
	expect(perf_value(counter) >= perf_value(leader.fd), 1);
	expect(perf_value(counter) <= perf_value(leader.fd) + (a.type == PERF_TYPE_SOFTWARE ? also_counted() : 0), 1);
	expect(perf_value(sibling.fd), perf_value(leader.fd));
	fault(50);
	expect(sampler_take(&sibling), 0);
	close((int)counter);
	sampler_close(&sibling);
	sampler_close(&leader);
}

/* When the sibling has reached its limit it alone is off. */
static void test_refresh_of_sibling(struct perf_attr a)
{
	struct perf_attr b = a;
	struct sampler leader, sibling;

	b.sample_period /= 2;
	leader = sampler_open(&a, -1);
	sibling = sampler_open(&b, (int)leader.fd);
	perf_ioctl(sibling.fd, PERF_EVENT_IOC_REFRESH, 2);
	perf_ioctl(leader.fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(100);
	perf_ioctl(leader.fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(sampler_take(&sibling), 2);
	expect(perf_value(sibling.fd), 2 * b.sample_period);
	expect(sampler_take(&leader), perf_value(leader.fd) / (long)a.sample_period);
	sampler_close(&sibling);
	sampler_close(&leader);
}

int main(void)
{
	fault(200);
	test_members(faults_attr(10), 7);
	if (have_pmu())
		test_members(insns_attr(100), 77);
	test_refresh_of_sibling(have_pmu() ? insns_attr(200) : faults_attr(20));
	return perf_result();
}
