/*
 * Breakpoint events of the calling task, for tests that compare counts and samples with what the processor's debug
 * registers do.
 */
#ifndef TESTS_ABI_BREAKPOINT_H
#define TESTS_ABI_BREAKPOINT_H

#include <linux/hw_breakpoint.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define NOINLINE __attribute__((noinline, noclone))

static inline struct perf_attr bp_attr(u32 type, const volatile void *addr, u64 len)
{
	return (struct perf_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_attr),
		.bp_type = type,
		.bp_addr = (u64)addr,
		.bp_len = len,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

static inline long bp_open(u32 type, const volatile void *addr, u64 len)
{
	struct perf_attr a = bp_attr(type, addr, len);

	return perf_open(&a, 0, -1, -1, 0);
}

/* A host without debug registers, or where others have taken them all: nothing to compare. */
static inline void bp_skip_without(void)
{
	static long word;
	long fd = bp_open(HW_BREAKPOINT_W, &word, 8), n;

	if (fd >= 0) {
		*(volatile long *)&word = 1;
		n = perf_value(fd);
		close((int)fd);
		if (n == 1)
			return;
	}
	printf("no breakpoint events here\n");
	exit(77);
}

#define BP_RING 8192

struct bp_ring {
	long fd;
	struct perf_event_mmap_page *page;
};

static inline struct bp_ring bp_ring_open(struct perf_attr *a)
{
	struct bp_ring r = {.fd = perf_open(a, 0, -1, -1, 0)};

	expect(r.fd >= 0, 1);
	r.page = mmap(NULL, 4096 + BP_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)r.fd, 0);
	expect(r.page != MAP_FAILED, 1);
	if (r.page == MAP_FAILED)
		exit(1);
	return r;
}

static inline void bp_ring_close(struct bp_ring *r)
{
	munmap(r->page, 4096 + BP_RING);
	close((int)r->fd);
}

/* The words behind the header of the next record, or NULL. Records that wrap are not looked for: tests write little. */
static inline const u64 *bp_next(struct bp_ring *r)
{
	u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), tail = r->page->data_tail;
	const struct perf_event_header *h = (const void *)((const char *)r->page + 4096 + tail);

	if (tail >= head)
		return NULL;
	expect(h->type, PERF_RECORD_SAMPLE);
	expect(h->misc, PERF_RECORD_MISC_USER);
	__atomic_store_n(&r->page->data_tail, tail + h->size, __ATOMIC_RELEASE);
	return (const u64 *)(h + 1);
}

#endif
