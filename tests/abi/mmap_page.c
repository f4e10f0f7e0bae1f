/*
 * The first page of an event's mapping, field by field, as the man page has it. The event is a clock, which every
 * kernel has and no counter of a processor counts: index is 0.
 * covers: page.version, page.compat_version, page.lock, page.index, page.offset, page.cap_*, page.time_*,
 * page.data_*, page.aux_*, page.capabilities
 */
#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define PAGE	   4096ul
#define DATA_PAGES 4
#define SLACK_NS   1000000000l /* between the clock of records and CLOCK_MONOTONIC, which the kernel corrects */

static struct perf_event_mmap_page *map(long fd, unsigned long pages)
{
	struct perf_event_mmap_page *page = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);

	expect(page != MAP_FAILED, 1);
	if (page == MAP_FAILED)
		exit(1);
	return page;
}

static void test_layout(const struct perf_event_mmap_page *page, unsigned long data_size)
{
	expect(page->version, 0);
	expect(page->compat_version, 0);
	expect(page->lock & 1, 0);
	expect(page->index, 0);
	expect(page->cap_bit0, 0);
	expect(page->cap_bit0_is_deprecated, 1);
	expect(page->cap_user_rdpmc, 0);
	expect(page->capabilities & 1, 0); /* what was cap_usr_time, cap_usr_rdpmc */
	expect(page->data_head, 0);
	expect(page->data_tail, 0);
	expect(page->data_offset, PAGE);
	expect(page->data_size, data_size);
	expect(page->aux_head, 0);
	expect(page->aux_tail, 0);
	expect(page->aux_offset, 0);
	expect(page->aux_size, 0);
	expect((char *)&page->data_head - (char *)page, 1024);
	for (const char *at = (const char *)page->__reserved; at < (const char *)&page->data_head; at++)
		if (*at)
			expect(*at, 0);
}

/* rdtsc becomes the time since the event was enabled (time_offset) and the time of records (time_zero). */
static void test_time(const struct perf_event_mmap_page *page)
{
	unsigned long tsc, quot, rem, delta;
	struct timespec ts;

	if (!page->cap_user_time || !page->cap_user_time_zero) {
		printf("no time in user space\n");
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	tsc = __builtin_ia32_rdtsc();
	quot = tsc >> page->time_shift;
	rem = tsc & ((1ul << page->time_shift) - 1);
	delta = quot * page->time_mult + ((rem * page->time_mult) >> page->time_shift);
	expect(labs((long)(page->time_zero + delta) - (ts.tv_sec * 1000000000l + ts.tv_nsec)) < SLACK_NS, 1);
	expect(page->time_mult > 0, 1);
	/* time_offset is in time_zero's terms: the task's running time, less than that of the machine */
	expect((long)(page->time_offset + delta) < ts.tv_sec * 1000000000l + ts.tv_nsec + SLACK_NS, 1);
}

/* Of a clock, which is no counter, the page need not be up to date. */
static void test_count(long fd, const struct perf_event_mmap_page *page)
{
	unsigned long v[3];

	for (volatile int i = 0; i < 3000000; i++)
		;
	expect(perf_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	expect(read((int)fd, v, sizeof(v)), sizeof(v));
	expect(v[0] > 0, 1);
	expect((unsigned long)page->offset <= v[0], 1);
	expect(page->time_enabled <= v[1], 1);
	expect(page->time_running <= v[2], 1);
	expect(page->time_running > 0, 1);
	expect(page->lock & 1, 0);
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	struct perf_event_mmap_page *page;
	long fd;

	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&a, 0, -1, -1, 0);
	if (fd < 0)
		return perf_result();
	page = map(fd, 1);
	test_layout(page, 0);
	test_time(page);
	test_count(fd, page);
	munmap(page, PAGE);
	page = map(fd, 1 + DATA_PAGES);
	test_layout(page, DATA_PAGES * PAGE);
	/* data_tail is the reader's, the rest is not read back */
	page->data_tail = 8;
	page->data_size = 3;
	expect(page->data_tail, 8);
	munmap(page, (1 + DATA_PAGES) * PAGE);
	close((int)fd);
	return perf_result();
}
