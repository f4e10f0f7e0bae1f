/*
 * For programs of the interface of 2009: only the text's header, system calls, and the text's own names. A region is
 * instructions whose number is known.
 */
#ifndef TESTS_CLIENTS_ABI_2009_H
#define TESTS_CLIENTS_ABI_2009_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pcl/perf_2009.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int failures;

#define EXPECT(a, b)                                                                                                   \
	do {                                                                                                           \
		long long seen_ = (long long)(a), wanted_ = (long long)(b);                                            \
		if (seen_ != wanted_ && ++failures)                                                                    \
			printf("%s:%d: %s is %lld, not %lld (errno %d)\n", __FILE__, __LINE__, #a, seen_, wanted_,     \
			       errno);                                                                                 \
	} while (0)
#define TRUE(a) EXPECT(!!(a), 1)

#define HW(id) PERF_HW_EVENT_CONFIG(PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id)
#define SW(id) PERF_HW_EVENT_CONFIG(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id)
#define ROUNDS 10000ul
#define LOOP   2 /* instructions of a round */

static inline int open_it(struct perf_event_hw_event hw, int group)
{
	int fd = sys_perf_event_open(&hw, 0, -1, group, 0);

	if (fd < 0 && ++failures) {
		printf("config %#llx cannot be opened: %s\n", (unsigned long long)hw.config, strerror(errno));
		exit(1);
	}
	return fd;
}

static inline int refused(struct perf_event_hw_event hw, pid_t pid, int cpu, int group, unsigned long flags)
{
	int fd = sys_perf_event_open(&hw, pid, cpu, group, flags);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static inline long long value(int fd)
{
	long long v = -1;

	EXPECT(read(fd, &v, sizeof(v)), sizeof(v));
	return v;
}

/* `dec` and `jnz`. */
static inline __attribute__((always_inline)) void rounds(unsigned long n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

/*
 * Between both system calls nothing but the loop and what passes arguments, the same each time. `other` is what the
 * text leaves undefined: the third argument.
 */
static __attribute__((noinline)) void region(int fd, unsigned long n, unsigned long other)
{
	long nr = SYS_ioctl;

	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(fd), "S"(PERF_EVENT_IOC_ENABLE), "d"(other)
			 : "rcx", "r11", "memory");
	rounds(n);
	nr = SYS_ioctl;
	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(fd), "S"(PERF_EVENT_IOC_DISABLE), "d"(other)
			 : "rcx", "r11", "memory");
}

/* ---- the mapping ---- */

struct ring {
	const struct perf_event_mmap_page *page;
	const unsigned char *data;
	unsigned size, seen, skipped;
	union {
		struct perf_event_header header;
		unsigned long long word[8192];
	} record;
};

static inline void ring_map(struct ring *r, int fd, unsigned pages)
{
	char *at = mmap(NULL, (1 + pages) * 4096ul, PROT_READ, MAP_SHARED, fd, 0);

	TRUE(at != MAP_FAILED);
	if (at == MAP_FAILED)
		exit(1);
	*r = (struct ring){.page = (void *)at, .data = (void *)(at + 4096), .size = pages * 4096};
}

static inline void ring_unmap(struct ring *r)
{
	EXPECT(munmap((void *)r->page, 4096ul + r->size), 0);
}

static inline unsigned ring_head(const struct ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

/*
 * The next record, in r->record; 0: there is none. Nothing may have been overwritten. Those without a type are stepped
 * over.
 */
static inline int ring_next(struct ring *r)
{
	unsigned char *to = (unsigned char *)&r->record;
	unsigned head = ring_head(r);

	TRUE(head - r->seen <= r->size);
	if (head == r->seen)
		return 0;
	for (unsigned i = 0; i < 8; i++)
		to[i] = r->data[(r->seen + i) % r->size];
	TRUE(r->record.header.size >= 8 && !(r->record.header.size % 8) && r->record.header.size <= head - r->seen);
	for (unsigned i = 8; i < r->record.header.size; i++)
		to[i] = r->data[(r->seen + i) % r->size];
	r->seen += r->record.header.size;
	if (r->record.header.type || r->record.header.misc)
		return 1;
	r->skipped++;
	return ring_next(r);
}

#endif
