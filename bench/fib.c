/* Calls and returns. */
#include <stdio.h>

static __attribute__((noinline, optimize("no-optimize-sibling-calls", "O1"))) unsigned long fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	printf("%lu\n", fib(41));
	return 0;
}
