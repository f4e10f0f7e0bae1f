/* An event descriptor is a descriptor: poll, dup, fork, passing on, and the event's end with the last of them. */
#include <poll.h>
#include <sys/stat.h>
#include "tests/abi/errno/perf.h"

static void spin(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	long fd = perf_open(&a, 0, -1, -1, 0), other = perf_open(&a, 0, -1, -1, 0), v;
	struct pollfd p = {.fd = (int)fd, .events = POLLIN};
	struct stat st;
	int status, copy;

	expect(poll(&p, 1, 0), 1); /* without a ring buffer: hung up */
	expect(p.revents, POLLHUP);
	expect(fstat((int)fd, &st), 0);
	copy = dup((int)fd);
	close((int)fd);
	v = perf_value(copy);
	expect(v > 0, 1);
	spin();
	expect(perf_value(copy) > v, 1);
	/* A child reads its parent's event, and closing it there changes nothing here. */
	if (!fork()) {
		long before = perf_value(copy);

		spin();
		close((int)other);
		_exit(before <= 0 || perf_value(copy) < before);
	}
	wait(&status);
	expect(status, 0);
	expect(perf_value(other) > 0, 1);
	/* Replaced by dup2 the number is an ordinary descriptor. */
	expect(dup2(open("/dev/null", O_RDWR), (int)other), other);
	expect(perf_ioctl(other, PERF_EVENT_IOC_RESET, 0), -ENOTTY);
	expect(read((int)other, &v, sizeof(v)), 0);
	/* And a descriptor that takes a closed one's number is what it is. */
	close(copy);
	expect(open("/dev/null", O_RDWR) <= copy, 1);
	return perf_result();
}
