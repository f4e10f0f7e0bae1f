/*
 * A program that counts eight hardware events on itself where there are four counters (pcl --counters=4): times, scaled
 * values, what is exact, what the first page of a mapping and samples say. Ends with 0, or 1 and what is wrong.
 */
#include <poll.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define COUNTERS 4
#define EVENTS 8
#define ROUNDS 600000000
#define INSTRUCTIONS 3 /* of a round, and one branch */
#define PERIOD 10000019
#define PAGES 64

static void work(unsigned long rounds)
{
	__asm__ volatile("1: nop\n\tdec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
}

static struct perf_attr hardware(unsigned long config)
{
	struct perf_attr a = perf_attr_sw(config);

	a.type = PERF_TYPE_HARDWARE;
	a.disabled = 1;
	a.read_format = PERF_TIMES;
	return a;
}

static long open_one(struct perf_attr a, long group)
{
	return perf_open(&a, 0, -1, (int)group, 0);
}

static void switch_all(const long *fd, int n, unsigned long cmd)
{
	for (int i = 0; i < n; i++)
		expect(perf_ioctl(fd[i], cmd, 0), 0);
}

static void close_all(const long *fd, int n)
{
	for (int i = 0; i < n; i++)
		close((int)fd[i]);
}

/* The value is within so many thousandths of what it should be. */
static int is_near(double value, double wanted, double thousandths)
{
	double off = value > wanted ? value - wanted : wanted - value;

	if (off * 1000 <= wanted * thousandths)
		return 1;
	printf("%.0f instead of %.0f\n", value, wanted);
	return 0;
}

static double scaled(struct perf_times t)
{
	return (double)t.count * (double)t.enabled / (double)t.running;
}

/* Each of eight events has half of the time; all four counters are in use all of it. */
static void test_scaled(void)
{
	static const unsigned long config[] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS};
	long fd[EVENTS];
	double running = 0, enabled = 0;

	for (int i = 0; i < EVENTS; i++)
		fd[i] = open_one(hardware(config[i % 2]), -1);
	switch_all(fd, EVENTS, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	switch_all(fd, EVENTS, PERF_EVENT_IOC_DISABLE);
	for (int i = 0; i < EVENTS; i++) {
		struct perf_times t = perf_times_of(fd[i]);

		expect(t.running > 0 && t.running < t.enabled, 1);
		expect(is_near(scaled(t), (double)ROUNDS * (i % 2 ? 1 : INSTRUCTIONS), 250), 1);
		running += (double)t.running;
		enabled += (double)t.enabled;
	}
	expect(is_near(running, enabled * COUNTERS / EVENTS, 50), 1);
	close_all(fd, EVENTS);
}

/* What always has its counter is exact, by whatever it is surrounded. */
static void test_pinned(void)
{
	struct perf_attr a = hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	long fd[EVENTS];
	struct perf_times t;

	for (int i = 1; i < EVENTS; i++)
		fd[i] = open_one(hardware(PERF_COUNT_HW_INSTRUCTIONS), -1);
	switch_all(fd + 1, EVENTS - 1, PERF_EVENT_IOC_ENABLE);
	a.pinned = 1;
	fd[0] = open_one(a, -1);
	switch_all(fd, 1, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	switch_all(fd, 1, PERF_EVENT_IOC_DISABLE);
	t = perf_times_of(fd[0]);
	expect(t.running, t.enabled);
	expect(t.count >= ROUNDS && t.count < ROUNDS + 1000, 1); /* and those of the calls around it */
	close_all(fd, EVENTS);
}

/* More pinned events than counters: read(2) gives the end of the file, poll(2) an error. */
static void test_error(void)
{
	struct perf_attr a = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	long fd[COUNTERS + 1];
	struct pollfd p;
	struct perf_times t;

	a.pinned = 1;
	for (int i = 0; i <= COUNTERS; i++)
		fd[i] = open_one(a, -1);
	switch_all(fd, COUNTERS + 1, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < COUNTERS; i++)
		expect(perf_times_of(fd[i]).enabled > 0, 1);
	expect(read((int)fd[COUNTERS], &t, sizeof(t)), 0);
	p = (struct pollfd){.fd = (int)fd[COUNTERS], .events = POLLIN};
	expect(poll(&p, 1, 0), 1);
	expect(p.revents, POLLERR);
	close_all(fd, COUNTERS);
	switch_all(fd + COUNTERS, 1, PERF_EVENT_IOC_ENABLE);
	expect(perf_times_of(fd[COUNTERS]).enabled > 0, 1);
	close((int)fd[COUNTERS]);
}

static volatile int signalled;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	signalled = info->si_code;
	(void)signo;
	(void)context;
}

static void test_signal(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	struct perf_attr a = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	long fd[2];

	a.pinned = a.exclusive = 1;
	for (int i = 0; i < 2; i++)
		fd[i] = open_one(a, -1);
	sigaction(SIGRTMIN, &action, NULL);
	fcntl((int)fd[1], F_SETSIG, SIGRTMIN);
	fcntl((int)fd[1], F_SETOWN, getpid());
	fcntl((int)fd[1], F_SETFL, O_ASYNC);
	switch_all(fd, 1, PERF_EVENT_IOC_ENABLE);
	expect(signalled, 0);
	switch_all(fd + 1, 1, PERF_EVENT_IOC_ENABLE);
	expect(signalled, POLL_ERR);
	close_all(fd, 2);
}

static void test_group(void)
{
	long leader = open_one(hardware(PERF_COUNT_HW_INSTRUCTIONS), -1), fd[COUNTERS];
	struct perf_attr on = hardware(PERF_COUNT_HW_INSTRUCTIONS), clock = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	on.disabled = 0;
	for (int i = 1; i < COUNTERS; i++)
		fd[i] = open_one(on, leader);
	expect(perf_try(on, 0, -1, (int)leader, 0), -EINVAL);
	expect(perf_try(clock, 0, -1, (int)leader, 0), 0);
	close_all(fd + 1, COUNTERS - 1);
	expect(perf_try(on, 0, -1, (int)leader, 0), 0);
	close((int)leader);
}

static unsigned long rdpmc(unsigned counter)
{
	unsigned low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	return (unsigned long)high << 32 | low;
}

/* The man page's loop: index 0 means that the event waits, and offset is its count. */
static unsigned long self_read(const volatile struct perf_event_mmap_page *page, unsigned *index)
{
	unsigned long count;
	unsigned seq;

	do {
		seq = page->lock;
		__asm__ volatile("" ::: "memory");
		*index = page->index;
		count = (unsigned long)page->offset;
		if (*index)
			count += rdpmc(*index - 1);
		__asm__ volatile("" ::: "memory");
	} while (page->lock != seq);
	return count;
}

static void test_page(void)
{
	long fd[EVENTS];
	struct perf_event_mmap_page *page;
	unsigned on = 0, off = 0, index;
	unsigned long last = 0, now;

	for (int i = 0; i < EVENTS; i++)
		fd[i] = open_one(hardware(PERF_COUNT_HW_INSTRUCTIONS), -1);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, (int)fd[0], 0);
	expect(page != MAP_FAILED, 1);
	switch_all(fd, EVENTS, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < 400; i++) {
		work(ROUNDS / 400);
		now = self_read(page, &index);
		expect(now >= last, 1);
		on += index != 0;
		off += index == 0;
		last = now;
	}
	switch_all(fd, EVENTS, PERF_EVENT_IOC_DISABLE);
	expect(on > 0 && off > 0, 1);
	now = self_read(page, &index);
	expect(index, 0);
	expect(now, perf_times_of(fd[0]).count);
	expect(page->time_running < page->time_enabled, 1);
	munmap(page, 4096);
	close_all(fd, EVENTS);
}

