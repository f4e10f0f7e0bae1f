/*
 * Sampling events of the calling task with a ring each, for tests of when they overflow. The event is a hardware one
 * where there is a PMU (under pcl: exact to the instruction), else page faults, which every kernel counts.
 */
#ifndef TESTS_ABI_SAMPLING_H
#define TESTS_ABI_SAMPLING_H

#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define RING_PAGES 64

struct sampler {
	long fd;
	struct perf_event_mmap_page *page;
	u64 seen, last_period, last_id; /* of the records taken so far: samples, and what the last one said */
};

static inline struct perf_attr faults_attr(u64 period)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);

	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	a.disabled = 1;
	return a;
}

static inline struct perf_attr insns_attr(u64 period)
{
	struct perf_attr a = faults_attr(period);

	a.type = PERF_TYPE_HARDWARE;
	a.config = PERF_COUNT_HW_INSTRUCTIONS;
	return a;
}

static inline int have_pmu(void)
{
	struct perf_attr a = insns_attr(1000);

	return perf_try(a, 0, -1, -1, 0) == 0;
}

static inline struct sampler sampler_open(struct perf_attr *a, int group)
{
	struct sampler s = {.fd = perf_open(a, 0, -1, group, 0)};

	expect(s.fd >= 0, 1);
	if (s.fd < 0)
		exit(1);
	s.page = mmap(NULL, (1 + RING_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)s.fd, 0);
	expect(s.page != MAP_FAILED, 1);
	if (s.page == MAP_FAILED)
		exit(1);
	return s;
}

static inline void sampler_close(struct sampler *s)
{
	munmap(s->page, (1 + RING_PAGES) * 4096);
	close((int)s->fd);
}

/* Takes all samples from the ring: how many there were. sample_type must be IDENTIFIER | IP, with or without PERIOD. */
static inline u64 sampler_take(struct sampler *s)
{
	const char *data = (const char *)s->page + 4096;
	u64 head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE), tail = s->page->data_tail, n = 0;

	for (const struct perf_event_header *h; tail < head; tail += h->size) {
		h = (const void *)(data + tail % (RING_PAGES * 4096));
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		n++;
		s->last_id = ((const u64 *)h)[1];
		if (h->size >= 32)
			s->last_period = *(const u64 *)(data + (tail + 24) % (RING_PAGES * 4096));
	}
	__atomic_store_n(&s->page->data_tail, tail, __ATOMIC_RELEASE);
	s->seen += n;
	return n;
}

/* Touches n new pages, one fault each. */
static inline void fault(u64 n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (u64 i = 0; i < n; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, n * 4096);
}

/*
 * Samples of page faults, of which there should be want. pcl looks at its host's counts between system calls: with a
 * PMU, that is under it as a rule, those of the last moment before the event ends may be missing.
 */
static inline void expect_fault_samples(u64 got, long want)
{
	expect((long)got <= want && (long)got >= want - (have_pmu() ? 64 : 0), 1);
}

/* Uses the CPU for about so many milliseconds. */
static inline void spin(u64 ms)
{
	struct timespec t;
	u64 begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	begin = (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
	} while (now < begin + ms * 1000000);
}

#endif
