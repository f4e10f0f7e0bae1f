/*
 * Several events of one tracepoint: the last one opened is hit first, a member before its leader, so its sample says of
 * the leader what was counted before. Of several that raise SIGTRAP the signal is that of the first one opened.
 * covers: PERF_TYPE_TRACEPOINT
 */
#include "tests/abi/tracepoint.h"
#include "tests/abi/uprobe.h"

#define EVENTS 18 /* more than pcl sorts at once */

__attribute__((noinline, noclone)) static void target(void)
{
	__asm__ volatile("" ::: "memory");
}

static void happen(void)
{
	call_getppid(1);
	target();
}

static volatile unsigned long traps, trap_data;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	memcpy((void *)&trap_data, (char *)info + 24, sizeof(trap_data)); /* si_perf_data, which old headers lack */
	traps++;
}

/* All of them write into the first one's ring. */
static void test_order(struct perf_attr a, int in_group)
{
	unsigned long ids[EVENTS];
	long fd[EVENTS];
	struct perf_event_mmap_page *page = NULL;
	const u64 *record;

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP;
	for (int i = 0; i < EVENTS; i++) {
		a.disabled = !i;
		fd[i] = perf_open(&a, 0, -1, i && in_group ? (int)fd[0] : -1, 0);
		expect(fd[i] >= 0, 1);
		perf_ioctl(fd[i], PERF_EVENT_IOC_ID, (unsigned long)&ids[i]);
		if (i)
			expect(perf_ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)fd[0]), 0);
		else
			page = mmap(NULL, TRACE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd[0], 0);
	}
	perf_ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0);
	happen();
	record = (const u64 *)((const char *)page + 4096);
	for (int i = EVENTS - 1; i >= 0; i--) {
		expect(record[1], ids[i]);
		expect(record[2], in_group ? EVENTS : 1);
		for (u64 member = 0; member < record[2]; member++)
			expect(record[3 + member], !in_group || (int)member >= i);
		record += 3 + record[2];
	}
	expect((const char *)record - (const char *)page - 4096, page->data_head);
	munmap(page, TRACE_RING);
	for (int i = 0; i < EVENTS; i++)
		close((int)fd[i]);
}

static void test_sigtrap(struct perf_attr a)
{
	long fd[EVENTS];

	a.sample_period = a.sigtrap = a.remove_on_exec = a.exclude_kernel = 1;
	for (int i = 0; i < EVENTS; i++) {
		a.sig_data = 10 + (u64)i;
		fd[i] = perf_open(&a, 0, -1, -1, 0);
		expect(fd[i] >= 0, 1);
	}
	traps = 0;
	happen();
	expect(traps, 1);
	expect(trap_data, 10);
	for (int i = 0; i < EVENTS; i++)
		close((int)fd[i]);
}

static void test(struct perf_attr a)
{
	test_order(a, 0);
	test_order(a, 1);
	test_sigtrap(a);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct place p = place_of(target);

	trace_skip_without();
	sigaction(SIGTRAP, &act, NULL);
	test(trace_attr("syscalls/sys_enter_getppid"));
	if (uprobe_type() >= 0)
		test(uprobe_at(&p, 0));
	return perf_result();
}
