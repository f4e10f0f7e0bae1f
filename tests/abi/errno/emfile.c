/*
 * EMFILE: no descriptor left; it comes after the attr and before the group.
 * covers: EMFILE
 */
#include <sys/resource.h>
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK), bad = a;
	struct rlimit limit = {3, 3};
	int status = perf_result();

	if (status == 77)
		return status;
	setrlimit(RLIMIT_NOFILE, &limit);
	bad.sample_type = 1ul << 40;
	expect(perf_try(bad, 0, -1, -1, 0), -EINVAL);
	expect(perf_try(a, 0, -1, -1, 0), -EMFILE);
	expect(perf_try(a, 99999999, -1, 99, 0), -EMFILE);
	return failures != 0;
}
