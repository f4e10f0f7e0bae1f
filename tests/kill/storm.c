/*
 * storm VICTIMS: kills counting processes with SIGKILL at random moments, and watches what remains.
 *
 * Each victim has three threads, a child and a grandchild that open, read, enable, disable and close events on
 * themselves and on each other all the time; its parent has events on it too. A few live at once; one after the other
 * dies. Meanwhile two survivors, a thread of this process and a process of its own, count the same work again and
 * again: each count must be the same. At the end: a dead victim's counts stay as they are, and as many tasks and events
 * can be made as before, in numbers that would not fit if the dead had left theirs behind.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 3

static struct shared {
	volatile int stop;
	volatile long rounds[2], wrong[2];
	uint64_t expected[2], seen[2];
} *shared;

static int open_event(pid_t pid, uint64_t config, int inherit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.inherit = inherit,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t read_event(int fd)
{
	uint64_t value = 0;

	if (read(fd, &value, sizeof(value)) != sizeof(value))
		return 0;
	return value;
}

/* The same instructions each time, with calls and stores in them. */
static __attribute__((noinline)) unsigned work(volatile unsigned *x)
{
	for (int i = 0; i < 3000; i++)
		*x = *x & 1 ? *x * 3 + 1 : *x / 2 + i;
	return *x;
}

static void survive(int n)
{
	int fd = open_event(0, PERF_COUNT_HW_INSTRUCTIONS, 0);
	volatile unsigned x;
	uint64_t before, after;

	while (!shared->stop) {
		x = 27;
		before = read_event(fd);
		work(&x);
		after = read_event(fd);
		if (!shared->expected[n])
			shared->expected[n] = after - before;
		if (after - before != shared->expected[n] || fd < 0) {
			shared->wrong[n]++;
			shared->seen[n] = after - before;
		}
		shared->rounds[n]++;
	}
}

static void *survivor_thread(void *arg)
{
	survive(0);
	return NULL;
}

/* What victims do until they are killed. */
static void *busy(void *arg)
{
	pid_t other = (long)arg;
	volatile unsigned x = 1;

	for (unsigned i = 0;; i++) {
		int a = open_event(0, PERF_COUNT_HW_INSTRUCTIONS, i & 1),
		    b = open_event(other, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0);

		work(&x);
		read_event(a);
		ioctl(b, PERF_EVENT_IOC_DISABLE, 0);
		ioctl(a, PERF_EVENT_IOC_RESET, 0);
		ioctl(b, PERF_EVENT_IOC_ENABLE, 0);
		read_event(b);
		close(a);
		close(b);
		if (i % 16 == 7) {
			pid_t pid = fork();

			if (!pid)
				_exit(0);
			waitpid(pid, NULL, 0);
		}
	}
	return NULL;
}

static void victim(void)
{
	pid_t me = getpid();
	pthread_t t;

	for (int i = 0; i < 2; i++) {
		pid_t parent = getpid();

		/*
		 * The kernel ends them with their parent, whenever that dies. If it died before they said so, they have
		 * another one now.
		 */
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(0);
			me = getppid();
		} else {
			break;
		}
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, busy, (void *)(long)me);
	busy((void *)(long)me);
}

static int fail(const char *what, long a, long b)
{
	printf("%s: %ld, %ld\n", what, a, b);
	return 1;
}

/* More tasks and events than would fit if the dead ones still had theirs. */
static int room_left(void)
{
	static int fd[200];
	int status, failed = 0;

	for (int i = 0; i < 200; i++) {
		fd[i] = open_event(0, i & 1, 0);
		if (fd[i] < 0)
			return fail("no room for event", i, errno);
	}
	for (int i = 0; i < 200; i++)
		close(fd[i]);
	for (int i = 0; i < 300 && !failed; i++) {
		pid_t pid = fork();

		if (!pid) {
			int e = open_event(0, PERF_COUNT_HW_INSTRUCTIONS, 0);

			_exit(e < 0 || !read_event(e));
		}
		if (pid < 0)
			return fail("fork", i, errno);
		if (waitpid(pid, &status, 0) != pid || status)
			failed = fail("child", i, status);
	}
	return failed;
}

/* Kills a victim and looks at its counter. Its orphans are reaped as they die. */
static int execute(int i, pid_t pid, int counter)
{
	uint64_t value;
	int status, failed = 0;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		failed = fail("victim did not die of SIGKILL", i, status);
	value = read_event(counter);
	usleep(100);
	if (read_event(counter) != value)
		failed = fail("the count of a dead task changes", i, value);
	close(counter);
	while (waitpid(-1, &status, WNOHANG) > 0)
		; /* the survivor and the other victims do not end by themselves */
	return failed;
}

int main(int argc, char **argv)
{
	int victims = argc > 1 ? atoi(argv[1]) : 500, failed = 0, status;
	pid_t pid[AT_ONCE], survivor;
	int counter[AT_ONCE];
	pthread_t t;

	setvbuf(stdout, NULL, _IONBF, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	counter[0] = open_event(0, PERF_COUNT_HW_INSTRUCTIONS, 0);
	if (counter[0] < 0) {
		printf("no counters: %s\n", strerror(errno));
		return 77;
	}
	close(counter[0]);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	survivor = fork();
	if (!survivor) {
		survive(1);
		_exit(0);
	}
	pthread_create(&t, NULL, survivor_thread, NULL);
	srand(victims);
	for (int i = 0; i < victims + AT_ONCE; i++) {
		int slot = i % AT_ONCE;

		if (i >= AT_ONCE) {
			usleep(rand() % 4000);
			failed |= execute(i, pid[slot], counter[slot]);
		}
		if (i < victims) {
			pid[slot] = fork();
			if (!pid[slot]) {
				victim();
				_exit(1);
			}
			if (pid[slot] < 0)
				return fail("fork", i, errno);
			counter[slot] = open_event(pid[slot], PERF_COUNT_HW_INSTRUCTIONS, 0);
			if (counter[slot] < 0)
				failed = fail("open on a victim", i, errno);
		}
	}
	shared->stop = 1;
	pthread_join(t, NULL);
	if (waitpid(survivor, &status, 0) != survivor || status)
		failed = fail("surviving process", survivor, status);
	for (int n = 0; n < 2; n++) {
		if (shared->wrong[n])
			failed = fail("survivor's count", shared->expected[n], shared->seen[n]);
		if (shared->rounds[n] < 50)
			failed = fail("survivor's rounds", n, shared->rounds[n]);
	}
	failed |= room_left();
	printf("%d killed, %ld and %ld rounds of the survivors\n", victims, shared->rounds[0], shared->rounds[1]);
	return failed;
}
