/* Pointer chasing: each load waits for the one before it, most of them for memory. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20, STEPS = 30000000 };

int main(void)
{
	unsigned *next = malloc(N * sizeof(*next)), x = 1, at = 0;

	for (unsigned i = 0; i < N; i++)
		next[i] = i;
	for (unsigned i = N - 1; i > 0; i--) { /* one circle of all of them */
		unsigned j = (x = x * 1664525 + 1013904223) % i, swap = next[i];

		next[i] = next[j];
		next[j] = swap;
	}
	for (unsigned long step = 0; step < STEPS; step++)
		at = next[at];
	printf("%u\n", at);
	return 0;
}
