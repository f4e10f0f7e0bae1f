/*
 * A busy process dies of SIGTERM with its default action; what it counted must be whole: its loop has four instructions
 * and one branch, so instructions - 4 * branches is the same each time up to the place in the loop where it was hit.
 *
 * Prints `spread N`: the greatest difference between deaths, the first one (which warms up the libraries) left out.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEATHS 30

static int open_inherited(unsigned long config)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .config = config, .inherit = 1, .exclude_kernel = 1, .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0) {
		perror("perf_event_open");
		exit(1);
	}
	return fd;
}

static void __attribute__((noreturn)) busy(int fd)
{
	long n;

	/* write(fd, ".", 1), then the loop */
	__asm__ volatile("push $46; mov %%rsp, %%rsi; mov $1, %%edx; mov $1, %%eax; syscall\n"
			 "1: inc %%rax; add $3, %%rbx; dec %%rcx; jmp 1b"
			 : "=a"(n) : "D"((long)fd) : "rbx", "rcx", "rdx", "rsi", "r11", "memory");
	__builtin_unreachable();
}

static long one_death(int signal)
{
	int instructions = open_inherited(PERF_COUNT_HW_INSTRUCTIONS),
	    branches = open_inherited(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	unsigned long i, b;
	int p[2], status;
	pid_t pid;
	char c;

	if (pipe(p))
		exit(1);
	pid = fork();
	if (!pid)
		busy(p[1]);
	if (read(p[0], &c, 1) != 1)
		exit(1);
	usleep(1500);
	kill(pid, signal);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != signal)
		printf("died of %x\n", status);
	if (read(instructions, &i, 8) != 8 || read(branches, &b, 8) != 8)
		exit(1);
	close(instructions);
	close(branches);
	close(p[0]);
	close(p[1]);
	return (long)(i - 4 * b);
}

int main(int argc, char **argv)
{
	int signal = argc > 1 ? atoi(argv[1]) : SIGTERM;
	long low, high;

	one_death(signal);
	low = high = one_death(signal);
	for (int i = 0; i < DEATHS; i++) {
		long left = one_death(signal);

		low = left < low ? left : low;
		high = left > high ? left : high;
	}
	printf("spread %ld\n", high - low);
	return 0;
}
