/* ENOTTY: ioctls that events do not have. */
#include "tests/abi/errno/perf.h"

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(perf_ioctl(fd, _IO('$', 77), 0), -ENOTTY);
	expect(perf_ioctl(fd, 0x5401, 0), -ENOTTY);
	expect(perf_ioctl(fd, _IOW('$', 0, long), 0), -ENOTTY); /* ENABLE with another size is another number */
	expect(perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, 2), 0);	/* unknown bits of the argument are not looked at */
	return perf_result();
}
