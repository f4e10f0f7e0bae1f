/*
 * samples EVENT PERIOD: how fast samples of IP, TID and TIME go into a ring buffer from one thread, while another one
 * drains it.
 *
 * EVENT is instructions or cpu-clock (PERIOD in ns; the kernel makes it 10 us at least). Prints samples, lost ones,
 * nanoseconds of the thread's CPU time for the work with sampling on, and for the same work without.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 1024u
#define RING_BYTES (RING_PAGES * 4096)

static struct perf_event_mmap_page *page;
static uint64_t samples, lost, bytes_wrong;
static int over;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * The records up to head. They are of a size that divides the ring's, but for LOST records, which are read word by
 * word.
 */
static void drain(uint64_t head)
{
	const char *data = (const char *)page + 4096;
	uint64_t tail = page->data_tail;

	while (tail < head) {
		const struct perf_event_header *h = (const void *)(data + tail % RING_BYTES);

		if (h->type == PERF_RECORD_SAMPLE)
			samples++;
		else if (h->type == PERF_RECORD_LOST)
			lost += *(const uint64_t *)(data + (tail + 16) % RING_BYTES);
		if (!h->size) {
			bytes_wrong++;
			break;
		}
		tail += h->size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static void *reader(void *arg)
{
	struct timespec nap = {0, 100000};

	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		drain(__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE));
		nanosleep(&nap, NULL);
	}
	return NULL;
}

/* Branches, calls and memory: a few nanoseconds each. */
static uint64_t table[256];

static __attribute__((noinline)) uint64_t step(uint64_t x)
{
	if (x & 64)
		table[x & 255] += x;
	return x * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t work(uint64_t rounds)
{
	uint64_t x = 1;

	while (rounds--)
		x = step(x) ^ x >> 29;
	return x;
}

static long open_event(const char *name, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = strcmp(name, "cpu-clock") ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = strcmp(name, "cpu-clock") ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

int main(int argc, char **argv)
{
	uint64_t begin, plain, sampled, rounds = 5000000, x = 0;
	pthread_t thread;
	long fd;

	if (argc != 3)
		return 2;
	fd = open_event(argv[1], strtoull(argv[2], NULL, 0));
	if (fd < 0) {
		fprintf(stderr, "samples: %s: %s\n", argv[1], strerror(errno));
		return 77;
	}
	page = mmap(NULL, 4096 + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (page == MAP_FAILED) {
		perror("samples: mmap");
		return 1;
	}
	x += work(rounds);
	begin = now();
	x += work(rounds);
	plain = now() - begin;
	pthread_create(&thread, NULL, reader, NULL);
	ioctl((int)fd, PERF_EVENT_IOC_ENABLE, 0);
	begin = now();
	x += work(rounds);
	sampled = now() - begin;
	ioctl((int)fd, PERF_EVENT_IOC_DISABLE, 0);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	drain(__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE));
	printf("%lu %lu %lu %lu\n", samples, lost, sampled, plain);
	return x == 0 || bytes_wrong;
}
