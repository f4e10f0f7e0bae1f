/* Four threads, each counted by itself, running at the same time. */
#include "tests/count/region.h"
#include <pthread.h>
#include <stdlib.h>

static unsigned results[4];

static __attribute__((noinline)) unsigned work(unsigned seed, int rounds)
{
	unsigned x = seed;

	for (int i = 0; i < rounds; i++)
		x = x & 1 ? x * 3 + 1 : x / 2 + seed;
	return x;
}

static void *thread(void *arg)
{
	long n = (long)arg;
	int fd = region_open();

	region_begin(fd, n);
	results[n] = work(n * 1000 + 7, 1500 + n * 100);
	region_end(fd, n);
	if (fd >= 0)
		close(fd);
	return NULL;
}

int main(void)
{
	pthread_t t[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%u %u %u %u\n", results[0], results[1], results[2], results[3]);
	for (int i = 0; i < 4; i++)
		region_print(i);
	return 0;
}
