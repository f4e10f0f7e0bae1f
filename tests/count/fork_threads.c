/* A fork while another thread runs; the child has one thread and starts its own. */
#include "tests/count/region.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

static volatile int stop;

static void *spin(void *arg)
{
	while (!stop)
		usleep(1000);
	return NULL;
}

static void *counted(void *arg)
{
	int fd = region_open();
	volatile unsigned x = 1;

	region_begin(fd, 9);
	for (int i = 0; i < 1000; i++)
		x = x * 5 + i;
	region_end(fd, 9);
	return NULL;
}

int main(void)
{
	pthread_t t, u;
	int status = 1;

	pthread_create(&t, NULL, spin, NULL);
	if (!fork()) {
		pthread_create(&u, NULL, counted, NULL);
		pthread_join(u, NULL);
		region_print(9);
		_exit(7);
	}
	wait(&status);
	stop = 1;
	pthread_join(t, NULL);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
