/*
 * How threads and processes begin and end while others are busy: joining, cancelling, exit and exec from any thread,
 * busy siblings, a leader that ends first, vfork and posix_spawn, stops and deaths by signals.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 8
#define ROUNDS 20000

extern char **environ;

static __thread int own;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long shared;
static volatile sig_atomic_t signals;
static const char *self;

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		own++;
		pthread_mutex_lock(&mutex);
		shared++;
		pthread_mutex_unlock(&mutex);
	}
	return (void *)(long)own;
}

static void *spin(void *arg)
{
	for (volatile long n = 0; n >= 0; n++)
		;
	return NULL;
}

static void *sleep_on(void *arg)
{
	while (pause() < 0)
		;
	return NULL;
}

static void *exec_self(void *arg)
{
	execl(self, self, "child", NULL);
	return NULL;
}

static void on_signal(int sig)
{
	__atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
}

static pthread_t start(void *(*fn)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, fn, NULL);
	return thread;
}

static void joins(void)
{
	pthread_t thread[WORKERS];
	void *result;
	int wrong = 0;

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < WORKERS; i++)
			thread[i] = start(work);
		for (int i = 0; i < WORKERS; i++) {
			pthread_join(thread[i], &result);
			wrong += (long)result != ROUNDS;
		}
	}
	printf("sum %ld wrong %d\n", shared, wrong);
}

static void directed_signals(void)
{
	pthread_t busy = start(spin), asleep = start(sleep_on);
	void *result;

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 200; i++) {
		int before = signals;

		pthread_kill(busy, SIGUSR1);
		while (signals == before)
			sched_yield();
	}
	printf("signals %d\n", signals);
	pthread_cancel(asleep);
	pthread_join(asleep, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
}

/* Each runs in a child that has spinning threads. */
static void by_exit(void)
{
	exit(33);
}

static void by_leader_exit(void)
{
	if (!fork()) {
		usleep(50000);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	syscall(SYS_exit, 3);
}

static void by_exec(void)
{
	execl("/bin/sh", "sh", "-c", "exit 44", NULL);
}

static void by_exec_of_thread(void)
{
	start(exec_self);
	sleep_on(NULL);
}

static void by_fault(void)
{
	*(volatile int *)0 = 1;
}

static void by_abort(void)
{
	abort();
}

static void by_thread_after_fork(void)
{
	void *result;

	pthread_join(start(work), &result);
	_exit((long)result == ROUNDS ? 4 : 5);
}

static void with_busy_threads(const char *what, void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		start(spin);
		start(sleep_on);
		usleep(1000);
		fn();
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("%s: %x\n", what, status & ~0x80);
}

static void stops(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		spin(NULL);
	usleep(2000);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %x", status);
	kill(pid, SIGCONT);
	waitpid(pid, &status, WCONTINUED);
	printf(" continued %x", status);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	printf(" ended %x\n", status);
}

static void spawns(void)
{
	char *argv[] = { "sh", "-c", "exit 7", NULL };
	int status, wrong = 0;
	pid_t pid;

	for (int i = 0; i < 20; i++) {
		if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
			wrong++;
		waitpid(pid, &status, 0);
		wrong += WEXITSTATUS(status) != 7;
	}
	printf("spawn: wrong %d\n", wrong);
	pid = vfork();
	if (!pid)
		_exit(9);
	waitpid(pid, &status, 0);
	printf("vfork and exit %x\n", status);
	pid = vfork();
	if (!pid) {
		execl("/there/is/no/such/file", "x", NULL);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	printf("vfork and no exec %x\n", status);
	pid = vfork();
	if (!pid)
		kill(getpid(), SIGKILL);
	waitpid(pid, &status, 0);
	printf("vfork and death %x\n", status);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		return getpid() == gettid() ? 21 : 22;
	joins();
	spawns();
	stops();
	with_busy_threads("exit", by_exit);
	with_busy_threads("leader's exit, then a signal", by_leader_exit);
	with_busy_threads("exec", by_exec);
	with_busy_threads("exec of another thread", by_exec_of_thread);
	with_busy_threads("fault", by_fault);
	with_busy_threads("abort", by_abort);
	with_busy_threads("thread after fork", by_thread_after_fork);
	directed_signals();
	fflush(stdout);
	exit(12);
}
