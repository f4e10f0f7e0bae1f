/*
 * Two threads take turns on one CPU and sample into one ring, in a program whose seccomp filter kills for
 * membarrier(2): what the runtime does so that both may write there has to do without it.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "tests/abi/kill_filter.h"

#define PAGES 64

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *work(void *arg)
{
	while (cpu_ms() < 150)
		;
	return arg;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 200000,
		.sample_type = PERF_SAMPLE_TID,
		.exclude_kernel = 1,
		.inherit = 1,
	};
	struct perf_event_mmap_page *page;
	unsigned samples[2] = {0, 0};
	pthread_t thread;
	cpu_set_t set;
	int fd;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return 77;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, sched_getcpu(), -1, 0);
	if (fd < 0) {
		printf("perf_event_open: %s\n", strerror(errno));
		return errno == EACCES ? 77 : 1;
	}
	page = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || kill_for(SYS_membarrier)) {
		printf("%s\n", strerror(errno));
		return 1;
	}
	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	pthread_join(thread, NULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (uint64_t at = 0; at < page->data_head;) {
		const struct perf_event_header *h = (const void *)((const char *)page + 4096 + at);

		if (h->type == PERF_RECORD_SAMPLE)
			samples[((const uint32_t *)(h + 1))[1] == (uint32_t)getpid()]++;
		at += h->size;
	}
	if (samples[0] < 20 || samples[1] < 20)
		printf("%u and %u samples\n", samples[0], samples[1]);
	return samples[0] < 20 || samples[1] < 20;
}
