/*
 * Samples of cpu-clock with every field that a software event may have: the same structure natively and under pcl, and
 * in each field what can be known of it.
 * cflags: -fno-omit-frame-pointer -fno-optimize-sibling-calls
 * covers: attr.exclude_callchain_kernel, attr.sample_regs_*, attr.sample_stack_user, attr.use_clockid, attr.clockid,
 * PERF_SAMPLE_REGS_ABI_64, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR, PERF_SAMPLE_READ,
 * PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_RAW,
 * PERF_SAMPLE_REGS_USER, PERF_SAMPLE_REGS_INTR, PERF_SAMPLE_REGS_ABI_32, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_WEIGHT,
 * PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_TRANSACTION, PERF_SAMPLE_CGROUP,
 * PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE, PERF_SAMPLE_AUX, PERF_RECORD_SAMPLE, PERF_RECORD_SAMPLE.*,
 * PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER
 */
#include <asm/perf_regs.h>
#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"
#include "tests/abi/parse_sample.h"

#define PAGES	    64
#define PERIOD	    1000000 /* ns */
#define DEPTH	    5
#define DATA_SRC_NA 0x1e05080021ul
#define USER_END    0x7ffffffff000ul
#define REGS_ALL    0xff0ffful /* without ds, es, fs, gs */

#define EVERYTHING                                                                                                     \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |             \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |            \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |                    \
	 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |                 \
	 PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX)

extern char __executable_start[], etext[];

struct sampling {
	struct perf_attr attr;
	long fd;
	unsigned long id;
	struct perf_event_mmap_page *page;
	unsigned long from, to; /* CLOCK_MONOTONIC around it */
};

static unsigned long monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}

static unsigned long cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}

static volatile int sink;

/* At the bottom of DEPTH frames of itself: almost all the time is spent here. */
__attribute__((noinline)) static int spin(int depth)
{
	unsigned long end = cpu_time() + 30 * PERIOD;

	if (depth)
		return spin(depth - 1) + 1;
	while (cpu_time() < end)
		for (int i = 0; i < 100000; i++)
			sink = sink + i;
	return sink;
}

static struct perf_attr clock_attr(unsigned long type)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_CPU_CLOCK);

	a.disabled = 1;
	a.sample_period = PERIOD;
	a.sample_type = type;
	a.use_clockid = 1;
	a.clockid = CLOCK_MONOTONIC;
	a.sample_regs_user = a.sample_regs_intr = REGS_ALL;
	a.sample_stack_user = 1024;
	return a;
}

/* 0, or -1 if the event could not be had. */
static int start(struct sampling *s, struct perf_attr attr)
{
	s->attr = attr;
	s->fd = perf_open(&s->attr, 0, -1, -1, 0);
	expect(s->fd > 0, 1);
	if (s->fd < 0)
		return -1;
	s->page = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)s->fd, 0);
	expect(s->page != MAP_FAILED, 1);
	if (s->page == MAP_FAILED)
		return -1;
	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_ID, (unsigned long)&s->id), 0);
	return 0;
}

static void run(struct sampling *s)
{
	s->from = monotonic();
	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0);
	spin(DEPTH);
	expect(perf_ioctl(s->fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP), 0);
	s->to = monotonic();
}

static void stop(struct sampling *s)
{
	munmap(s->page, (1 + PAGES) * 4096);
	close((int)s->fd);
}

/* Whether there was one more sample. */
static int next_sample(struct sampling *s, struct parsed *p)
{
	static unsigned long record[8192 + 64];
	unsigned long head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE), tail = s->page->data_tail;
	unsigned char *data = (unsigned char *)s->page + 4096;
	struct perf_event_header *h = (struct perf_event_header *)record;

	while (tail != head) {
		for (unsigned i = 0, n = 8; i < n; i++) {
			((unsigned char *)record)[i] = data[(tail + i) % (PAGES * 4096)];
			n = i < 7 ? 8 : h->size;
		}
		tail += h->size;
		__atomic_store_n(&s->page->data_tail, tail, __ATOMIC_RELEASE);
		if (h->type == PERF_RECORD_SAMPLE) {
			*p = parse_sample(record, &s->attr);
			expect(p->left, 0);
			return 1;
		}
	}
	return 0;
}

/* ---- every field ---- */

static int in_program(unsigned long ip)
{
	return ip >= (unsigned long)__executable_start && ip < (unsigned long)etext;
}

