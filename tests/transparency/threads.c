/*
 * POSIX threads: mutexes, conditions, thread-local storage, cancellation, signals to a thread, names, stacks, once,
 * barriers.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local long local = 7;
static long shared, onces, cleanups, signalled;
static int turn;

static void init_once(void)
{
	onces++;
}

static void *adder(void *arg)
{
	long n = (long)arg;

	pthread_once(&once, init_once);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&lock);
		shared += n;
		pthread_mutex_unlock(&lock);
		__atomic_fetch_add(&local, 1, __ATOMIC_RELAXED);
	}
	return (void *)local;
}

static void *ping(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		while (turn != (long)arg)
			pthread_cond_wait(&cond, &lock);
		turn = !turn;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void cleanup(void *arg)
{
	cleanups++;
}

static void *canceled(void *arg)
{
	pthread_cleanup_push(cleanup, NULL);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *canceled_busy(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		__asm__ volatile("pause");
	return NULL;
}

static void on_signal(int sig)
{
	signalled = syscall(SYS_gettid);
}

static void *sleeper(void *arg)
{
	*(long *)arg = syscall(SYS_gettid);
	while (!signalled)
		usleep(1000);
	return NULL;
}

static void *exits(void *arg)
{
	usleep(50000);
	printf("last thread\n");
	fflush(stdout);
	exit(12);
}

int main(void)
{
	pthread_t t[8], u;
	void *result;
	long sum = 0, tid = 0;
	pthread_attr_t attr;
	char name[16];

	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, adder, (void *)(i + 1));
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &result);
		sum += (long)result;
	}
	printf("%ld %ld %ld %ld\n", shared, sum, local, onces);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, ping, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	pthread_create(&u, NULL, canceled, NULL);
	usleep(20000);
	pthread_cancel(u);
	pthread_join(u, &result);
	printf("canceled %d %ld\n", result == PTHREAD_CANCELED, cleanups);
	pthread_create(&u, NULL, canceled_busy, NULL);
	usleep(20000);
	pthread_cancel(u);
	pthread_join(u, &result);
	printf("canceled while busy %d\n", result == PTHREAD_CANCELED);
	signal(SIGUSR1, on_signal);
	pthread_create(&u, NULL, sleeper, &tid);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	pthread_kill(u, SIGUSR1);
	pthread_join(u, NULL);
	printf("signal to the thread %d\n", signalled == tid);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_setname_np(pthread_self(), "renamed");
	pthread_getname_np(pthread_self(), name, sizeof(name));
	printf("%s\n", name);
	for (int round = 0; round < 100; round++) {
		for (long i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, (void *(*)(void *))(void *)usleep, (void *)10l);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	fflush(stdout);
	pthread_create(&u, &attr, exits, NULL);
	pthread_exit(NULL);
}
