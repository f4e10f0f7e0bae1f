/*
 * Threads that wait for each other in every way, and a report of who came when: under pcl --pin=+schedule it is the
 * same in each run. Natively it differs. Checks itself that nobody is left waiting.
 *
 * cflags: -O2
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/rseq.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define ITEMS	300
#define QUEUE	16
#define SECTION 450000 /* instructions, of several turns */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned queue[QUEUE], head, tail, done;
static unsigned long order; /* a number for who came when */
static volatile unsigned go, signals;
static int pipe_fd[2], event_fd;
static sem_t sem;

static void fail(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

/* With the lock held; by the restarter without it: only turns make that safe. */
static void came(unsigned who)
{
	order = order * 31 + who;
}

static void on_signal(int signo)
{
	signals++;
}

/* A restartable sequence of that many instructions: how many were not executed. */
static unsigned long run_section(unsigned long n)
{
	struct rseq *rs = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);

	__asm__ volatile("	.pushsection __rseq_cs, \"aw\"\n"
			 "	.balign 32\n"
			 "3:	.long 0, 0\n"
			 "	.quad 1f, 2f - 1f, 4f\n"
			 "	.popsection\n"
			 "	lea 3b(%%rip), %%rax\n"
			 "	mov %%rax, 8(%[rs])\n"
			 "1:	loop 1b\n"
			 "2:	jmp 4f\n"
			 "	.byte 0x0f, 0xb9, 0x3d\n"
			 "	.long 0x53053053\n"
			 "4:\n"
			 : "+c"(n)
			 : [rs] "r"(rs)
			 : "rax", "cc", "memory");
	return n;
}

static void *restart_section(void *arg)
{
	unsigned long left;

	while (__rseq_size && (left = run_section(SECTION)))
		came((unsigned)left);
	return NULL;
}

static int take(unsigned *item)
{
	int got;

	pthread_mutex_lock(&lock);
	while (head == tail && !done)
		pthread_cond_wait(&changed, &lock);
	got = head != tail;
	if (got)
		*item = queue[head++ % QUEUE];
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return got;
}

static void *work(void *arg)
{
	unsigned who = (unsigned)(unsigned long)arg, item;
	volatile unsigned x = who;

	while (take(&item)) {
		for (unsigned i = 0; i < item; i++)
			x = x * 1664525 + 1013904223;
		pthread_mutex_lock(&lock);
		came(who);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *spin(void *arg)
{
	while (!go)
		;
	return NULL;
}

static void *read_all(void *arg)
{
	unsigned long n = 0;
	char buf[100];
	ssize_t got;

	while ((got = read(pipe_fd[0], buf, sizeof(buf))) > 0) {
		pthread_mutex_lock(&lock);
		came((unsigned)got);
		pthread_mutex_unlock(&lock);
		n += (unsigned long)got;
	}
	return (void *)n;
}

static void *poll_event(void *arg)
{
	struct pollfd p = {.fd = event_fd, .events = POLLIN};
	unsigned timeouts = 0;

	while (poll(&p, 1, 1) == 0)
		timeouts++;
	return (void *)(unsigned long)timeouts;
}

static void *select_event(void *arg)
{
	struct timeval limit = {60, 0};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(event_fd, &set);
	if (select(event_fd + 1, &set, NULL, NULL, &limit) != 1 || !FD_ISSET(event_fd, &set))
		fail("select");
	return NULL;
}

static void *sleep_and_wait(void *arg)
{
	for (int i = 0; i < 5; i++)
		usleep(1000);
	while (sem_wait(&sem) && errno == EINTR)
		;
	return NULL;
}

static void put_all(void)
{
	for (unsigned i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&lock);
		while (tail - head == QUEUE)
			pthread_cond_wait(&changed, &lock);
		queue[tail++ % QUEUE] = i * 37 % 5000;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		if (i % 3 == 0 && write(pipe_fd[1], "0123456789", 1 + i % 10) < 0)
			fail("write");
		if (i % 50 == 0)
			sched_yield();
	}
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* More than the pipe has room for. */
static void write_much(void)
{
	static char much[200000];

	if (write(pipe_fd[1], much, sizeof(much)) != sizeof(much))
		fail("a long write is short");
}

static void time_out(void)
{
	struct timespec until;
	sem_t never;

	sem_init(&never, 0, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 20000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (sem_timedwait(&never, &until) != -1 || errno != ETIMEDOUT)
		fail("sem_timedwait");
}

/* Other threads wait for the turn while the child is made, and ends. */
static void have_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		pthread_t t;

		if (pthread_create(&t, NULL, sleep_and_wait, NULL))
			_exit(2);
		sem_post(&sem);
		pthread_join(t, NULL);
		_exit(7);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		fail("waitpid");
}

int main(int argc, char **argv)
{
	pthread_t worker[WORKERS], spinner, reader, poller, selecter, sleeper, restarter;
	void *n, *timeouts;

	signal(SIGUSR1, on_signal);
	event_fd = eventfd(0, 0);
	if (pipe(pipe_fd) || event_fd < 0 || sem_init(&sem, 0, 0))
		fail("preparation");
	for (unsigned long i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, work, (void *)(i + 1));
	pthread_create(&spinner, NULL, spin, NULL);
	pthread_create(&reader, NULL, read_all, NULL);
	pthread_create(&poller, NULL, poll_event, NULL);
	pthread_create(&selecter, NULL, select_event, NULL);
	pthread_create(&sleeper, NULL, sleep_and_wait, NULL);
	pthread_create(&restarter, NULL, restart_section, NULL);
	put_all();
	write_much();
	pthread_kill(sleeper, SIGUSR1);
	time_out();
	if (argc > 1)
		have_child();
	if (eventfd_write(event_fd, 1) || close(pipe_fd[1]) || sem_post(&sem))
		fail("the end");
	go = 1;
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	pthread_join(spinner, NULL);
	pthread_join(reader, &n);
	pthread_join(poller, &timeouts);
	pthread_join(selecter, NULL);
	pthread_join(sleeper, NULL);
	pthread_join(restarter, NULL);
	if (signals != 1)
		fail("the signal was lost");
	printf("%lx %lu %lu\n", order, (unsigned long)n, (unsigned long)timeouts);
	return 0;
}
