/*
 * Code that is laid out badly: in each function rare cases stand between what is always done, and no compiler can know
 * that they are rare. layout ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned rare = 1, out;

#define ASK(n)                                                                                                         \
	if (x == r + n) {                                                                                              \
		out += x * 3;                                                                                          \
		out ^= x >> 7;                                                                                         \
		out -= x / 11;                                                                                         \
		x = out * 5 + 1;                                                                                       \
		out ^= x << 3;                                                                                         \
	}                                                                                                              \
	x += n;
#define ASK4(n) ASK(n) ASK(n + 1) ASK(n + 2) ASK(n + 3)
#define FUNCTION(n)                                                                                                    \
	static __attribute__((noinline)) unsigned f##n(unsigned x, unsigned r)                                         \
	{                                                                                                              \
		ASK4(n) ASK4(2 * n) ASK4(3 * n) return x & 0xffff;                                                     \
	}
#define CALL(n) x = f##n(x, r);
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define FIFTY(m, n) TEN(m, n##0) TEN(m, n##1) TEN(m, n##2) TEN(m, n##3) TEN(m, n##4)
#define ALL(m) FIFTY(m, 1) FIFTY(m, 2) FIFTY(m, 3) FIFTY(m, 4)

ALL(FUNCTION)

int main(int argc, char **argv)
{
	unsigned x = 1, r = rare << 30;

	for (long i = argc > 1 ? strtol(argv[1], NULL, 10) : 100; i > 0; i--) {
		ALL(CALL)
	}
	printf("%u\n", x);
	return 0;
}
