/*
 * What happens to a task is told to several events in one ring: to per-CPU events first, then to the task's, in both
 * cases to the last opened one first, whatever its group.
 * covers: attr.comm, attr.mmap, attr.task
 */
#include <sched.h>
#include "tests/abi/tracepoint.h"

#define EVENTS 7

static u64 id[EVENTS];
static int fd[EVENTS], cpu;
static struct perf_event_mmap_page *page;

static void open_one(int i, int system, int leader)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	a.comm = a.mmap = a.task = a.sample_id_all = 1;
	a.pinned = leader < 0 && i % 3 == 1;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_IDENTIFIER;
	fd[i] = (int)perf_open(&a, system ? -1 : 0, cpu, leader < 0 ? -1 : fd[leader], 0);
	expect(fd[i] >= 0, 1);
	perf_ioctl(fd[i], PERF_EVENT_IOC_ID, (unsigned long)&id[i]);
	if (i)
		expect(perf_ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)fd[0]), 0);
	else
		page = mmap(NULL, TRACE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd[0], 0);
}

/* Which event the next record of this process's of the kind is of; -1: there is none. */
static int next_of(u32 type, u64 *at)
{
	while (*at < page->data_head) {
		const struct perf_event_header *h = (const void *)((const char *)page + 4096 + *at);
		const u64 *end = (const void *)((const char *)h + h->size);

		*at += h->size;
		if (h->type == type && (u32)end[-2] == (u32)getpid())
			for (int i = 0; i < EVENTS; i++)
				if (id[i] == end[-1])
					return i;
	}
	return -1;
}

static void expect_order(u32 type, int systems)
{
	u64 at = 0;

	for (int system = !!systems; system >= 0; system--)
		for (int i = EVENTS - 1; i >= 0; i--)
			if ((systems >> i & 1) == system)
				expect(next_of(type, &at), i);
	expect(next_of(type, &at), -1);
}

/* A bit for each event that is of the CPU. */
static void test(int systems)
{
	for (int i = 0; i < EVENTS; i++)
		open_one(i, systems >> i & 1, i == 3 || i == 5 ? i - 3 : -1);
	prctl(PR_SET_NAME, "another");
	munmap(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	if (!fork())
		_exit(0);
	wait(NULL);
	expect_order(PERF_RECORD_COMM, systems);
	expect_order(PERF_RECORD_MMAP, systems);
	expect_order(PERF_RECORD_FORK, systems);
	munmap(page, TRACE_RING);
	for (int i = 0; i < EVENTS; i++)
		close(fd[i]);
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	cpu_set_t set;

	cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	test(0);
	if (!perf_try(a, -1, cpu, -1, 0))
		test(1 << 1 | 1 << 2 | 1 << 5);
	return perf_result();
}
