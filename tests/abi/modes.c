/*
 * exclude_user and exclude_kernel of software events: where each kind of event happens.
 * covers: PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CONTEXT_SWITCHES,
 * PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS, PERF_COUNT_SW_DUMMY,
 * attr.exclude_user, attr.exclude_kernel
 */
#include <time.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define PAGES 200

static long event(unsigned long config, unsigned user, unsigned kernel)
{
	struct perf_attr a = perf_attr_sw(config);

	a.exclude_user = !user;
	a.exclude_kernel = !kernel;
	return perf_open(&a, 0, -1, -1, 0);
}

int main(void)
{
	struct timespec ms = {0, 1000000};
	long switches_u = event(PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 0),
	     moves_u = event(PERF_COUNT_SW_CPU_MIGRATIONS, 1, 0);
	long faults_u = event(PERF_COUNT_SW_PAGE_FAULTS, 1, 0), major_u = event(PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, 0);
	long clock_none = event(PERF_COUNT_SW_TASK_CLOCK, 0, 0), faults_none = event(PERF_COUNT_SW_PAGE_FAULTS, 0, 0);
	long align = event(PERF_COUNT_SW_ALIGNMENT_FAULTS, 1, 0),
	     emulation = event(PERF_COUNT_SW_EMULATION_FAULTS, 1, 0);
	long dummy = event(PERF_COUNT_SW_DUMMY, 1, 0);
	long switches = event(PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 1); /* may be refused: EACCES */
	volatile char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 10; i++)
		nanosleep(&ms, NULL);
	for (int i = 0; i < PAGES; i++)
		p[i * 4096] = 1;
	expect(perf_value(switches_u), 0);
	expect(perf_value(moves_u), 0);
	expect(perf_value(faults_u) >= PAGES, 1);
	expect(perf_value(major_u) < PAGES, 1);
	expect(perf_value(clock_none) > 0, 1); /* clocks take no notice */
	expect(perf_value(faults_none), 0);
	expect(perf_value(align), 0);
	expect(perf_value(emulation), 0);
	expect(perf_value(dummy), 0);
	if (switches >= 0)
		expect(perf_value(switches) >= 10, 1);
	return perf_result();
}
