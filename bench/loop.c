/* A tight loop: the smallest blocks there are. */
#include <stdio.h>

int main(void)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < 2000000000; i++) {
		x += i;
		__asm__ volatile("" : "+r"(x));
	}
	printf("%lu\n", x);
	return 0;
}
