/*
 * A hardware event that overflows all the time and wakes its reader each time is throttled: THROTTLE and UNTHROTTLE
 * records in turn, with a time, the event's id and its stream id.
 * covers for pcl: PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE
 */
#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define RING_BYTES (512 * 4096ul)
#define SECONDS	   2
#define TURNS	   20000
#define PERIOD	   100
#define ENOUGH	   3

struct throttle {
	struct perf_event_header header;
	u64 time, id, stream_id;
	u64 trailer; /* sample_id_all: the id */
};

static struct {
	long fd;
	u64 id, from, last, tail;
	struct perf_event_mmap_page *page;
	unsigned throttled, unthrottled;
} seen;

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ul + (u64)t.tv_nsec;
}

/* 0, or -errno. */
static long begin(void)
{
	struct perf_attr a = {.type = PERF_TYPE_HARDWARE, .size = sizeof(a), .config = PERF_COUNT_HW_INSTRUCTIONS};

	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_IDENTIFIER;
	a.sample_id_all = a.wakeup_events = a.use_clockid = a.exclude_kernel = 1;
	a.clockid = CLOCK_MONOTONIC;
	seen.from = now();
	seen.fd = perf_open(&a, 0, -1, -1, 0);
	if (seen.fd < 0)
		return seen.fd;
	seen.page = mmap(NULL, 4096 + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)seen.fd, 0);
	return seen.page == MAP_FAILED ? -errno : perf_ioctl(seen.fd, PERF_EVENT_IOC_ID, (unsigned long)&seen.id);
}

static struct throttle next_record(void)
{
	const char *data = (const char *)seen.page + 4096;
	struct throttle r = {0};

	for (unsigned i = 0; i < 8 || (i < r.header.size && i < sizeof(r)); i++)
		((char *)&r)[i] = data[(seen.tail + i) % RING_BYTES];
	seen.tail += r.header.size;
	return r;
}

static void check(const struct throttle *r)
{
	seen.throttled += r->header.type == PERF_RECORD_THROTTLE;
	seen.unthrottled += r->header.type == PERF_RECORD_UNTHROTTLE;
	expect(r->header.size, sizeof(*r));
	expect(r->header.misc, 0);
	expect(r->id, (long)seen.id);
	expect(r->stream_id, (long)seen.id);
	expect(r->trailer, (long)seen.id);
	expect(r->time >= seen.last && r->time >= seen.from && r->time <= now(), 1);
	expect(seen.throttled - seen.unthrottled <= 1, 1); /* in turn */
	seen.last = r->time;
}

static void drain(void)
{
	u64 head = __atomic_load_n(&seen.page->data_head, __ATOMIC_ACQUIRE);

	while (seen.tail < head) {
		struct throttle r = next_record();

		if (r.header.type == PERF_RECORD_THROTTLE || r.header.type == PERF_RECORD_UNTHROTTLE)
			check(&r);
	}
	__atomic_store_n(&seen.page->data_tail, seen.tail, __ATOMIC_RELEASE);
}

int main(void)
{
	long result = begin();

	if (seen.fd < 0) {
		printf("no hardware events here\n");
		return 77;
	}
	expect(result, 0);
	if (result)
		return 1;
	while (seen.unthrottled < ENOUGH && now() < seen.from + SECONDS * 1000000000ul) {
		for (volatile int i = 0; i < TURNS; i++)
			;
		drain();
	}
	expect(seen.unthrottled >= ENOUGH, 1);
	munmap(seen.page, 4096 + RING_BYTES);
	close((int)seen.fd);
	return perf_result();
}
