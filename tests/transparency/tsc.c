/*
 * PR_SET_TSC: rdtsc and rdtscp fault, in this thread, its children, and what they execute, until they are allowed
 * again. (A C library reads the counter when it starts.)
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static sigjmp_buf back;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	printf("  signal %d, code %d, address %p\n", signo, info->si_code, info->si_addr);
	siglongjmp(back, 1);
}

/* What the vDSO's clock does, and the runtime's, is their business: natively it may fault. */
static void on_fault_quietly(int signo)
{
	siglongjmp(back, 1);
}

static void read_counter(const char *name)
{
	unsigned int aux;
	int mode = 0;

	printf("%s: prctl %d", name, prctl(PR_GET_TSC, &mode));
	printf(", mode %d\n", mode);
	if (!sigsetjmp(back, 1))
		printf("  rdtsc %d\n", __rdtsc() != 0);
	if (!sigsetjmp(back, 1))
		printf("  rdtscp %d\n", __rdtscp(&aux) != 0);
}

static void ask_for_time(void)
{
	struct timespec ts;

	signal(SIGSEGV, on_fault_quietly);
	for (volatile int i = 0; i < 100; i++)
		if (!sigsetjmp(back, 1))
			clock_gettime(CLOCK_MONOTONIC, &ts);
	sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, NULL);
}

int main(int argc, char **argv)
{
	int status = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, NULL);
	if (argc > 1) {
		read_counter("another program");
		return 0;
	}
	read_counter("at first");
	printf("prctl %d\n", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	read_counter("forbidden");
	ask_for_time();
	if (!fork()) {
		read_counter("a child");
		ask_for_time();
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		_exit(3);
	}
	wait(&status);
	printf("it ends with status %#x\n", status);
	printf("prctl %d\n", prctl(PR_SET_TSC, PR_TSC_ENABLE));
	read_counter("allowed again");
	return 0;
}
