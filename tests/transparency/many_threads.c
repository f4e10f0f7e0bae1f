/* So many threads at the same time that many of them wait for the same locks; all begin, work and end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 6000
#define STACK 16384

static volatile int ends;
static int worked;

static void *work(void *arg)
{
	while (!ends)
		usleep(100000);
	__atomic_fetch_add(&worked, 1, __ATOMIC_RELAXED);
	return arg;
}

int main(void)
{
	static pthread_t thread[THREADS];
	pthread_attr_t attr;
	int error = 0, n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	while (n < THREADS && !(error = pthread_create(&thread[n], &attr, work, NULL)))
		n++;
	ends = 1;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	printf("%d worked\n", worked);
	if (error)
		printf("only %d threads may be there at the same time: %s\n", n, strerror(error));
	return error ? 77 : 0;
}
