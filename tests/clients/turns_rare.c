/*
 * What threads do to each other more rarely: locks with priority inheritance, owners that die, sigwait, semaphores that
 * processes share, children, locks of files, a main thread that ends first. It prints the same natively and under pcl
 * --pin=+schedule.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t inherits, robust;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t main_thread;
static volatile int over;
static sem_t locked;
static long n;

static void *lock_often(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&inherits);
		n++;
		if (i % 20 == 0)
			usleep(10);
		pthread_mutex_unlock(&inherits);
	}
	return NULL;
}

static void *die_with_lock(void *arg)
{
	pthread_mutex_lock(&robust);
	sem_post(&locked);
	usleep(2000);
	return NULL;
}

static void *read_and_write(void *arg)
{
	for (int i = 0; i < 100; i++) {
		if ((i + (long)arg) % 3) {
			pthread_rwlock_rdlock(&rwlock);
		} else {
			pthread_rwlock_wrlock(&rwlock);
			n++;
		}
		sched_yield();
		pthread_rwlock_unlock(&rwlock);
	}
	return NULL;
}

static void *wait_for_signal(void *arg)
{
	sigset_t set;
	int signo = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &signo);
	return (void *)(long)signo;
}

static void *be_busy(void *arg)
{
	while (!over)
		;
	return NULL;
}

static void *lock_file(void *arg)
{
	int fd = open("lock", O_RDWR | O_CREAT, 0600);

	flock(fd, LOCK_EX);
	n += 1000;
	close(fd);
	return NULL;
}

static void *join_main(void *arg)
{
	void *value;

	pthread_join(main_thread, &value);
	printf("the main thread has ended with %ld\n", (long)value);
	exit(0);
}

static void run_three(void *(*fn)(void *))
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, fn, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", n);
}

static void test_locks(void)
{
	pthread_mutexattr_t a, b;
	pthread_t t;
	int ret;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherits, &a);
	pthread_barrier_init(&barrier, NULL, 3);
	run_three(lock_often);
	run_three(read_and_write);
	pthread_mutexattr_init(&b);
	pthread_mutexattr_setrobust(&b, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &b);
	sem_init(&locked, 0, 0);
	pthread_create(&t, NULL, die_with_lock, NULL);
	sem_wait(&locked);
	ret = pthread_mutex_lock(&robust);
	printf("owner died: %d\n", ret == EOWNERDEAD);
	pthread_join(t, NULL);
}

static void test_signal(void)
{
	pthread_t t;
	sigset_t set;
	void *got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, wait_for_signal, NULL);
	usleep(100);
	kill(getpid(), SIGUSR2);
	pthread_join(t, &got);
	printf("signal %ld\n", (long)got);
}

static void test_children(void)
{
	sem_t *sem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	sem_init(&sem[0], 1, 0);
	sem_init(&sem[1], 1, 0);
	pid = fork();
	for (int i = 0; i < 20; i++) {
		if (!pid)
			sem_wait(&sem[0]);
		sem_post(&sem[!pid]);
		if (pid)
			sem_wait(&sem[1]);
	}
	if (!pid)
		_exit(3);
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	printf("system %d\n", WEXITSTATUS(system("sleep 0.05; exit 5")));
}

static void test_file(void)
{
	int fd = open("lock", O_RDWR | O_CREAT, 0600);
	pthread_t t;
	long before;

	flock(fd, LOCK_EX);
	pthread_create(&t, NULL, lock_file, NULL);
	usleep(300);
	before = n;
	close(fd);
	pthread_join(t, NULL);
	printf("file %ld\n", n - before);
}

int main(void)
{
	struct timespec until;
	pthread_t busy, last;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_locks();
	test_signal();
	pthread_create(&busy, NULL, be_busy, NULL);
	test_children();
	test_file();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += until.tv_nsec < 900000000 ? 100000000 : -900000000;
	until.tv_sec += until.tv_nsec < 100000000;
	printf("still busy: %d\n", pthread_timedjoin_np(busy, NULL, &until) == ETIMEDOUT);
	over = 1;
	pthread_join(busy, NULL);
	main_thread = pthread_self();
	pthread_create(&last, NULL, join_main, NULL);
	pthread_exit((void *)42);
}
