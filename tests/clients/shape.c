/*
 * A program of known shape for perf: main calls outer, which calls middle and that leaf, where nearly all instructions
 * are.
 *
 *     shape N [THREADS]   N rounds in the main thread and in each of the others; N 0: until it is killed
 *
 * watched is written once per round.
 *
 * cflags: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-inline -no-pie -pthread
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define ITERATIONS 2000

long watched;
static volatile long sink;

long leaf(long n)
{
	long s = 0;

#ifndef BARE
	__asm__ volatile("" : : "r"(__builtin_frame_address(0))); /* gcc leaves the frame of a leaf out otherwise */
#endif
	for (long i = 0; i < n; i++) {
		s += i ^ (s >> 1);
		if (s & 4)
			sink++;
	}
	return s;
}

long middle(long n)
{
	return leaf(n) + 1;
}

long outer(long n)
{
	return middle(n) + 1;
}

void touch(long value)
{
	watched = value;
}

static long rounds;

static void *work(void *arg)
{
	for (long i = 0; i < rounds || !rounds; i++) {
		sink += outer(ITERATIONS);
		touch(i);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t id[16];

	rounds = atol(argv[1]);
	for (int i = 0; i < threads; i++)
		pthread_create(&id[i], NULL, work, NULL);
	work(NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	return 0;
}
