/*
 * For programs whose instructions are counted between two points of one thread, by the single-stepping oracle natively
 * and by the thread's own perf events under pcl.
 *
 *   int fd = region_open();        once per thread, before its first region; -1 without counters, which is no error
 *   region_begin(fd, LABEL);
 *   ...
 *   region_end(fd, LABEL);
 *   region_print(LABEL);           later, outside of all regions
 *
 * A marker is one read(2) of the event group with an unusual buffer size, made by inline assembly without any branch,
 * so the instructions between the two calls are the same whether the descriptor is good or not. A region is what is
 * executed after the first marker's syscall instruction up to and with the second marker's.
 *
 * REGION in the environment says what is counted: 0 nothing (also natively), 1 instructions and branches, 2 the other
 * kinds too. The program's way through is the same natively and under pcl only with 0. Labels are below 256 and used
 * once.
 */
#ifndef TESTS_COUNT_REGION_H
#define TESTS_COUNT_REGION_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REGION_SIZE 0x1043 /* bytes asked for; no other read of the test programs has this size */
#define REGION_BEGIN 0x626567696e
#define REGION_END 0x656e64
#define REGION_EVENTS 10

/* What read(2) gives for PERF_FORMAT_GROUP, in a buffer as large as a marker says. */
union region_values {
	struct {
		uint64_t nr;
		uint64_t value[REGION_EVENTS];
	};
	char bytes[REGION_SIZE];
};

static union region_values region_first[256], region_last[256];

static inline int region_open_one(uint32_t type, uint64_t config, int group)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_GROUP,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);
}

static inline int region_open(void)
{
	/* pcl's raw events in the order of the oracle's columns: pmu/events.def */
	static const unsigned char raw[] = { 0x10, 0x11, 0x12, 0x13, 0x14, 0x20, 0x21, 0x30 };
	const char *mode = getenv("REGION");
	int fd;

	if (!mode || *mode == '0')
		return -1;
	fd = region_open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	region_open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, fd);
	for (unsigned i = 0; *mode == '2' && i < sizeof(raw); i++)
		region_open_one(PERF_TYPE_RAW, raw[i], fd);
	return fd;
}

static inline __attribute__((always_inline)) void region_mark(int fd, union region_values *to, uint64_t what,
							      uint64_t label)
{
	register uint64_t r10 __asm__("r10") = label;
	register uint64_t r8 __asm__("r8") = what;
	long rax = SYS_read;

	__asm__ volatile("syscall"
			 : "+a"(rax)
			 : "D"((long)fd), "S"(to), "d"((long)REGION_SIZE), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
}

#define region_begin(fd, label) region_mark(fd, &region_first[label], REGION_BEGIN, label)
#define region_end(fd, label) region_mark(fd, &region_last[label], REGION_END, label)

static inline void region_print(int label)
{
	printf("region %d", label);
	for (unsigned i = 0; i < region_last[label].nr && i < REGION_EVENTS; i++)
		printf(" %llu",
		       (unsigned long long)(region_last[label].value[i] - region_first[label].value[i]));
	printf("\n");
	fflush(stdout);
}

#endif
