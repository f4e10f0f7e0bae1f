/* Inherited sampling: children's samples arrive in the parent's ring under its id, each task counts its own periods. */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include "tests/abi/sampling.h"

static void *in_thread(void *arg)
{
	fault(55);
	return arg;
}

static void in_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fault(500);
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static u64 id_of(long fd)
{
	u64 id = 0;

	perf_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	return id;
}

/* Without mmap of an inherited event on any CPU: one for each CPU, as perf record has them. */
static u64 on_all_cpus(const struct perf_attr *attr, void (*what)(void), long *count)
{
	struct sampler s[64];
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	u64 samples = 0;

	*count = 0;
	for (long i = 0; i < cpus && i < 64; i++) {
		struct perf_attr a = *attr;

		s[i] = (struct sampler){.fd = perf_open(&a, 0, (int)i, -1, 0)};
		s[i].page = mmap(NULL, (1 + RING_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)s[i].fd, 0);
		expect(s[i].page != MAP_FAILED, 1);
		if (s[i].page == MAP_FAILED)
			exit(1);
	}
	for (long i = 0; i < cpus && i < 64; i++)
		perf_ioctl(s[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	what();
	for (long i = 0; i < cpus && i < 64; i++)
		perf_ioctl(s[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	for (long i = 0; i < cpus && i < 64; i++) {
		u64 n = sampler_take(&s[i]);

		samples += n;
		*count += perf_value(s[i].fd);
		if (n)
			expect(s[i].last_id, id_of(s[i].fd));
		sampler_close(&s[i]);
	}
	return samples;
}

static void threads(void)
{
	pthread_t t;

	for (int i = 0; i < 10; i++) {
		pthread_create(&t, NULL, in_thread, NULL);
		pthread_join(t, NULL);
	}
}

/*
 * With a period above what one thread does there is no sample of any: their counts are not added up. On one CPU, for
 * those of different ones are not added up either.
 */
static void test_periods_are_per_task(void)
{
	struct perf_attr a = faults_attr(400);
	cpu_set_t all, one;
	long count;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	a.inherit = 1;
	expect(on_all_cpus(&a, threads, &count), 0);
	expect(count >= 550, 1);
	expect(on_all_cpus(&a, in_child, &count) >= 1, 1);
	a.inherit = 0;
	expect(on_all_cpus(&a, in_child, &count), 0);
	sched_setaffinity(0, sizeof(all), &all);
}

static void test_every_fault(void)
{
	struct perf_attr a = faults_attr(1);
	long count;
	u64 n;

	a.inherit = 1;
	n = on_all_cpus(&a, in_child, &count);
	expect_fault_samples(n, count);
	expect(n >= 500, 1);
}

static void test_mmap_rule(void)
{
	struct perf_attr a = faults_attr(10);
	long fd;
	void *p;

	a.inherit = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(p == MAP_FAILED ? errno : 0, EINVAL);
	close((int)fd);
}

int main(void)
{
	in_child();
	threads();
	test_mmap_rule();
	test_periods_are_per_task();
	test_every_fault();
	return perf_result();
}
