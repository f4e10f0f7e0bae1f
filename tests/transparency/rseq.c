/*
 * rseq(2) and its sections, as far as these are determined: what the system call answers, what handlers of signals that
 * interrupt a section see, and how those die whose descriptor is wrong.
 */
#include <errno.h>
#include <linux/rseq.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "tests/abi/errno/perf.h"

extern const long __rseq_offset;
extern const unsigned int __rseq_size;

#define SIG 0x53053053
#define OTHER 0x21436587

static struct rseq own[2] __attribute__((aligned(64)));

static void call(const char *what, void *area, unsigned len, int flags, unsigned sig)
{
	long ret = syscall(SYS_rseq, area, len, flags, sig);

	printf("%s: %ld %s\n", what, ret, ret ? strerror(errno) : "");
}

static void answers(void)
{
	struct rseq *libc = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	call("again", libc, 32, 0, SIG);
	call("again, another signature", libc, 32, 0, OTHER);
	call("again, another size", libc, 64, 0, SIG);
	call("another area", own, 32, 0, SIG);
	call("unknown flags", libc, 32, 2, SIG);
	call("both flags", libc, 32, 3, SIG);
	call("end, another area", own, 32, RSEQ_FLAG_UNREGISTER, SIG);
	call("end, another size", libc, 64, RSEQ_FLAG_UNREGISTER, SIG);
	call("end, another signature", libc, 32, RSEQ_FLAG_UNREGISTER, OTHER);
	call("end", libc, 32, RSEQ_FLAG_UNREGISTER, SIG);
	printf("cpu_id %d, rseq_cs %llx\n", (int)libc->cpu_id, libc->rseq_cs);
	call("end, none", libc, 32, RSEQ_FLAG_UNREGISTER, SIG);
	call("short", own, 16, 0, OTHER);
	call("not aligned", (char *)own + 8, 32, 0, OTHER);
	call("no memory", gone, 32, 0, OTHER);
	call("no address", (void *)-4096ul, 32, 0, OTHER);
	call("begin", own, 32, 0, OTHER);
	call("begin again", own, 32, 0, OTHER);
}

