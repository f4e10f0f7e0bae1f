/*
 * Samples of breakpoints in every form whose contents are the same from run to run: each field alone and all of them,
 * every read format, every clock, periods, samples of threads and children, a ring that is too small, one that is
 * written backward. Addresses are printed relative to what they belong to, tasks and ids by the order in which they are
 * first seen, times only if they are wrong. cflags: -fno-omit-frame-pointer -fno-optimize-sibling-calls
 * -fcf-protection=none
 * covers: PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_WEIGHT_STRUCT, attr.sample_id_all
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include "tests/abi/breakpoint.h"
#include "tests/transparency/print_sample.h"

#define PAGES 16
#define FIELDS 25 /* bits of sample_type */
#define ALL_FIELDS                                                                                                     \
	(((1ul << FIELDS) - 1) & ~(u64)(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_AUX))

/* ---- rings ---- */

struct ring {
	struct perf_attr attr;
	long fd;
	struct perf_event_mmap_page *page;
	u64 size, last_time, from, to; /* from, to: the event's clock around it, 0: not asked */
};

static int ring_open(struct ring *r, int cpu, int group, unsigned pages, int prot)
{
	r->fd = perf_open(&r->attr, 0, cpu, group, 0);
	if (r->fd < 0) {
		printf("  open: %s\n", strerror((int)-r->fd));
		return -1;
	}
	r->size = pages * 4096ul;
	r->last_time = 0;
	r->page = mmap(NULL, 4096 + r->size, prot, MAP_SHARED, (int)r->fd, 0);
	if (r->page != MAP_FAILED)
		return 0;
	printf("  mmap: %s\n", strerror(errno));
	close((int)r->fd);
	return -1;
}

static void ring_close(struct ring *r)
{
	munmap(r->page, 4096 + r->size);
	close((int)r->fd);
}

static void check_time(struct ring *r, u64 time)
{
	if (time < r->last_time || (r->to && (time < r->from || time > r->to)))
		printf(" time is wrong");
	r->last_time = time;
}

static void print_sample(struct ring *r, const void *record)
{
	struct parsed p = parse_sample(record, &r->attr);

	print_first(&p, r->attr.sample_type);
	print_rest(&p, &r->attr);
	if (p.left)
		printf(" and %lu bytes more", (unsigned long)p.left);
	if (r->attr.sample_type & PERF_SAMPLE_TIME)
		check_time(r, p.time);
}

static void print_record(struct ring *r, const void *record)
{
	const struct perf_event_header *h = record;
	const u64 *body = (const u64 *)(h + 1);

	/* A chain ends where libc's frames do. */
	printf("  type %u misc %x size %d:", h->type, h->misc,
	       r->attr.sample_type & PERF_SAMPLE_CALLCHAIN ? 0 : h->size);
	if (h->type == PERF_RECORD_SAMPLE)
		print_sample(r, record);
	else if (h->type == PERF_RECORD_LOST)
		printf(" id %u lost %lu", name_of(&ids, body[0]), (unsigned long)body[1]);
	else if (r->attr.sample_type == PERF_SAMPLE_TIME)
		check_time(r, body[(h->size - sizeof(*h)) / 8 - 1]);
	putchar('\n');
}

static const void *copy_record(const struct ring *r, u64 at)
{
	static u64 copy[8192 + 64];
	const u8 *data = (const u8 *)r->page + 4096;
	const struct perf_event_header *h = (const void *)copy;

	for (u64 i = 0; i < 8; i++)
		((u8 *)copy)[i] = data[(at + i) % r->size];
	for (u64 i = 8; i < h->size; i++)
		((u8 *)copy)[i] = data[(at + i) % r->size];
	return copy;
}

/* Prints what there is, at most so many records of it, and takes it. */
static void ring_print(struct ring *r, unsigned most)
{
	u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), at = r->page->data_tail;
	unsigned n = 0;

	for (const struct perf_event_header *h; at < head; at += h->size, n++) {
		h = copy_record(r, at);
		if (n < most)
			print_record(r, h);
	}
	printf("  %u records\n", n);
	__atomic_store_n(&r->page->data_tail, at, __ATOMIC_RELEASE);
}

static struct perf_attr attr_of(u32 type, u64 sample_type)
{
	struct perf_attr a = bp_attr(type, type == HW_BREAKPOINT_X ? (void *)target : &watched, 8);

	a.sample_period = 1;
	a.sample_type = sample_type;
	a.sample_regs_user = a.sample_regs_intr = REGS;
	a.sample_stack_user = sample_type & PERF_SAMPLE_STACK_USER ? 64 : 0;
	a.sample_id_all = a.disabled = 1;
	return a;
}

static void begin(const char *what, u64 which)
{
	memset(&tasks, 0, sizeof(tasks));
	memset(&ids, 0, sizeof(ids));
	printf("-- %s %lx\n", what, (unsigned long)which);
}

static void sample(struct perf_attr attr, long times)
{
	struct ring r = {.attr = attr};

	if (ring_open(&r, -1, -1, PAGES, PROT_READ | PROT_WRITE))
		return;
	perf_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	run(times);
	perf_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	ring_print(&r, 100);
	ring_close(&r);
}

