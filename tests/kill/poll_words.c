/*
 * poll_words SECONDS: a member samples, in pieces (doc/sampling.md), while another one writes 0 into what looks like
 * poll words all the time: then each poll finds that its word is used up. The first one ends as it would else.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/kill/pages.h"

#define WORDS 8
#define PERIOD 60000
#define ROUNDS 20000
#define LONGEST 60 /* seconds; beside much else both of them seldom run at the same time */

static struct {
	int sampling, done;
} volatile *shared;

/* What the sampled member computes: branches that differ, and calls. */
static __attribute__((noinline)) uint64_t mix(uint64_t x, unsigned i)
{
	if (x & 1)
		x ^= 0x9e3779b97f4a7c15ul * i;
	if (x & 6)
		x += x >> 17;
	return x << 7 | x >> 57;
}

static uint64_t compute(void)
{
	uint64_t x = 1;

	for (unsigned i = 0; i < ROUNDS; i++)
		x = mix(x, i);
	return x;
}

static int sampled(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	struct perf_event_mmap_page *page;
	uint64_t first = compute();

	page = fd < 0 ? MAP_FAILED : mmap(NULL, 9 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return 2;
	while (!shared->done) {
		if (compute() != first)
			return 3;
		page->data_tail = page->data_head;
		shared->sampling = page->data_head != 0;
	}
	return page->data_head == 0;
}

/* Eight words, in all of which units are left. */
static int are_poll_words(volatile uint64_t *word)
{
	for (int i = 0; i < WORDS; i++)
		if (word[i] >> 56 != 0xff)
			return 0;
	return 1;
}

static uint64_t write_once(uint64_t *page, size_t n)
{
	uint64_t found = 0;

	for (size_t i = 0; i < n; i++) {
		volatile uint64_t *word = (uint64_t *)page[i];

		if (!are_poll_words(word))
			continue;
		found++;
		for (int k = 0; k < WORDS; k++)
			word[k] = 0;
	}
	return found;
}

int main(int argc, char **argv)
{
	time_t start = time(NULL), least = argc > 1 ? atoi(argv[1]) : 3;
	uint64_t *page, found = 0;
	int status = 0;
	pid_t pid;
	size_t n;

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		return sampled();
	while (!shared->sampling && time(NULL) < start + LONGEST)
		usleep(1000);
	n = find_pages(&page); /* after: the words are there since it samples */
	while (!waitpid(pid, &status, WNOHANG)) {
		found += write_once(page, n);
		shared->done = time(NULL) > start + (found ? least : LONGEST);
	}
	if (!found || status)
		printf("%zu pages, written %lu times, status %#x\n", n, (unsigned long)found, (unsigned)status);
	return !found || status;
}
