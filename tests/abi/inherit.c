/*
 * Inherited events: what children count arrives in the parent's event; RESET leaves what dead children counted (a
 * quirk).
 * covers: attr.inherit, attr.inherit_thread, PERF_EVENT_IOC_RESET
 */
#include <pthread.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define PAGES 300

static void touch(void)
{
	char *p = malloc(PAGES * 4096 + 4096);

	for (int i = 0; i < PAGES; i++)
		((volatile char *)p)[i * 4096] = 1;
	free(p);
}

static void in_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		touch();
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

static void *in_thread(void *arg)
{
	char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < PAGES; i++)
		((volatile char *)p)[i * 4096] = 1;
	return arg;
}

static void spawn_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
}

static long faults_event(int inherit, int thread_only)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);

	a.inherit = inherit;
	a.inherit_thread = thread_only;
	return perf_open(&a, 0, -1, -1, 0);
}

int main(void)
{
	long with, without, threads, seen;

	in_child(); /* warms up: what follows costs the parent few faults of its own */
	spawn_thread();
	with = faults_event(1, 0);
	without = faults_event(0, 0);
	threads = faults_event(1, 1);
	in_child();
	expect(perf_value(with) >= PAGES, 1);
	expect(perf_value(without) < PAGES, 1);
	expect(perf_value(threads) < PAGES, 1);
	seen = perf_value(with);
	spawn_thread();
	expect(perf_value(with) >= seen + PAGES, 1);
	expect(perf_value(threads) >= PAGES, 1);
	expect(perf_value(without) < PAGES, 1);
	expect(perf_ioctl(with, PERF_EVENT_IOC_RESET, 0), 0);
	expect(perf_value(with) >= 2 * PAGES, 1);
	expect(perf_ioctl(with, PERF_EVENT_IOC_DISABLE, 0), 0);
	seen = perf_value(with);
	in_child();
	expect(perf_value(with), seen);
	return perf_result();
}
