/*
 * Seccomp's strict mode, set by both calls: read, write and exit are all that a thread may call, and that has to be
 * enough.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_prctl(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

static int by_seccomp(void)
{
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
}

static void compute(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

static void write_and_read(void)
{
	char c;

	if (write(1, "strict\n", 7) != 7 || read(0, &c, 1) != 0)
		__builtin_trap();
}

/* New code, and the stack grows. */
static void recurse(int n)
{
	volatile char room[4096];

	room[0] = (char)n;
	if (n)
		recurse(n - 1);
	room[1] = room[0];
}

static void use_stack(void)
{
	recurse(50);
}

static void handle_signal(void)
{
	__asm__ volatile("ud2");
}

static void on_ill(int signo, siginfo_t *info, void *context)
{
	syscall(SYS_exit, 5);
}

static void forbidden(void)
{
	syscall(SYS_getpid);
}

static void bad_address(void)
{
	*(volatile int *)8 = 0;
}

static void run(const char *what, int (*enter)(void), void (*work)(void), int nr)
{
	int status = 0, pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (enter())
			_exit(99);
		work();
		syscall(nr, 7);
	}
	waitpid(pid, &status, 0);
	printf("%s: %x\n", what, status);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_ill, .sa_flags = SA_SIGINFO};

	sigaction(SIGILL, &act, NULL);
	if (!freopen("/dev/null", "r", stdin))
		return 1;
	for (int i = 0; i < 2; i++) {
		int (*enter)(void) = i ? by_seccomp : by_prctl;

		run("compute", enter, compute, SYS_exit);
		run("write and read", enter, write_and_read, SYS_exit);
		run("stack", enter, use_stack, SYS_exit);
		run("exit in a handler", enter, handle_signal, SYS_exit);
		run("another call", enter, forbidden, SYS_exit);
		run("exit_group", enter, compute, SYS_exit_group);
		run("a bad address", enter, bad_address, SYS_exit);
	}
	return 0;
}
