/*
 * threads N PERIOD SECONDS: how many samples of IP, TID and TIME N threads take together, each of itself, into rings of
 * their own that nobody reads (they are overwritten). Prints samples by all threads and nanoseconds of real time.
 * PERIOD 0: rounds of work instead, without events: how much the machine does in N threads.
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

#define THREADS_MAX 64
#define RING_PAGES 64u
#define SAMPLE_BYTES 32u

static pthread_barrier_t ready;
static uint64_t period, length, samples[THREADS_MAX], ended[THREADS_MAX];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline)) uint64_t step(uint64_t *table, uint64_t x)
{
	if (x & 64)
		table[x & 255] += x;
	return x * 6364136223846793005u + 1442695040888963407u;
}

static volatile uint64_t sink;

static void work(uint64_t *table, uint64_t rounds)
{
	uint64_t x = 1;

	while (rounds--)
		x = step(table, x) ^ x >> 29;
	sink = x;
}

static struct perf_event_mmap_page *open_ring(struct perf_event_attr *attr)
{
	long fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
	void *page = MAP_FAILED;

	if (fd >= 0)
		page = mmap(NULL, 4096 * (1 + RING_PAGES), PROT_READ, MAP_SHARED, (int)fd, 0);
	if (page != MAP_FAILED)
		return page;
	fprintf(stderr, "threads: %s\n", strerror(errno));
	exit(77);
}

static void *sampled(void *arg)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perf_event_mmap_page *page = NULL;
	size_t i = (size_t)arg;
	uint64_t table[256] = {0}, rounds = 0, before = 0;

	if (period)
		page = open_ring(&attr);
	pthread_barrier_wait(&ready);
	if (period)
		before = page->data_head;
	for (uint64_t end = now() + length; now() < end; rounds++)
		work(table, 20000);
	samples[i] = period ? (page->data_head - before) / SAMPLE_BYTES : rounds;
	ended[i] = now();
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0, begin, end = 0;
	pthread_t thread[THREADS_MAX];
	size_t n;

	if (argc != 4)
		return 2;
	n = strtoul(argv[1], NULL, 0);
	if (!n || n > THREADS_MAX)
		return 2;
	period = strtoull(argv[2], NULL, 0);
	length = (uint64_t)(strtod(argv[3], NULL) * 1e9);
	pthread_barrier_init(&ready, NULL, (unsigned)n + 1);
	for (size_t i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, sampled, (void *)i))
			return 1;
	pthread_barrier_wait(&ready);
	begin = now();
	for (size_t i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		sum += samples[i];
		end = ended[i] > end ? ended[i] : end;
	}
	printf("%lu %lu\n", (unsigned long)sum, (unsigned long)(end - begin));
	return 0;
}
