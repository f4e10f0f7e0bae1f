/*
 * The user's signal queue is full (RLIMIT_SIGPENDING): what counts does not depend on it. Where the kernel counts
 * software events only, those are looked at.
 */
#include <pthread.h>
#include <sys/resource.h>
#include "tests/abi/sampling.h"

#define QUEUE 200

static struct shared {
	volatile int stop, ready;
} *shared;
static volatile int taken;

static void nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static void fill_queue(void)
{
	struct rlimit limit = {QUEUE, QUEUE};
	sigset_t set;

	setrlimit(RLIMIT_SIGPENDING, &limit);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (!sigqueue(getpid(), SIGRTMAX, (union sigval){0}))
		;
	expect(errno, EAGAIN);
}

static u64 count(int fd)
{
	u64 value = 0;

	expect(read(fd, &value, sizeof(value)), sizeof(value));
	return value;
}

static int spinning_child(void)
{
	int child = fork();

	if (child)
		return child;
	shared->ready = 1;
	while (!shared->stop)
		;
	_exit(0);
}

/*
 * Neither process makes a system call while it spins: it has to be told, or else counts nothing however long. Where
 * others run, too, it may not run at all in a tenth of a second.
 */
static void test_count_begins(struct perf_attr a)
{
	int child, status;
	u64 counted = 0;
	long fd;

	shared->stop = shared->ready = 0;
	child = spinning_child();
	while (!shared->ready)
		nap(1);
	nap(5);
	fd = perf_open(&a, child, -1, -1, 0);
	expect(fd >= 0, 1);
	nap(100);
	for (int i = 0; i < 20 && !counted; i++) {
		counted = count((int)fd);
		nap(counted ? 0 : 100);
	}
	expect(counted > 0, 1);
	expect(ioctl((int)fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	shared->stop = 1;
	waitpid(child, &status, 0);
	expect(status, 0);
	close((int)fd);
}

/* An end by a real-time signal is one by that signal. */
static void test_fatal(struct perf_attr a)
{
	int child = fork(), status;

	if (!child) {
		perf_open(&a, 0, -1, -1, 0);
		kill(getpid(), SIGRTMIN + 5);
		_exit(1);
	}
	waitpid(child, &status, 0);
	expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGRTMIN + 5, 1);
}

static void on_trap(int signo)
{
	taken++;
}

/* Throttled events begin again, although the thread makes no system call and cannot have a timer. */
static void *test_unthrottled(void *arg)
{
	struct perf_attr a = insns_attr(100);
	volatile u64 turns = 0;
	long fd;
	int before;

	a.sigtrap = a.remove_on_exec = a.exclude_kernel = 1;
	a.disabled = 0;
	signal(SIGTRAP, on_trap);
	fd = perf_open(&a, 0, -1, -1, 0);
	expect(fd >= 0, 1);
	while (turns < 50000000)
		turns++;
	before = taken;
	while (turns < 150000000)
		turns++;
	expect(taken - before > 10, 1);
	close((int)fd);
	return NULL;
}

int main(void)
{
	struct perf_attr clock = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK), insns = insns_attr(0);
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	insns.exclude_kernel = 1;
	insns.disabled = 0;
	fill_queue();
	test_count_begins(clock);
	test_fatal(clock);
	if (have_pmu()) {
		test_count_begins(insns);
		test_fatal(insns);
		pthread_create(&thread, NULL, test_unthrottled, NULL);
		pthread_join(thread, NULL);
	}
	return perf_result();
}
