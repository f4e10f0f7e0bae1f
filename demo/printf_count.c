/*
 * Counts the instructions that one printf() executes, with a hardware event of perf_event_open(2).
 *
 * Exit status 2 if the kernel refuses the event.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* The instructions between switching the counter on and off again, with a printf in between or without one. */
static uint64_t count(int counter, int with_printf)
{
	uint64_t n;

	ioctl(counter, PERF_EVENT_IOC_RESET, 0);
	ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
	if (with_printf)
		printf("the printf that is counted: %d %s\n", 42, "words");
	ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
	if (read(counter, &n, sizeof(n)) != sizeof(n)) {
		perror("printf_count: reading the counter");
		exit(1);
	}
	return n;
}

int main(void)
{
	uint64_t first, second, empty;
	int counter = open_counter();

	if (counter < 0) {
		fprintf(stderr, "printf_count: perf_event_open: %s\n", strerror(errno));
		return 2;
	}
	first = count(counter, 1);
	second = count(counter, 1);
	empty = count(counter, 0);
	printf("first printf   %6lu instructions\n", first);
	printf("second printf  %6lu instructions\n", second);
	printf("nothing        %6lu instructions\n", empty);
	return 0;
}
