/*
 * Signals at random moments in the middle of all kinds of code. The handler has a fixed number of instructions, taken
 * from one signal that is sent synchronously, so what remains of the region must be the same however often it ran.
 */
#include "tests/count/region.h"
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static volatile int handled;
static char a[256], b[256];

static void on_signal(int sig)
{
	handled++;
}

static __attribute__((noinline)) unsigned leaf(unsigned x)
{
	return x * 5 + 1;
}

static unsigned (*volatile pointer)(unsigned) = leaf;

static __attribute__((noinline)) unsigned work(int rounds)
{
	unsigned x = 1;

	for (int i = 0; i < rounds; i++) {
		x = leaf(x) ^ pointer(x >> 3);
		for (int j = 0; j < 9; j++)
			x += (x << 3) + (j & x ? 1 : 2);
		__asm__ volatile("rep movsb" : : "S"(a), "D"(b), "c"(100L) : "memory");
		__asm__ volatile("push %q0; push %q0; pop %q0; pop %q0" : "+r"(x) : : "memory");
		if (x % 3)
			x /= 3;
	}
	return x;
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The same instructions whatever is sent, but for the handler's. */
static __attribute__((noinline)) void send_signal(int fd, int label, long pid, long sig)
{
	long nr = SYS_kill;

	region_begin(fd, label);
	__asm__ volatile("syscall" : "+a"(nr) : "D"(pid), "S"(sig) : "rcx", "r11", "memory");
	region_end(fd, label);
}

int main(void)
{
	int fd = region_open(), rounds = 400, before;
	struct sigaction sa = { .sa_handler = on_signal };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct itimerspec every = { 0 };
	timer_t timer;
	unsigned x;
	long start, took, pid = getpid();
	sigset_t alarm;

	sigaction(SIGALRM, &sa, NULL);
	send_signal(fd, 1, pid, 0);
	send_signal(fd, 2, pid, SIGALRM);
	if (handled != 1)
		return 1;
	/* An interval that gives a hundred signals or so at whatever speed this runs; at least 20 us. */
	work(10);
	start = now();
	x = work(rounds);
	took = now() - start;
	every.it_interval.tv_nsec = took / 100 < 20000 ? 20000 : took / 100 > 900000000 ? 900000000 : took / 100;
	every.it_value = every.it_interval;
	/* Only inside the region is the signal let in. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) || timer_settime(timer, 0, &every, NULL))
		return 1;
	before = handled;
	region_begin(fd, 3);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	x += work(rounds);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	region_end(fd, 3);
	before = handled - before;
	timer_delete(timer);
	printf("%u\n", x);
	region_print(1);
	region_print(2);
	region_print(3);
	printf("adjust 3 %d 1 2\n", before);
	return 0;
}