/* ---- what is tried ---- */

static void test_fields(u32 type)
{
	for (unsigned bit = 0; bit <= FIELDS + 1; bit++) {
		begin("field", 1ul << bit);
		sample(attr_of(type, 1ul << bit), 2);
	}
	begin("all fields", type);
	sample(attr_of(type, ALL_FIELDS & ~(u64)PERF_SAMPLE_PHYS_ADDR), 3);
}

static void test_reads(void)
{
	for (u64 format = 0; format < 32; format++) {
		struct perf_attr other = attr_of(HW_BREAKPOINT_W, 0);
		struct ring r = {.attr = attr_of(HW_BREAKPOINT_X, PERF_SAMPLE_READ | PERF_SAMPLE_ID)};
		long fd;

		begin("read format", format);
		r.attr.read_format = format;
		if (ring_open(&r, -1, -1, PAGES, PROT_READ | PROT_WRITE))
			continue;
		other.sample_period = other.disabled = 0;
		fd = perf_open(&other, 0, -1, (int)r.fd, 0);
		perf_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
		run(3);
		perf_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		ring_print(&r, 100);
		close((int)fd);
		ring_close(&r);
	}
}

static void test_periods(void)
{
	for (u64 period = 2; period <= 4; period++) {
		struct perf_attr a = attr_of(HW_BREAKPOINT_W, PERF_SAMPLE_IP | PERF_SAMPLE_READ);

		begin("period", period);
		a.sample_period = period;
		sample(a, 13);
	}
}

static u64 now(int clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* Samples of a breakpoint, for which not every clock will do, or side-band records of an event that takes all. */
static void test_clocks(int records)
{
	for (int clock = CLOCK_REALTIME; clock <= CLOCK_TAI + 1; clock++) {
		struct ring r = {.attr = attr_of(HW_BREAKPOINT_X, PERF_SAMPLE_TIME)};

		begin(records ? "records by clock" : "samples by clock", (u64)clock);
		if (records) {
			r.attr = perf_attr_sw(PERF_COUNT_SW_DUMMY);
			r.attr.sample_type = PERF_SAMPLE_TIME;
			r.attr.sample_id_all = r.attr.comm = 1;
		}
		r.attr.use_clockid = 1;
		r.attr.clockid = clock;
		if (ring_open(&r, -1, -1, PAGES, PROT_READ | PROT_WRITE))
			continue;
		r.from = now(clock);
		perf_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
		run(3);
		for (int i = 0; i < 3; i++)
			prctl(PR_SET_NAME, "a name");
		perf_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
		r.to = now(clock);
		ring_print(&r, 100);
		ring_close(&r);
	}
}

static void *thread(void *arg)
{
	run(1);
	return arg;
}

static void test_family(void)
{
	struct ring r = {.attr = attr_of(HW_BREAKPOINT_X, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
								  PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
								  PERF_SAMPLE_READ)};
	cpu_set_t one;
	pthread_t t;
	pid_t pid;

	begin("family", 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	r.attr.inherit = r.attr.task = 1;
	if (ring_open(&r, sched_getcpu(), -1, PAGES, PROT_READ | PROT_WRITE))
		return;
	perf_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	run(1);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	pid = fork();
	if (pid == 0) {
		run(2);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	run(1);
	ring_print(&r, 100);
	ring_close(&r);
}

static void test_small_ring(void)
{
	struct ring r = {.attr = attr_of(HW_BREAKPOINT_X, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ)};

	begin("small ring", 0);
	r.attr.read_format = PERF_FORMAT_LOST;
	if (ring_open(&r, -1, -1, 1, PROT_READ | PROT_WRITE))
		return;
	perf_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 3; i++) {
		run(150);
		ring_print(&r, 2);
	}
	ring_close(&r);
}

/* Newest first, up to where the ring ends or has not been written to. */
static void test_backward(void)
{
	struct ring r = {.attr = attr_of(HW_BREAKPOINT_X, PERF_SAMPLE_READ)};
	unsigned n = 0;

	begin("backward", 0);
	r.attr.write_backward = 1;
	if (ring_open(&r, -1, -1, 1, PROT_READ))
		return;
	perf_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	run(400);
	perf_ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	for (u64 head = r.page->data_head, at = head; at < head + r.size; n++) {
		const struct perf_event_header *h = copy_record(&r, at);

		if (!h->size || at + h->size > head + r.size)
			break;
		if (n < 3 || at + 2 * h->size > head + r.size)
			print_record(&r, h);
		at += h->size;
	}
	printf("  %u records\n", n);
	ring_close(&r);
}

int main(void)
{
	bp_skip_without();
	if (!perf_linux_is_new()) {
		printf("no perf_event_open of Linux 6.15 or later here\n");
		return 77;
	}
	test_fields(HW_BREAKPOINT_X);
	test_fields(HW_BREAKPOINT_W);
	test_reads();
	test_periods();
	test_clocks(0);
	test_clocks(1);
	test_family();
	test_small_ring();
	test_backward();
	return 0;
}