/* There is a sample at each period of what the event has counted itself. */
static void test_samples(void)
{
	struct perf_attr a = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_mmap_page *page;
	unsigned long samples = 0;
	struct perf_times t;
	long fd[EVENTS];

	a.sample_period = PERIOD;
	fd[0] = open_one(a, -1);
	for (int i = 1; i < EVENTS; i++)
		fd[i] = open_one(hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS), -1);
	page = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd[0], 0);
	expect(page != MAP_FAILED, 1);
	switch_all(fd, EVENTS, PERF_EVENT_IOC_ENABLE);
	work(ROUNDS);
	switch_all(fd, EVENTS, PERF_EVENT_IOC_DISABLE);
	for (unsigned long at = 0; at < page->data_head;) {
		const struct perf_event_header *h = (void *)((char *)page + page->data_offset + at);

		samples += h->type == PERF_RECORD_SAMPLE;
		at += h->size;
	}
	t = perf_times_of(fd[0]);
	expect(t.running < t.enabled, 1);
	expect(samples, t.count / PERIOD);
	munmap(page, (1 + PAGES) * 4096);
	close_all(fd, EVENTS);
}

/* Children take turns by their own time, and the parent's read has it all. */
static void test_inherited(void)
{
	struct perf_attr a = hardware(PERF_COUNT_HW_INSTRUCTIONS);
	double running = 0, enabled = 0;
	long fd[EVENTS];

	a.inherit = 1;
	for (int i = 0; i < EVENTS; i++)
		fd[i] = open_one(a, -1);
	switch_all(fd, EVENTS, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			work(ROUNDS);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	switch_all(fd, EVENTS, PERF_EVENT_IOC_DISABLE);
	for (int i = 0; i < EVENTS; i++) {
		struct perf_times t = perf_times_of(fd[i]);

		expect(is_near(scaled(t), 2.0 * ROUNDS * INSTRUCTIONS, 250), 1);
		running += (double)t.running;
		enabled += (double)t.enabled;
	}
	expect(is_near(running, enabled * COUNTERS / EVENTS, 50), 1);
	close_all(fd, EVENTS);
}

int main(void)
{
	test_scaled();
	test_pinned();
	test_error();
	test_signal();
	test_group();
	test_page();
	test_samples();
	test_inherited();
	return perf_result();
}
