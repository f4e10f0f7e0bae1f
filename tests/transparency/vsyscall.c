/*
 * The calls at fixed addresses of before the vDSO: time, gettimeofday and getcpu; addresses that cannot be written;
 * what is there but is no function; a signal that comes meanwhile. Skips where the kernel has none.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SKIP 77
#define AT 0xffffffffff600000ul

static sigjmp_buf back;
static volatile int alarms;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	printf("  signal %d at %llx, rax %llx\n", signo, g[REG_RIP], g[REG_RAX]);
	siglongjmp(back, 1);
}

static void on_alarm(int signo)
{
	alarms++;
}

static long call(unsigned long at, void *a, void *b)
{
	long ret = 5;

	__asm__ volatile("lea -128(%%rsp), %%rsp; call *%3; lea 128(%%rsp), %%rsp"
			 : "+a"(ret), "+D"(a), "+S"(b)
			 : "r"(at)
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
	return ret;
}

static int is_there(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[256];
	int found = 0;

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, "--xp") && strstr(line, "[vsyscall]");
	if (f)
		fclose(f);
	return found;
}

static void try_to(const char *name, unsigned long at, void *a)
{
	printf("%s\n", name);
	if (!sigsetjmp(back, 1))
		printf("  returned %ld\n", call(at, a, NULL));
}

int main(void)
{
	struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	struct timeval before, tv = {0, 0};
	time_t now = 0, wrong = 0;
	unsigned int cpu = 99, node = 99;
	cpu_set_t set;
	long ret;

	if (!is_there())
		return SKIP;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, NULL);
	gettimeofday(&before, NULL);
	ret = call(AT, &tv, NULL);
	printf("gettimeofday %ld, %d\n", ret, !timercmp(&tv, &before, <));
	ret = call(AT + 0x400, &now, NULL);
	printf("time %d, %d\n", ret == now, now >= before.tv_sec);
	ret = call(AT + 0x800, &cpu, &node);
	printf("getcpu %ld, %u, %u\n", ret, cpu, node);
	try_to("gettimeofday to nowhere", AT, (void *)16);
	try_to("time to nowhere", AT + 0x400, (void *)16);
	try_to("behind them", AT + 0xc00, NULL);
	try_to("between them", AT + 1, NULL);
	try_to("behind the page", AT + 0x1000, NULL);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (alarms < 200) {
		memset(&tv, 0, sizeof(tv));
		wrong += call(AT, &tv, NULL) || timercmp(&tv, &before, <);
		before = tv;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%ld went wrong under signals\n", wrong);
	return 0;
}
