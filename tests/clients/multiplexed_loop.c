/*
 * The same instructions in every run and at every moment: calls, loads, stores and branches, for 150 ms or more.
 * Counters take turns every 4 ms: so each event has many, and the loader, which does something else, is a small part.
 */
static volatile long sum;

static __attribute__((noinline)) void add(long n)
{
	for (long i = 0; i < n; i++)
		sum += i;
}

int main(void)
{
	for (int i = 0; i < 20000000; i++)
		add(20);
	return 0;
}
