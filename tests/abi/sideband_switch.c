/*
 * PERF_RECORD_SWITCH of a thread that sleeps a known number of times: as many voluntary switches out, each followed by
 * one in, with times in order. PERF_RECORD_SWITCH_CPU_WIDE on all CPUs sees them, too.
 * covers: attr.context_switch, PERF_RECORD_SWITCH*, PERF_RECORD_MISC_SWITCH_OUT*
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLEEPS 20
#define SPARE  5 /* voluntary switches for other reasons: a page that is waited for */
#define PAGES  128 /* the CPUs switch among all programs of the machine */
#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif

static int failures;

#define expect(cond) ((cond) ? 0 : (failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #cond)))

struct seen {
	unsigned voluntary, preempted, in;
};

static struct perf_event_attr attr_of(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.context_switch = 1,
	};
}

static void *open_ring(pid_t pid, int cpu, int *fd)
{
	struct perf_event_attr attr = attr_of();

	*fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
	if (*fd < 0)
		return MAP_FAILED;
	return mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
}

static void sleep_often(void)
{
	const struct timespec ms = {0, 1000000};

	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&ms, NULL);
}

/* The calling thread's records of that type in a ring. */
static void collect(const struct perf_event_mmap_page *page, unsigned type, struct seen *seen)
{
	const char *data = (const char *)page + page->data_offset;
	uint64_t last = 0, time;
	int out = 0;

	for (uint64_t at = 0; at < page->data_head;) {
		const struct perf_event_header *h = (const void *)(data + at);
		const uint32_t *trailer = (const void *)((const char *)h + h->size - 16);

		at += h->size;
		if (h->type != type || trailer[1] != (uint32_t)syscall(SYS_gettid))
			continue;
		memcpy(&time, trailer + 2, 8);
		expect(time >= last);
		last = time;
		if (h->misc & PERF_RECORD_MISC_SWITCH_OUT) {
			seen->voluntary += !(h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
			seen->preempted += !!(h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		} else {
			seen->in++;
		}
		if (type == PERF_RECORD_SWITCH)
			expect(out != !!(h->misc & PERF_RECORD_MISC_SWITCH_OUT));
		out = !!(h->misc & PERF_RECORD_MISC_SWITCH_OUT);
	}
}

static void check(const struct seen *seen)
{
	printf("%u voluntary, %u preempted, %u in\n", seen->voluntary, seen->preempted, seen->in);
	expect(seen->voluntary >= SLEEPS && seen->voluntary <= SLEEPS + SPARE);
	expect(seen->in == seen->voluntary + seen->preempted);
}

static void test_own(void)
{
	struct seen seen = {0};
	void *ring;
	int fd;

	ring = open_ring(0, -1, &fd);
	expect(ring != MAP_FAILED);
	if (ring == MAP_FAILED)
		return;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	sleep_often();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	collect(ring, PERF_RECORD_SWITCH, &seen);
	check(&seen);
	/* Disabled: nothing more. */
	sleep_often();
	memset(&seen, 0, sizeof(seen));
	collect(ring, PERF_RECORD_SWITCH, &seen);
	check(&seen);
	munmap(ring, (1 + PAGES) * 4096);
	close(fd);
}

static void test_cpu_wide(void)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), fd[64];
	struct seen seen = {0};
	void *ring[64];

	for (int i = 0; i < cpus && i < 64; i++) {
		ring[i] = open_ring(-1, i, &fd[i]);
		if (ring[i] == MAP_FAILED && fd[i] < 0 && (errno == EACCES || errno == ENODEV)) {
			printf("CPU-wide: %s\n", strerror(errno));
			return;
		}
		expect(ring[i] != MAP_FAILED);
		if (ring[i] == MAP_FAILED)
			return;
		ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
	}
	sleep_often();
	for (int i = 0; i < cpus && i < 64; i++)
		ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0);
	for (int i = 0; i < cpus && i < 64; i++)
		collect(ring[i], PERF_RECORD_SWITCH_CPU_WIDE, &seen);
	check(&seen);
}

int main(void)
{
	struct perf_event_attr attr = attr_of();
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0) {
		printf("perf_event_open: %s\n", strerror(errno));
		return 77;
	}
	close(fd);
	test_own();
	test_cpu_wide();
	return failures ? 1 : 0;
}
