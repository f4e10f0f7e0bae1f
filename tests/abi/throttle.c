/*
 * A hardware event that overflows all the time and wakes its reader each time is throttled: THROTTLE and UNTHROTTLE
 * records in turn, with a time, the event's id and its stream id.
 * covers for pcl: PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE
 */
#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define PAGES	 512
#define SECONDS	 2
#define TURNS	 20000
#define MONOTONE CLOCK_MONOTONIC

struct throttle {
	struct perf_event_header header;
	u64 time, id, stream_id;
	u64 trailer; /* sample_id_all: the id */
};

static unsigned long now(void)
{
	struct timespec t;

	clock_gettime(MONOTONE, &t);
	return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}

int main(void)
{
	struct perf_attr a = {.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = PERF_COUNT_HW_INSTRUCTIONS};
	unsigned long from = now(), id = 0, last = 0, throttled = 0, unthrottled = 0, tail = 0;
	struct perf_event_mmap_page *page;
	long fd;

	a.sample_period = 100;
	a.sample_type = PERF_SAMPLE_IDENTIFIER;
	a.sample_id_all = 1;
	a.wakeup_events = 1;
	a.use_clockid = 1;
	a.clockid = MONOTONE;
	a.exclude_kernel = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	if (fd < 0) {
		printf("no hardware events here\n");
		return 77;
	}
	page = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	expect(page != MAP_FAILED, 1);
	if (page == MAP_FAILED)
		return 1;
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&id), 0);
	while (unthrottled < 3 && now() < from + SECONDS * 1000000000ul) {
		unsigned long head;

		for (volatile int i = 0; i < TURNS; i++)
			;
		head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		while (tail < head) {
			struct throttle r = {0};
			char *to = (char *)&r;

			for (unsigned i = 0; i < 8 || (i < r.header.size && i < sizeof(r)); i++)
				to[i] = ((char *)page)[4096 + (tail + i) % (PAGES * 4096ul)];
			tail += r.header.size;
			if (r.header.type != PERF_RECORD_THROTTLE && r.header.type != PERF_RECORD_UNTHROTTLE)
				continue;
			throttled += r.header.type == PERF_RECORD_THROTTLE;
			unthrottled += r.header.type == PERF_RECORD_UNTHROTTLE;
			expect(r.header.size, sizeof(r));
			expect(r.header.misc, 0);
			expect(r.id, id);
			expect(r.stream_id, id);
			expect(r.trailer, id);
			expect(r.time >= last && r.time >= from && r.time <= now(), 1);
			expect(throttled - unthrottled <= 1, 1); /* in turn */
			last = r.time;
		}
		__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	}
	expect(unthrottled >= 3, 1);
	munmap(page, (1 + PAGES) * 4096);
	close((int)fd);
	return perf_result();
}
