/* Returns of every depth: more than any return stack holds. */
#include <stdio.h>

static __attribute__((noinline)) int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static __attribute__((noinline)) int ackermann(int m, int n)
{
	if (!m)
		return n + 1;
	return n ? ackermann(m - 1, ackermann(m, n - 1)) : ackermann(m - 1, 1);
}

static __attribute__((noinline)) unsigned deep(unsigned n, volatile unsigned *sum)
{
	if (n)
		*sum += deep(n - 1, sum) ^ n;
	return n + *sum;
}

int main(void)
{
	volatile unsigned sum = 0;

	printf("%d %d\n", fib(15), ackermann(2, 9));
	deep(4000, &sum);
	printf("%u\n", sum);
	return 0;
}
