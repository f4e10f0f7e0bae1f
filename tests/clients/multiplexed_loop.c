/* The same instructions in every run and at every moment: calls, loads, stores and branches, for some 100 ms. */
static volatile long sum;

static __attribute__((noinline)) void add(long n)
{
	for (long i = 0; i < n; i++)
		sum += i;
}

int main(void)
{
	for (int i = 0; i < 4000000; i++)
		add(20);
	return 0;
}
