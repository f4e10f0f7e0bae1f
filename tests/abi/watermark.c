/*
 * attr.watermark makes wakeup_watermark of wakeup_events, in bytes of all records; without it half of the ring is one,
 * the whole ring the most. Told by poll(2), with records of the test's own renaming.
 * covers: attr.watermark, attr.wakeup_watermark, attr.wakeup_events
 */
#include <poll.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define PAGE 4096ul
#define MANY 1000

struct ring {
	long fd;
	struct perf_event_mmap_page *page;
};

static struct ring map_ring(struct perf_attr *a)
{
	struct ring r;

	r.fd = perf_open(a, 0, -1, -1, 0);
	expect(r.fd >= 0, 1);
	r.page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)r.fd, 0);
	expect(r.page != MAP_FAILED, 1);
	if (r.page == MAP_FAILED)
		exit(1);
	return r;
}

static struct ring open_ring(unsigned watermark, unsigned n)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	a.comm = 1;
	a.watermark = watermark;
	a.wakeup_watermark = n;
	return map_ring(&a);
}

static void close_ring(struct ring *r)
{
	munmap(r->page, 2 * PAGE);
	close((int)r->fd);
}

static int woken(const struct ring *r)
{
	struct pollfd p = {.fd = (int)r->fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0 && p.revents & POLLIN;
}

/* Renames until poll tells of it; the bytes in the ring then. */
static unsigned long bytes_at_wakeup(struct ring *r)
{
	unsigned long from = r->page->data_head;

	while (woken(r))
		;
	for (int i = 0; i < MANY; i++) {
		prctl(PR_SET_NAME, i & 1 ? "one" : "another", 0, 0, 0);
		if (woken(r))
			return r->page->data_head - from;
		r->page->data_tail = r->page->data_head;
	}
	return 0;
}

static void test_bytes(unsigned n, unsigned long least, unsigned long most)
{
	struct ring r = open_ring(1, n);

	for (int i = 0; i < 3; i++) {
		unsigned long bytes = bytes_at_wakeup(&r);

		expect(bytes >= least && bytes <= most, 1);
		if (bytes < least || bytes > most)
			printf("watermark %u: %lu bytes\n", n, bytes);
	}
	close_ring(&r);
}

/* Samples of page faults, each looked for by itself: how many of them wake. */
static int wakeups_by_number(unsigned n, int samples)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	char *p = mmap(NULL, (unsigned)samples * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ring r;
	int woke = 0;

	madvise(p, (unsigned)samples * PAGE, MADV_NOHUGEPAGE);
	a.sample_period = 1;
	a.wakeup_events = n;
	r = map_ring(&a);
	woken(&r);
	for (int i = 0; i < samples; i++) {
		*(volatile char *)(p + (unsigned)i * PAGE) = 1;
		woke += woken(&r);
	}
	close_ring(&r);
	munmap(p, (unsigned)samples * PAGE);
	return woke;
}

int main(void)
{
	struct ring r;

	if (perf_result() == 77)
		return 77;
	test_bytes(1, 1, 64);
	test_bytes(100, 64, 192);
	test_bytes(1000, 900, 1100);
	test_bytes(0, PAGE / 2 - 64, PAGE / 2 + 64);
	test_bytes(100000, PAGE - 64, PAGE + 64); /* no more than the ring has */
	r = open_ring(0, 3); /* of samples, of which there are none: by half of the ring all the same */
	expect(labs((long)bytes_at_wakeup(&r) - (long)PAGE / 2) <= 64, 1);
	close_ring(&r);
	expect(wakeups_by_number(1, 6), 6);
	expect(wakeups_by_number(0x7fffffff, 6), 0);
	/* Linux quirk: 1 << 31 and above are below 0. */
	expect(wakeups_by_number(0x80000000, 6), 6);
	expect(wakeups_by_number(0xffffffff, 6), 6);
	return perf_result();
}
