/*
 * A blocking read interrupted by a handler: repeated with SA_RESTART (the syscall instruction runs twice), EINTR
 * without.
 */
#include "tests/count/region.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static volatile int handled;

static void on_signal(int sig)
{
	handled++;
}

/* A child that sends the signal when its parent has had time to block, and later the byte. */
static void helper(int fd, int sig)
{
	if (fork())
		return;
	usleep(200000);
	kill(getppid(), sig);
	usleep(200000);
	_exit(write(fd, "x", 1) != 1);
}

static long raw_read(int fd, char *c)
{
	long rax = SYS_read;

	__asm__ volatile("syscall" : "+a"(rax) : "D"((long)fd), "S"(c), "d"(1L) : "rcx", "r11", "memory");
	return rax;
}

int main(void)
{
	int fd = region_open(), p[2];
	struct sigaction sa = { .sa_handler = on_signal };
	long r;
	char c;

	if (pipe(p))
		return 1;
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &sa, NULL);
	fflush(stdout);
	helper(p[1], SIGUSR2);
	region_begin(fd, 1);
	r = raw_read(p[0], &c);
	region_end(fd, 1);
	printf("%ld %d\n", r, handled);
	wait(NULL);
	fflush(stdout);
	helper(p[1], SIGUSR1);
	region_begin(fd, 2);
	r = raw_read(p[0], &c);
	region_end(fd, 2);
	printf("%d %d\n", r == -EINTR, handled);
	wait(NULL);
	region_print(1);
	region_print(2);
	return 0;
}
