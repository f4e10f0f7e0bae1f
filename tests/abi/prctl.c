/*
 * PR_TASK_PERF_EVENTS_ENABLE and _DISABLE switch what the calling thread opened, on whatever task it counts, members of
 * groups included (the man page says leaders only), and nothing that others opened.
 * covers: PR_TASK_PERF_EVENTS_*
 */
#include "tests/abi/errno/perf.h"

static void spin(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

static void test_own_group(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	long leader, sibling, before[2];

	a.disabled = 1;
	leader = perf_open(&a, 0, -1, -1, 0);
	sibling = perf_open(&a, 0, -1, (int)leader, 0);
	spin();
	expect(perf_value(leader), 0);
	expect(prctl(PR_TASK_PERF_EVENTS_ENABLE), 0);
	spin();
	expect(prctl(PR_TASK_PERF_EVENTS_DISABLE), 0);
	before[0] = perf_value(leader);
	before[1] = perf_value(sibling);
	expect(before[0] > 0, 1);
	expect(before[1] > 0, 1);
	spin();
	expect(perf_value(leader), before[0]);
	expect(perf_value(sibling), before[1]);
	close((int)leader);
	close((int)sibling);
}

/* A child inherits the descriptor, not the ownership. */
static void test_others(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int status;
	long fd;

	a.disabled = 1;
	fd = perf_open(&a, 0, -1, -1, 0);
	if (!fork()) {
		prctl(PR_TASK_PERF_EVENTS_ENABLE);
		_exit(0);
	}
	wait(&status);
	spin();
	expect(perf_value(fd), 0);
	close((int)fd);
}

int main(void)
{
	test_own_group();
	test_others();
	return perf_result();
}