static void follows_cpu(void)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	for (int c = 0; c < 64; c++) {
		if (!CPU_ISSET(c, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(c, &one);
		sched_setaffinity(0, sizeof(one), &one);
		if ((int)own[0].cpu_id != c || (int)own[0].cpu_id_start != c || sched_getcpu() != c)
			printf("cpu %d: %d\n", c, (int)own[0].cpu_id);
	}
	sched_setaffinity(0, sizeof(all), &all);
}

/*
 * A section that does `body` and has that descriptor at `desc`; rax is 1 at its end and 2 if it was given up.
 */
#define ENTER(name, version, signature, body)                                                                          \
	extern const char name##_abort[], name##_start[], name##_end[];                                                \
	static __attribute__((noinline)) long name(void)                                                               \
	{                                                                                                              \
		long ret;                                                                                              \
                                                                                                                       \
		__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n"                                                    \
				 ".balign 32\n"                                                                        \
				 "3: .long " #version ", 0\n"                                                          \
				 ".quad 1f, 2f - 1f, 4f\n"                                                             \
				 ".popsection\n"                                                                       \
				 "xor %%ecx, %%ecx\n"                                                                  \
				 "mov %%rsp, %%r8\n"                                                                   \
				 "lea 3b(%%rip), %%rax\n"                                                              \
				 "mov %%rax, 8+%[own]\n" #name "_start:\n"                                             \
				 "1: mov $1, %%eax\n" body "2:\n" #name "_end:\n"                                      \
				 "jmp 5f\n"                                                                            \
				 ".byte 0x0f, 0xb9, 0x3d\n"                                                            \
				 ".long " #signature "\n" #name "_abort:\n"                                            \
				 "4: mov $2, %%eax\n"                                                                  \
				 "mov %%r8, %%rsp\n"                                                                   \
				 "5:\n"                                                                                \
				 : "=&a"(ret)                                                                          \
				 : [own] "m"(own[0])                                                                   \
				 : "rcx", "rdx", "rsi", "rdi", "r8", "r11", "cc", "memory");                           \
		return ret;                                                                                            \
	}

ENTER(plain, 0, 0x21436587, "mov $5, %%r11d\n add %%r11, %%rax\n sub $5, %%rax\n")
ENTER(unknown, 0, 0x53053053, "mov $5, %%r11d\n add %%r11, %%rax\n sub $5, %%rax\n")
ENTER(endless, 0, 0x21436587, "6: inc %%rcx\n mov %%rcx, %%r11\n mov %%r11, %%rdx\n jmp 6b\n")
ENTER(reads, 0, 0x21436587, "mov (%%rcx), %%r11\n")
ENTER(writes, 0, 0x21436587, "mov %%r11, 4096(%%rcx)\n")
ENTER(undefined, 0, 0x21436587, "ud2\n")
ENTER(divides, 0, 0x21436587, "div %%ecx\n")
ENTER(calls, 0, 0x21436587,
      "sub $128, %%rsp\n call 6f\n jmp 7f\n 6: mov $39, %%eax\n push %%rax\n pop %%rdx\n ret\n 7: add $128, %%rsp\n "
      "mov $1, %%eax\n")
ENTER(strings, 0, 0x21436587,
      "mov $32, %%ecx\n lea 32+%[own], %%rdi\n lea 32+%[own], %%rsi\n rep movsb\n mov $1, %%eax\n")
ENTER(bad_signature, 0, 0x12345678, "6: inc %%rcx\n jmp 6b\n")
ENTER(bad_version, 1, 0x21436587, "6: inc %%rcx\n jmp 6b\n")

static const char *expected;
static volatile int seen, elsewhere;

/* Signals before the section is entered may come, too. */
static void on_signal(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	if ((const char *)uc->uc_mcontext.gregs[REG_RIP] == expected && !own[0].rseq_cs)
		seen++;
	else
		elsewhere++;
	if (sig != SIGALRM)
		printf("signal %d code %d, si_addr %ld, rax %lld\n", sig, si->si_code,
		       sig == SIGSEGV ? (long)si->si_addr : (long)((char *)si->si_addr - expected),
		       uc->uc_mcontext.gregs[REG_RAX]);
}

static void endless_ones(void)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	long aborts = 0;

	expected = endless_abort;
	setitimer(ITIMER_REAL, &every, NULL);
	while (seen < 20)
		aborts += endless() == 2;
	setitimer(ITIMER_REAL, &never, NULL);
	printf("given up by signals: %d\n", aborts > 0);
}

/* It is executed again until it is not preempted before the fault: the handler is entered each time. */
static void fault(const char *name, long (*section)(void), const char *handler)
{
	expected = handler;
	seen = elsewhere = 0;
	while (!seen && !elsewhere)
		section();
	printf("%s: seen %d, elsewhere %d\n", name, seen, elsewhere);
}

static void dies(const char *name, long (*section)(void))
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		struct itimerval every = { { 0, 2000 }, { 0, 2000 } };

		signal(SIGSEGV, SIG_DFL);
		setitimer(ITIMER_REAL, &every, NULL);
		_exit((int)section());
	}
	waitpid(child, &status, 0);
	printf("%s: status %x\n", name, status);
}

static void children(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		call("after fork", own, 32, 0, OTHER);
		seen = 0;
		endless_ones();
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	child = vfork();
	if (!child) {
		long ret = syscall(SYS_rseq, own + 1, 32, 0, OTHER);

		_exit(ret ? errno : 0);
	}
	int status;
	waitpid(child, &status, 0);
	printf("after vfork: %x\n", status);
}

static void repeat(const char *name, long (*section)(void))
{
	long ones = 0;

	for (int i = 0; i < 10000; i++) {
		long ret;

		while ((ret = section()) == 2)
			;
		ones += ret == 1;
	}
	printf("%s: %ld\n", name, ones);
}

int main(void)
{
	static const int signals[] = { SIGALRM, SIGSEGV, SIGILL, SIGFPE };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	if (!__rseq_size) {
		printf("the C library has not registered a struct rseq\n");
		return 77;
	}
	for (int i = 0; i < 4; i++)
		sigaction(signals[i], &sa, NULL);
	printf("feature size %lu, align %lu\n", getauxval(27), getauxval(28));
	/* The kernel knows libc's: whoever stores to another one is never given up. tcmalloc does so. */
	printf("of another struct rseq: %d\n", unknown() == 1);
	repeat("again", unknown);
	answers();
	follows_cpu();
	repeat("plain", plain);
	repeat("calls", calls);
	repeat("strings", strings);
	endless_ones();
	fault("reads", reads, reads_abort);
	fault("writes", writes, writes_abort);
	fault("undefined", undefined, undefined_abort);
	fault("divides", divides, divides_abort);
	/* Linux 7.0 looks at a descriptor only if the thread is in its section, where it never is under pcl. */
	if (!linux_since(6, 19)) {
		dies("bad signature", bad_signature);
		dies("bad version", bad_version);
	}
	children();
	return 0;
}
