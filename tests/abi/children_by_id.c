/*
 * Children, processes and threads, find themselves by their own ids as soon as they run, and so does their parent. With
 * --stress=restart parents are slow to say what the ids are, and say it twice.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include "tests/abi/errno/perf.h"

#define CHILDREN 400

static atomic_int failed;

static long open_on(pid_t pid)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);

	return perf_open(&a, pid, -1, -1, 0);
}

static void find_self(void)
{
	long fd;

	usleep(500);
	fd = open_on((pid_t)syscall(SYS_gettid));
	if (fd < 0)
		failed++;
	close((int)fd);
}

static void *in_thread(void *arg)
{
	find_self();
	return arg;
}

static void one_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
}

static void one_process(void)
{
	int until[2], status;
	pid_t pid;
	long fd;
	char c;

	expect(pipe(until), 0);
	pid = fork();
	if (!pid) {
		close(until[1]);
		failed = 0;
		find_self();
		_exit(read(until[0], &c, 1) || failed);
	}
	fd = open_on(pid);
	failed += fd < 0;
	close((int)fd);
	close(until[0]);
	close(until[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		failed++;
}

int main(void)
{
	long fd = open_on(0);

	expect(fd >= 0, 1);
	for (int i = 0; i < CHILDREN; i++) {
		one_process();
		one_thread();
	}
	expect(failed, 0);
	return perf_result();
}
