/*
 * Self-monitoring without system calls, by the man page's loop: seqlock, offset, rdpmc. Needs a PMU: pcl's own, or a
 * host's.
 *
 * What read(2) and the page say of one moment is the same number.
 * covers for pcl: page.index, page.offset, page.pmc_width, page.cap_user_rdpmc, page.cap_user_time_zero,
 * page.time_shift, page.time_mult, page.time_zero, page.time_enabled, page.time_running, page.lock
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define PAGE 4096ul

static struct perf_event_mmap_page *volatile page;

static inline unsigned long rdpmc(unsigned counter)
{
	unsigned low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	return low | (unsigned long)high << 32;
}

/* The count; ~0: the event is not on a counter. */
static __attribute__((noinline)) unsigned long page_count(void)
{
	unsigned seq, index;
	unsigned long count;
	long pmc;

	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		index = page->index;
		count = (unsigned long)page->offset;
		if (!page->cap_user_rdpmc || !index)
			return ~0ul;
		pmc = (long)rdpmc(index - 1);
		pmc <<= 64 - page->pmc_width;
		pmc >>= 64 - page->pmc_width;
		count += (unsigned long)pmc;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != seq);
	return count;
}

/* 2n instructions, n branches, and what surrounds them. */
static __attribute__((noinline)) unsigned long measure(unsigned long n)
{
	unsigned long before = page_count();

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
	return page_count() - before;
}

static long open_hw(unsigned long config)
{
	struct perf_attr attr = {.type = PERF_TYPE_HARDWARE,
				 .size = sizeof(attr),
				 .config = config,
				 .exclude_kernel = 1,
				 .exclude_hv = 1};

	return perf_open(&attr, 0, -1, -1, 0);
}

static void map_event(long fd)
{
	void *at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (int)fd, 0);

	expect(at != MAP_FAILED, 1);
	if (at == MAP_FAILED)
		exit(1);
	page = at;
}

static void unmap_event(void)
{
	munmap(page, PAGE);
}

static void test_exact(unsigned long config, unsigned long per_turn)
{
	long fd = open_hw(config);
	unsigned long base;

	map_event(fd);
	measure(10);
	base = measure(10);
	for (unsigned long n = 10; n < 3000; n += 123)
		expect(measure(n) - base, (n - 10) * per_turn);
	unmap_event();
	close((int)fd);
}

/* rdpmc itself is an instruction. */
static void test_counted(void)
{
	long fd = open_hw(PERF_COUNT_HW_INSTRUCTIONS);
	unsigned first, second;

	map_event(fd);
	__asm__ volatile("rdpmc; mov %%eax, %%esi; rdpmc"
			 : "=S"(first), "=a"(second)
			 : "c"(page->index - 1)
			 : "rdx");
	expect(second - first, 2);
	unmap_event();
	close((int)fd);
}

/* read(2) lies between two looks at the page, always the same number away from each. */
static void test_read(unsigned long config, int exact)
{
	long fd = open_hw(config);
	unsigned long to = 0, from = 0;

	map_event(fd);
	for (int i = 0; i < 50; i++) {
		unsigned long a = page_count(), b = (unsigned long)perf_value(fd), c = page_count();

		expect(a < b && b < c, 1);
		if (i < 2 || !exact) {
			to = b - a;
			from = c - b;
		}
		expect(b - a, to);
		expect(c - b, from);
		if (i % 7 == 0)
			measure((unsigned long)i + 1);
	}
	unmap_event();
	close((int)fd);
}

