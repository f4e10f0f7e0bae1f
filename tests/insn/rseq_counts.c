/*
 * Instructions of restartable sequences that are given up are counted to the unit. The section is one instruction that
 * counts itself, `loop`: rcx tells how often it was executed. It ends by itself, by a signal, or because the thread was
 * preempted; each case has a number of instructions besides that is always the same, and without a signal it is that of
 * a section that ends by itself.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define ENDLESS (1ul << 40)
#define CASES 100

extern const char abort_handler[], section[];

static volatile int at_abort, elsewhere;
static int fd;
static struct rseq *rs;

static void on_signal(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	const char *rip = (const char *)uc->uc_mcontext.gregs[REG_RIP];
	int abort = rip == abort_handler;

	/* The same instructions whichever it is. */
	at_abort += abort;
	elsewhere += 1 - abort;
}

/* Executes it up to `times` times. Returns how often that was; *given_up. */
static __attribute__((noinline)) unsigned long run(unsigned long times, unsigned long *given_up)
{
	unsigned long left = times;

	__asm__ volatile("	.pushsection __rseq_cs, \"aw\"\n"
			 "	.balign 32\n"
			 "3:	.long 0, 0\n"
			 "	.quad 1f, 2f - 1f, 4f\n"
			 "	.popsection\n"
			 "	lea 3b(%%rip), %%rax\n"
			 "	mov %%rax, 8(%[rs])\n"
			 "section:\n"
			 "1:	loop 1b\n"
			 "2:	jmp 5f\n"
			 "	.byte 0x0f, 0xb9, 0x3d\n"
			 "	.long 0x53053053\n"
			 "abort_handler:\n"
			 "4:	jmp 5f\n"
			 "5:\n"
			 : "+c"(left)
			 : [rs] "r"(rs)
			 : "rax", "cc", "memory");
	*given_up = left != 0;
	return times - left;
}

static unsigned long count(void)
{
	unsigned long n = 0;

	if (read(fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return n;
}

/* Instructions that are not the section's; *given_up. */
static long besides(unsigned long times, unsigned long *given_up)
{
	unsigned long before = count(), done = run(times, given_up);

	return (long)(count() - before - done);
}

/* Preempts the other one now and then. */
static void *busy(void *arg)
{
	for (;;) {
		for (volatile int i = 0; i < 100000; i++)
			;
		usleep(300);
	}
	return NULL;
}

static int one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static int sampled(unsigned period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = period,
		.exclude_kernel = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static int check(unsigned period)
{
	struct itimerval soon = { { 0, 0 }, { 0, 3000 } }, never = { 0 };
	long base = -1, by_signal = -1, kept = 0, preempted = 0, bad = 0;
	unsigned long given_up;

	while (base < 0 || given_up)
		base = besides(20, &given_up);
	for (int i = 0; i < 20000 && kept < CASES; i++) {
		long n;

		at_abort = elsewhere = 0;
		/* the busy one comes each 300 or so: sometimes before it, sometimes after */
		soon.it_value.tv_usec = 100 + i * 37 % 400;
		setitimer(ITIMER_REAL, &soon, NULL);
		n = besides(ENDLESS, &given_up);
		setitimer(ITIMER_REAL, &never, NULL);
		if (elsewhere || at_abort > 1)
			continue;
		if (!at_abort) {
			preempted++;
			bad += n != base;
		} else {
			kept++;
			by_signal = by_signal < 0 ? n : by_signal;
			bad += n != by_signal;
		}
	}
	printf("period %u: besides %ld, with a signal %ld; by signals %ld, preempted %ld, bad %ld\n", period, base,
	       by_signal, kept, preempted, bad);
	return bad || kept < CASES / 2;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
	};
	pthread_t thread;
	int ret, sampling;

	if (!__rseq_size) {
		printf("the C library has not registered a struct rseq\n");
		return 77;
	}
	rs = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	sigaction(SIGALRM, &sa, NULL);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0) {
		printf("instructions cannot be counted\n");
		return 77;
	}
	one_cpu();
	pthread_create(&thread, NULL, busy, NULL);
	ret = check(0);
	sampling = sampled(1000);
	ret |= check(1000);
	close(sampling);
	sampled(50021);
	return ret | check(50021);
}
