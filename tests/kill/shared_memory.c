/*
 * Processes that have the same memory (CLONE_VM without CLONE_THREAD, as children of vfork) are killed at random
 * moments. Those that are left must not wait for them, and must find the memory as it is: mappings are where they were,
 * and code that is written is the code that is executed.
 *
 *   map     the child maps and unmaps memory
 *   code    it writes code and calls it, and so does another thread of its parent
 *   orphan  its parent, whose threads do all of that, is killed instead; the child does it for a while and ends
 *
 * Usage: shared_memory map|code|orphan N [vfork|shared]
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS 512
#define FUNCTION_SIZE 16
#define ROUNDS	40
#define PATIENCE_MS 10000

typedef int work(void *unused);

static char stack[65536] __attribute__((aligned(16)));
static unsigned char *code;
static atomic_int to_kill, stop;
static unsigned seed = 1;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void sleep_up_to(long us)
{
	struct timespec ts = {0, 0};

	seed = seed * 1103515245 + 12345;
	ts.tv_nsec = (long)(seed >> 8) % us * 1000;
	nanosleep(&ts, NULL);
}

static void map_once(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	p[0] = p[4096] = 1;
	if (mprotect(p, 4096, PROT_READ) || p[0] != 1 || munmap(p, 8192))
		fail("a new mapping");
}

/* Function i at `at` returns n + i. */
static void code_once(unsigned char *at, int n)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		unsigned char *p = at + i * FUNCTION_SIZE;
		int value = n + i;

		p[0] = 0xb8; /* mov $value, %eax; ret */
		memcpy(p + 1, &value, sizeof(value));
		p[5] = 0xc3;
	}
	for (int i = 0; i < FUNCTIONS; i++) {
		int (*function)(void) = (int (*)(void))(void *)(at + i * FUNCTION_SIZE);

		if (function() != n + i) {
			fprintf(stderr, "function %d of round %d returned %d\n", i, n, function());
			_exit(1);
		}
	}
}

static unsigned char *code_memory(void)
{
	void *p = mmap(NULL, FUNCTIONS * FUNCTION_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

static int __attribute__((noreturn)) map_forever(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	to_kill = getpid();
	for (;;)
		map_once();
}

static int __attribute__((noreturn)) code_forever(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	to_kill = getpid();
	for (int n = 1;; n++)
		code_once(code, n);
}

static void *killer(void *unused)
{
	for (;;) {
		int pid = atomic_exchange(&to_kill, 0);

		sleep_up_to(pid ? 1500 : 50);
		if (pid)
			kill(pid, SIGKILL);
	}
	return unused;
}

static void *code_worker(void *unused)
{
	unsigned char *own = code_memory();

	for (int n = 1; !stop; n++)
		code_once(own, n);
	return unused;
}

static void *map_worker(void *unused)
{
	while (!stop)
		map_once();
	return unused;
}

static void start(void *(*function)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL))
		fail("pthread_create");
}

static int begin(work *child, int flags)
{
	int pid = clone(child, stack + sizeof(stack), CLONE_VM | flags | SIGCHLD, NULL);

	if (pid < 0)
		fail("clone");
	return pid;
}

static void kill_children(work *child, int n, int flags)
{
	int status;

	start(killer);
	start(child == code_forever ? code_worker : map_worker);
	for (int i = 0; i < n; i++) {
		if (waitpid(begin(child, flags), &status, 0) < 0)
			fail("waitpid");
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
			fprintf(stderr, "a child ended with status %#x\n", status);
			exit(1);
		}
		map_once();
		code_once(code, -i);
	}
}

static int told[2];

static int survivor(void *unused)
{
	(void)unused;
	for (int n = 0; n < ROUNDS; n++) {
		map_once();
		code_once(code, n);
	}
	if (write(told[1], ".", 1) != 1)
		_exit(1);
	_exit(0);
}

static void __attribute__((noreturn)) parent(void)
{
	start(map_worker);
	start(code_worker);
	close(told[0]);
	begin(survivor, CLONE_VFORK);
	_exit(0);
}

static void kill_parents(int n)
{
	struct pollfd poll_told;
	char c;

	for (int i = 0; i < n; i++) {
		int pid, status;

		if (pipe(told) || (pid = fork()) < 0)
			fail("fork");
		if (!pid)
			parent();
		close(told[1]);
		sleep_up_to(8000);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		/* It may be that there was no child yet; or that it has told. Both its ends are closed when it ends. */
		poll_told = (struct pollfd){.fd = told[0], .events = POLLIN};
		if (poll(&poll_told, 1, PATIENCE_MS) != 1) {
			fprintf(stderr, "a child whose parent was killed waits\n");
			exit(1);
		}
		if (read(told[0], &c, 1) < 0)
			fail("read");
		close(told[0]);
	}
}

int main(int argc, char **argv)
{
	int n, flags;

	if (argc < 3)
		return 2;
	n = atoi(argv[2]);
	flags = argc > 3 && !strcmp(argv[3], "shared") ? 0 : CLONE_VFORK;
	code = code_memory();
	alarm(100);
	if (!strcmp(argv[1], "map"))
		kill_children(map_forever, n, flags);
	else if (!strcmp(argv[1], "code"))
		kill_children(code_forever, n, flags);
	else
		kill_parents(n);
	printf("ok\n");
	fflush(stdout);
	_exit(0);
}
