/*
 * Under pcl --pin: each way to wait ends, and the clocks have gone on by what was asked for and hardly more. "exact":
 * as long as no timer has expired, the numbers that are printed are the same in every run.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define MS   1000000l
#define WAIT (60 * MS)
#define S    1000000000l

static int failures;

static long now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * S + ts.tv_nsec;
}

static struct timespec in(clockid_t clock, long ns)
{
	long at = now(clock) + ns;

	return (struct timespec){at / S, at % S};
}

static void passed(const char *what, long begin, long ns, long slack)
{
	long took = now(CLOCK_MONOTONIC) - begin;

	if (took < ns || took > ns + slack) {
		printf("%s: %ld ns have passed, not %ld\n", what, took, ns);
		failures++;
	}
}

#define takes(ns, slack, call)                                                                                         \
	do {                                                                                                           \
		long begin_ = now(CLOCK_MONOTONIC);                                                                    \
		call;                                                                                                  \
		passed(#call, begin_, ns, slack);                                                                      \
	} while (0)

static void sleeps(void)
{
	struct timespec ts = {0, WAIT};

	takes(WAIT, MS, nanosleep(&ts, NULL));
	ts = in(CLOCK_MONOTONIC, WAIT);
	takes(WAIT - MS, 2 * MS, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL));
	ts = in(CLOCK_REALTIME, WAIT);
	takes(WAIT - MS, 2 * MS, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL));
	ts = in(CLOCK_MONOTONIC, -S);
	takes(0, MS, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL));
	takes(0, MS, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){0, 2 * S}, NULL));
}

static void descriptors(void)
{
	struct timeval tv = {0, WAIT / 1000};
	struct timespec ts = {0, WAIT};
	struct epoll_event event;
	int fd = epoll_create1(0);

	takes(WAIT, MS, poll(NULL, 0, WAIT / MS));
	takes(WAIT, MS, ppoll(NULL, 0, &ts, NULL));
	takes(WAIT, MS, select(0, NULL, NULL, NULL, &tv));
	takes(WAIT, MS, pselect(0, NULL, NULL, NULL, &ts, NULL));
	takes(WAIT, MS, epoll_wait(fd, &event, 1, WAIT / MS));
	close(fd);
}

static void locks(void)
{
	pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec ts;
	sem_t sem;

	sem_init(&sem, 0, 0);
	pthread_mutex_lock(&held);
	pthread_mutex_lock(&mutex);
	ts = in(CLOCK_REALTIME, WAIT);
	takes(WAIT - MS, 2 * MS, pthread_cond_timedwait(&cond, &mutex, &ts));
	ts = in(CLOCK_REALTIME, WAIT);
	takes(WAIT - MS, 2 * MS, pthread_mutex_timedlock(&held, &ts));
	ts = in(CLOCK_REALTIME, WAIT);
	takes(WAIT - MS, 2 * MS, sem_timedwait(&sem, &ts));
	ts = in(CLOCK_MONOTONIC, WAIT);
	takes(WAIT - MS, 2 * MS, pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &ts));
}

static void system_v(void)
{
	struct sembuf less = {.sem_op = -1};
	struct timespec ts = {0, WAIT};
	int id = semget(IPC_PRIVATE, 1, 0600);

	takes(WAIT, MS, semtimedop(id, &less, 1, &ts));
	semctl(id, 0, IPC_RMID);
}

/* Where there is no room for queues, none is waited for. */
static void queues(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
	mqd_t queue = mq_open("/pcl_virtual_time", O_RDWR | O_CREAT, 0600, &attr);
	struct timespec ts = in(CLOCK_REALTIME, WAIT);
	char message[8];

	mq_unlink("/pcl_virtual_time");
	if (queue >= 0)
		takes(WAIT - MS, 2 * MS, mq_timedreceive(queue, message, sizeof(message), NULL, &ts));
}

static void signals(void)
{
	struct timespec ts = {0, WAIT};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	takes(WAIT, MS, sigtimedwait(&set, NULL, &ts));
}

static void spin(void)
{
	long end = now(CLOCK_MONOTONIC) + WAIT;

	while (now(CLOCK_MONOTONIC) < end)
		;
}

static void spin_tsc(void)
{
	unsigned long begin = __rdtsc();

	while (__rdtsc() - begin < WAIT)
		;
}

static void *spin_of_thread(void *arg)
{
	spin();
	return arg;
}

