/* qsort with a callback: indirect calls from library code. */
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	enum { N = 300000 };
	static unsigned v[N];
	unsigned x = 1, sum = 0;

	for (int round = 0; round < 30; round++) {
		for (int i = 0; i < N; i++)
			v[i] = x = x * 1664525 + 1013904223;
		qsort(v, N, sizeof(v[0]), compare);
		sum += v[N / 2];
	}
	printf("%u\n", sum);
	return 0;
}
