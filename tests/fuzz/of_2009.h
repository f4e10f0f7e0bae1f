/*
 * Events of 2009 (pcl --abi=2009), whole lives of them: their records are others, so they share no ring with those of
 * today. The header of that age cannot be included beside today's.
 */
#ifndef TESTS_FUZZ_OF_2009_H
#define TESTS_FUZZ_OF_2009_H

#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/fuzz/work.h"

#define OPEN_2009 298 /* <pcl/perf_2009.h>; another kernel takes the structure for one of today's */

/* struct perf_event_hw_event */
struct event_2009 {
	uint64_t config, irq_period;
	uint32_t record_type, read_format;
	uint64_t bits;
	uint32_t extra_config_len, wakeup_events;
	uint64_t reserved[2];
};

static int open_2009(uint32_t a, uint32_t b, uint32_t c, int group)
{
	static const uint64_t periods[] = {0, 100, 1009, 100003};
	struct event_2009 e = {
		.config = a % 4 == 3 ? 1ul << 63 | 0xc0 : (uint64_t)(a % 2) << 56 | (a >> 2) % 7,
		.irq_period = periods[b % 4],
		.record_type = b >> 2 & 0x3f,
		.read_format = b >> 8 & (b >> 14 & 7 ? 3 : 7),
		.bits = (c & 0x783) | 1ul << 5 | 1ul << 6, /* without kernel and hypervisor, and not exclusive */
		.wakeup_events = b >> 12 & 3,
	};

	if (c >> 20 == 0xfff)
		e.bits |= 1ul << (11 + c % 53);
	return (int)syscall(OPEN_2009, &e, 0, -1, group, 0);
}

/* NULL: nothing is wrong. */
static const char *life_of_2009(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	int fd = open_2009(a, b, c, -1), sibling = fd >= 0 && d % 2 ? open_2009(b, c, d, fd) : -1;
	struct pollfd p = {fd, POLLIN, 0};
	uint64_t first[64] = {0}, then[64] = {0};
	const char *wrong = NULL;
	long n, m;
	void *ring;

	if (fd < 0)
		return NULL;
	ring = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	n = read(fd, first, sizeof(first));
	work(a, b);
	work(c, d);
	poll(&p, 1, 0);
	m = read(fd, then, sizeof(then));
	if (n >= 8 && m >= 8 && then[0] < first[0])
		wrong = "a count of 2009 went back";
	if (d & 2)
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (ring != MAP_FAILED)
		munmap(ring, 5 * 4096);
	if (sibling >= 0 && close(sibling))
		wrong = "an event of 2009 is not closed";
	return close(fd) ? "an event of 2009 is not closed" : wrong;
}

#endif