static void test_states(void)
{
	long fd = open_hw(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	unsigned long n;

	map_event(fd);
	measure(1000);
	expect(page->index != 0, 1);
	ioctl((int)fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(page->index, 0);
	expect(page->offset, perf_value(fd));
	expect(page->time_enabled, page->time_running);
	n = (unsigned long)page->offset;
	measure(1000);
	expect(page->offset, n);
	ioctl((int)fd, PERF_EVENT_IOC_RESET, 0);
	expect(page->offset, 0);
	ioctl((int)fd, PERF_EVENT_IOC_ENABLE, 0);
	measure(1000);
	n = page_count();
	expect(n > 1000 && n < 1300, 1);
	ioctl((int)fd, PERF_EVENT_IOC_RESET, 0);
	n = page_count();
	expect(n < 100, 1);
	unmap_event();
	close((int)fd);
}

static int dies_of_rdpmc(unsigned counter)
{
	int status, pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		rdpmc(counter);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void *other_thread(void *arg)
{
	rdpmc(*(unsigned *)arg - 1);
	return NULL;
}

/* Only who has mapped such an event may use the instruction, by default. */
static void test_permission(void)
{
	struct perf_attr sw = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	unsigned index;
	pthread_t thread;
	long fd;

	expect(dies_of_rdpmc(0), 1);
	fd = perf_open(&sw, 0, -1, -1, 0);
	map_event(fd);
	expect(page->index, 0);
	expect(page->cap_user_rdpmc, 0);
	expect(page_count(), ~0ul);
	unmap_event();
	close((int)fd);

	fd = open_hw(PERF_COUNT_HW_INSTRUCTIONS);
	map_event(fd);
	index = page->index;
	rdpmc(index - 1);
	pthread_create(&thread, NULL, other_thread, &index);
	pthread_join(thread, NULL);
	expect(dies_of_rdpmc(index - 1), 1); /* the child has no mapping */
	unmap_event();
	expect(dies_of_rdpmc(index - 1), 1);
	close((int)fd);
}

/* cap_user_time_zero: what rdtsc becomes is the time of records. Its zero is CLOCK_MONOTONIC's or near it. */
static void test_clock(void)
{
	long fd = open_hw(PERF_COUNT_HW_INSTRUCTIONS);
	unsigned long tsc, ns, last = 0;
	struct timespec ts;

	map_event(fd);
	for (int i = 0; i < 100 && page->cap_user_time_zero; i++) {
		tsc = __builtin_ia32_rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &ts);
		ns = page->time_zero + (tsc >> page->time_shift) * page->time_mult +
		     (((tsc & ((1ul << page->time_shift) - 1)) * page->time_mult) >> page->time_shift);
		expect(ns > last, 1);
		expect(labs((long)(ns - ((unsigned long)ts.tv_sec * 1000000000ul + (unsigned long)ts.tv_nsec))) <
			       1000000000,
		       1);
		last = ns;
	}
	unmap_event();
	close((int)fd);
}

/* An event of all tasks on the CPU that we are on: from there, by any thread, as read(2) gives it. */
static void test_cpu(unsigned long config)
{
	struct perf_attr attr = {.type = PERF_TYPE_HARDWARE,
				 .size = sizeof(attr),
				 .config = config,
				 .exclude_kernel = 1,
				 .exclude_hv = 1};
	int cpu = sched_getcpu();
	cpu_set_t one, all;
	unsigned long n;
	long fd;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	fd = perf_open(&attr, -1, cpu, -1, 0);
	if (fd == -EACCES)
		return;
	map_event(fd);
	expect(page->cap_user_rdpmc, 1);
	for (int i = 0; i < 50; i++) {
		unsigned long a = page_count(), b = (unsigned long)perf_value(fd), c = page_count();

		expect(a <= b && b <= c, 1);
		n = measure(10000);
		expect(n >= 5000 && n < 10000000, 1);
	}
	ioctl((int)fd, PERF_EVENT_IOC_DISABLE, 0);
	expect(page->index, 0);
	expect(page->offset, perf_value(fd));
	ioctl((int)fd, PERF_EVENT_IOC_RESET, 0);
	expect(page->offset, 0);
	ioctl((int)fd, PERF_EVENT_IOC_ENABLE, 0);
	n = (unsigned)page->index - 1;
	expect(page_count() < 1000000, 1);
	unmap_event();
	close((int)fd);
	expect(dies_of_rdpmc((unsigned)n), 1);
	sched_setaffinity(0, sizeof(all), &all);
}

int main(void)
{
	long fd = open_hw(PERF_COUNT_HW_INSTRUCTIONS);

	if (fd < 0) {
		printf("no hardware events here\n");
		return 77;
	}
	close((int)fd);
	test_exact(PERF_COUNT_HW_INSTRUCTIONS, 2);
	test_exact(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1);
	test_counted();
	test_read(PERF_COUNT_HW_INSTRUCTIONS, 1);
	test_read(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1);
	test_read(PERF_COUNT_HW_CPU_CYCLES, 0);
	test_states();
	test_permission();
	test_cpu(PERF_COUNT_HW_INSTRUCTIONS);
	test_cpu(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	test_cpu(PERF_COUNT_HW_CPU_CYCLES);
	test_clock();
	return perf_result();
}
