/*
 * EOPNOTSUPP: what needs hardware that software events do not have.
 * covers: EOPNOTSUPP, attr.aux_output
 */
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS);
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(perf_ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&a), -EOPNOTSUPP);
	refused(EOPNOTSUPP, (a.sample_type = PERF_SAMPLE_BRANCH_STACK, a.branch_sample_type = 1 | 8));
	refused(EOPNOTSUPP, a.aux_output = 1);
	refused(EOPNOTSUPP, (a.sample_type = PERF_SAMPLE_REGS_USER, a.sample_regs_user = 1ul << 32));
	return perf_result();
}