/* Threads share a clock; a child's time is its parent's once that has waited for it. */
static void others(void)
{
	struct rusage usage;
	pthread_t thread;
	pid_t pid;
	int status;
	long cpu;

	takes(WAIT, MS, (pthread_create(&thread, NULL, spin_of_thread, NULL), pthread_join(thread, NULL)));
	pid = fork();
	if (!pid) {
		spin();
		_exit(0);
	}
	takes(WAIT - MS, 2 * MS, waitpid(pid, &status, 0));
	getrusage(RUSAGE_CHILDREN, &usage);
	if (usage.ru_utime.tv_sec || usage.ru_utime.tv_usec < (WAIT - MS) / 1000) {
		printf("the child has used %ld us\n", usage.ru_utime.tv_usec);
		failures++;
	}
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	pid = vfork();
	if (!pid) {
		spin();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (cpu > MS) {
		printf("the time of a child of vfork, %ld ns, is its parent's\n", cpu);
		failures++;
	}
}

/* All clocks go on together, never back. */
static void clocks(void)
{
	long mono = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID), thread = now(CLOCK_THREAD_CPUTIME_ID);
	long before = 0, tsc = (long)__rdtsc();
	struct timeval tv;

	for (volatile int i = 0; i < 1000000; i++)
		;
	mono = now(CLOCK_MONOTONIC) - mono;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	thread = now(CLOCK_THREAD_CPUTIME_ID) - thread;
	tsc = (long)__rdtsc() - tsc;
	if (mono < 3000000 || labs(mono - cpu) > 10000 || labs(mono - thread) > 10000 || labs(mono - tsc) > 10000) {
		printf("the same time is %ld, %ld, %ld and %ld ns\n", mono, cpu, thread, tsc);
		failures++;
	}
	for (int i = 0; i < 1000; i++) {
		mono = now(CLOCK_MONOTONIC);
		failures += mono <= before;
		before = mono;
	}
	gettimeofday(&tv, NULL);
	failures += labs(tv.tv_sec - time(NULL)) > 1 || labs(tv.tv_sec - now(CLOCK_REALTIME) / S) > 1;
}

static void on_signal(int sig)
{
	(void)sig;
}

/* The host's clock says when they are due; what the guest sees then is not before. */
static void timers(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerval interval = {.it_value = {0, WAIT / 1000}};
	struct itimerspec it = {.it_value = {0, WAIT}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), real = timerfd_create(CLOCK_REALTIME, 0), pair[2];
	struct timeval limit = {0, WAIT / 1000};
	unsigned long n;
	timer_t timer;

	signal(SIGALRM, on_signal);
	failures += timerfd_settime(fd, TFD_TIMER_ABSTIME, &(struct itimerspec){.it_value = {-1, 0}}, NULL) != -1;
	takes(WAIT, S, (timerfd_settime(fd, 0, &it, NULL), read(fd, &n, sizeof(n))));
	it.it_value = in(CLOCK_MONOTONIC, WAIT);
	takes(WAIT - MS, S, (timerfd_settime(fd, TFD_TIMER_ABSTIME, &it, NULL), read(fd, &n, sizeof(n))));
	it.it_value = in(CLOCK_REALTIME, WAIT);
	takes(WAIT - MS, S, (timerfd_settime(real, TFD_TIMER_ABSTIME, &it, NULL), read(real, &n, sizeof(n))));
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	it.it_value = in(CLOCK_MONOTONIC, WAIT);
	takes(WAIT - MS, S, (timer_settime(timer, TIMER_ABSTIME, &it, NULL), pause()));
	takes(WAIT, S, (setitimer(ITIMER_REAL, &interval, NULL), pause()));
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	takes(WAIT, S, read(pair[0], &n, 1));
}

/* As programs set them to be stopped if they take too long. */
static void far_timers(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerval interval = {.it_value = {50, 0}}, before;
	struct itimerspec it = {.it_value = {60, 0}};
	struct timeval limit = {100, 0};
	int pair[2];
	timer_t timer;

	alarm(70);
	setitimer(ITIMER_REAL, &interval, &before);
	printf("%ld.%06ld s of 70\n", before.it_value.tv_sec, before.it_value.tv_usec);
	timerfd_settime(timerfd_create(CLOCK_MONOTONIC, 0), 0, &it, NULL);
	it.it_value = in(CLOCK_REALTIME, 60 * S);
	timer_create(CLOCK_REALTIME, &event, &timer);
	timer_settime(timer, TIMER_ABSTIME, &it, NULL);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* One that is stopped does not count any more. */
static void stopped_timer(void)
{
	struct itimerval interval = {.it_value = {0, WAIT / 1000}};

	setitimer(ITIMER_REAL, &interval, NULL);
	getitimer(ITIMER_REAL, &interval);
	printf("%ld.%06ld s of 0.06\n", interval.it_value.tv_sec, interval.it_value.tv_usec);
	printf("%d s of 0.06\n", alarm(0));
}

int main(int argc, char **argv)
{
	bool exact = argc > 1 && !strcmp(argv[1], "exact");

	if (exact) {
		stopped_timer();
		far_timers();
	}
	sleeps();
	descriptors();
	locks();
	system_v();
	queues();
	signals();
	takes(WAIT, MS, spin());
	takes(WAIT, MS, spin_tsc());
	others();
	clocks();
	if (exact)
		printf("%d s of 50\n", alarm(0));
	printf("%ld %ld %ld\n", now(CLOCK_REALTIME), now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID));
	if (!exact)
		timers();
	return failures != 0;
}
