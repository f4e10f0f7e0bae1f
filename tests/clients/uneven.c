/*
 * A program whose functions are unlike: one has no branch for long, one goes round in small circles, one branches all
 * the time.
 *
 *     uneven N   N rounds
 *
 * cflags: -O1 -fno-inline -no-pie
 */
#include <stdlib.h>

static volatile long sink;

/* As a hash function of a few words is: 180 instructions, and none of them a branch. */
long straight(long x)
{
	__asm__ volatile(".rept 90\n\tlea 1(%0,%0,2), %0\n\trol $13, %0\n\t.endr" : "+r"(x));
	return x;
}

long circles(long n)
{
	long s = n;

	for (long i = 0; i < 40; i++)
		s = s * 31 + i;
	return s;
}

long branches(long n)
{
	long k = 0;

	for (; n != 1; k++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return k;
}

long outer(long i)
{
	long s = straight(i);

	if (i % 3)
		s += circles(s);
	for (long n = 1; n < 5; n++)
		s += branches(i % 1000 + n);
	return s;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;

	for (long i = 0; i < rounds; i++)
		sink += outer(i);
	return 0;
}