static void check_fixed(const struct sampling *s, const struct parsed *p, unsigned long *last)
{
	expect(p->misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
	expect(p->identifier, (long)s->id);
	expect(p->id, (long)s->id);
	expect(p->stream_id, (long)s->id);
	expect(p->pid, getpid());
	expect(p->tid, gettid());
	expect(p->time > *last && p->time > s->from && p->time < s->to, 1);
	*last = p->time;
	expect(p->addr, 0);
	expect(p->cpu < (unsigned long)sysconf(_SC_NPROCESSORS_CONF), 1);
	expect(p->res, 0);
	expect(p->period, PERIOD);
	expect(p->raw_size, 4);
	expect(p->raw_data, 0);
	expect(p->weight, 0);
	expect(p->data_src, (long)DATA_SRC_NA);
	expect(p->txn, 0);
	expect(p->data_page_size, 0);
	expect(p->code_page_size, 4096);
}

/*
 * The group's second event counts the same time, begun and ended a moment after the first: how long those are, is the
 * machine's business.
 */
static void check_read(const struct sampling *s, const struct parsed *p, unsigned long second, unsigned long *last)
{
	expect(p->nr, 2);
	expect(p->value_id[0], (long)s->id);
	expect(p->value_id[1], (long)second);
	expect(p->value[0] > last[0], 1);
	expect(p->value[1] > last[1] || !last[0], 1);
	last[0] = p->value[0];
	last[1] = p->value[1];
	expect(p->enabled, (long)p->running);
	expect(p->enabled > 0, 1);
	expect(p->lost[0] | p->lost[1], 0);
}

/* Place of a register among those of REGS_ALL. */
static int place(int reg)
{
	return reg < PERF_REG_X86_DS ? reg : reg - 4;
}

static void check_regs(const struct parsed *p)
{
	const u64 *regs = p->regs_user;

	expect(p->abi_user, PERF_SAMPLE_REGS_ABI_64);
	expect(p->abi_intr, PERF_SAMPLE_REGS_ABI_64);
	expect(memcmp(p->regs_user, p->regs_intr, 20 * 8), 0);
	expect(regs[place(PERF_REG_X86_IP)], (long)p->ip);
	expect(regs[place(PERF_REG_X86_CS)], 0x33);
	expect(regs[place(PERF_REG_X86_SS)], 0x2b);
	expect(regs[place(PERF_REG_X86_FLAGS)] & 0x202, 0x202);
}

/* Inside spin() the frame pointers lead to its callers, and the dump of the stack has the same return addresses. */
static void check_frames(const struct sampling *s, const struct parsed *p, int *deep)
{
	unsigned long sp = p->regs_user[place(PERF_REG_X86_SP)], ret = p->regs_user[place(PERF_REG_X86_BP)] + 8 - sp,
		      saved;

	expect(p->chain_nr >= 2, 1);
	expect(p->chain[0], PERF_CONTEXT_USER);
	expect(p->chain[1], (long)p->ip);
	expect(p->stack_size, s->attr.sample_stack_user);
	expect(p->dyn_size, s->attr.sample_stack_user);
	if (!in_program(p->ip) || p->chain_nr < 3 + DEPTH || ret > p->dyn_size - 8)
		return;
	memcpy(&saved, p->stack + ret, 8);
	expect(p->chain[2], (long)saved);
	expect(p->chain[3], (long)p->chain[4]);
	expect(in_program(p->chain[3]), 1);
	++*deep;
}

static void test_everything(void)
{
	struct perf_attr attr = clock_attr(EVERYTHING), other = clock_attr(0);
	unsigned long second, time = 0, value[2] = {0, 0};
	int samples = 0, deep = 0;
	struct sampling s;
	struct parsed p;
	long fd;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (start(&s, attr))
		return;
	other.sample_period = 0;
	fd = perf_open(&other, 0, -1, (int)s.fd, 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)&second), 0);
	run(&s);
	for (; next_sample(&s, &p); samples++) {
		check_fixed(&s, &p, &time);
		check_read(&s, &p, second, value);
		check_regs(&p);
		check_frames(&s, &p, &deep);
	}
	expect(samples >= 15 && samples <= 40, 1);
	expect(value[1] > value[0] / 2 && value[0] > value[1] / 2, 1);
	expect(deep >= samples / 2, 1);
	close((int)fd);
	stop(&s);
}

/* ---- sizes and limits ---- */

/* The dump ends where user addresses do, and the record is never above 65528 bytes. */
static void test_large_stack(void)
{
	struct perf_attr attr =
		clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	struct sampling s;
	struct parsed p;
	int samples = 0;

	attr.sample_stack_user = 65528;
	attr.sample_regs_user = 1ul << PERF_REG_X86_SP;
	if (start(&s, attr))
		return;
	run(&s);
	for (; next_sample(&s, &p); samples++) {
		unsigned long room = USER_END - p.regs_user[0], most = 65528 - p.chain_nr * 8 - 56;

		expect(p.stack_size, (long)(room < most ? room : most));
		expect(p.dyn_size > 0 && p.dyn_size <= p.stack_size, 1);
	}
	expect(samples > 2, 1);
	stop(&s);
}

/* Some samples of that event, each of them looked at. */
static void check_samples(struct perf_attr attr, void (*check)(const struct parsed *p))
{
	struct sampling s;
	struct parsed p;
	int samples = 0;

	if (start(&s, attr))
		return;
	run(&s);
	for (; next_sample(&s, &p); samples++)
		check(&p);
	expect(samples > 2, 1);
	stop(&s);
}

static void is_short_chain(const struct parsed *p)
{
	expect(p->chain_nr <= 4, 1);
	expect(p->chain[1], (long)p->ip);
}

static void is_no_chain(const struct parsed *p)
{
	expect(p->chain_nr, 0);
}

static void is_user_chain(const struct parsed *p)
{
	for (u64 i = 0; i < p->chain_nr; i++)
		expect(p->chain[i] == (u64)PERF_CONTEXT_USER || p->chain[i] < USER_END, 1);
}

static void test_chains(void)
{
	struct perf_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);

	attr.sample_max_stack = 3;
	check_samples(attr, is_short_chain);
	attr = clock_attr(PERF_SAMPLE_CALLCHAIN);
	attr.exclude_callchain_user = 1;
	check_samples(attr, is_no_chain);
	/* For who may sample the kernel: the user's part alone. */
	attr = clock_attr(PERF_SAMPLE_CALLCHAIN);
	attr.exclude_kernel = 0;
	attr.exclude_callchain_kernel = 1;
	if (perf_try(attr, 0, -1, -1, 0) != -EACCES)
		check_samples(attr, is_user_chain);
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	if (perf_try(a, 0, -1, -1, 0) || !perf_linux_is_new()) {
		printf("no perf_event_open of Linux 6.15 or later here\n");
		return 77;
	}
	test_everything();
	test_large_stack();
	test_chains();
	return perf_result();
}
