/* Two threads that share nothing and count in hash tables of their own. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1 << 12, ROUNDS = 60000000 };

static void *work(void *arg)
{
	uint32_t *table = calloc(SLOTS, sizeof(*table)), x = (uint32_t)(uintptr_t)arg;
	uintptr_t sum = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		if (x & 3)
			table[x % SLOTS] += i;
		else
			sum += table[x / SLOTS % SLOTS];
	}
	free(table);
	return (void *)sum;
}

int main(void)
{
	pthread_t thread[2];
	void *sum[2];

	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i * 12345 + 77));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], &sum[i]);
	printf("%p\n", (void *)((uintptr_t)sum[0] + (uintptr_t)sum[1]));
	return 0;
}
