/* A program that is linked below 2 GiB, with 1.2 GB of arrays. */
#include <stdio.h>

#define SIZE (600ul << 20)

static char one[SIZE], two[SIZE];

int main(void)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < SIZE; i += SIZE / 64) {
		one[i] = (char)i;
		two[SIZE - 1 - i] = (char)(i >> 8);
	}
	for (unsigned long i = 0; i < SIZE; i += SIZE / 64)
		sum = sum * 31 + (unsigned char)one[i] + (unsigned char)two[SIZE - 1 - i];
	printf("%lu\n", sum);
	return 0;
}
