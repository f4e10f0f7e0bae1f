/*
 * Three threads at work while the main thread sends signals to each of them as fast as it can. As in signal_timer.c the
 * handler has a fixed number of instructions, measured by one signal that is sent synchronously.
 *
 * With counters the work is so short that few signals hit it, so each thread repeats it until 100 have, and checks
 * itself that each repetition counts what the first did.
 */
#include "tests/count/region.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define THREADS 3

static _Thread_local volatile int handled;
static volatile int handled_of[THREADS], done[THREADS], wrong[THREADS];
static unsigned results[THREADS];
static sigset_t usr1;

static void on_signal(int sig)
{
	handled++;
}

static __attribute__((noinline)) unsigned leaf(unsigned x)
{
	return x * 5 + 1;
}

static __attribute__((noipa)) unsigned work(unsigned x, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		x = leaf(x) ^ (x >> 3);
		if (x % 3)
			x /= 3;
	}
	return x;
}

static __attribute__((noinline)) void send_signal(int fd, int label, long sig)
{
	long nr = SYS_tkill, tid = syscall(SYS_gettid);

	region_begin(fd, label);
	__asm__ volatile("syscall" : "+a"(nr) : "D"(tid), "S"(sig) : "rcx", "r11", "memory");
	region_end(fd, label);
}

/* Signals come only in here, so that each handler is wholly inside of the region or not at all. */
static __attribute__((noipa)) void counted_work(int fd, int label, int n)
{
	region_begin(fd, label);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	results[n] = work(n + 3, 1500);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	region_end(fd, label);
}

/* What event i counted in a region, without the handlers that ran in it. */
static long value(int label, int i, int handlers)
{
	long base = region_last[1].value[i] - region_first[1].value[i];
	long with = region_last[2].value[i] - region_first[2].value[i];

	return region_last[label].value[i] - region_first[label].value[i] - handlers * (with - base);
}

static void repeat(int fd, int n)
{
	int before, now, all = 0;

	for (int round = 0; round < 1000000 && all < 100; round++) {
		before = handled;
		counted_work(fd, 20 + n, n);
		now = handled - before;
		all += now;
		for (int i = 0; i < (int)region_last[20 + n].nr; i++)
			wrong[n] += value(20 + n, i, now) != value(10 + n, i, handled_of[n]);
	}
	wrong[n] += all < 100;
}

static void *thread(void *arg)
{
	long n = (long)arg;
	int fd = region_open(), before;

	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	before = handled;
	counted_work(fd, 10 + n, n);
	handled_of[n] = handled - before;
	if (fd >= 0)
		repeat(fd, n);
	done[n] = 1;
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	int fd = region_open();

	signal(SIGUSR1, on_signal);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	send_signal(fd, 1, 0);
	send_signal(fd, 2, SIGUSR1);
	if (handled != 1)
		return 1;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int left = 1; left;) {
		left = 0;
		for (int i = 0; i < THREADS; i++)
			if (!done[i]) {
				pthread_kill(t[i], SIGUSR1);
				left = 1;
			}
		usleep(50);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%u %u %u\n", results[0], results[1], results[2]);
	printf("wrong %d %d %d\n", wrong[0], wrong[1], wrong[2]);
	region_print(1);
	region_print(2);
	for (int i = 0; i < THREADS; i++) {
		region_print(10 + i);
		printf("adjust %d %d 1 2\n", 10 + i, handled_of[i]);
	}
	return 0;
}
