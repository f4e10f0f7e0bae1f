/*
 * What a handler finds on its stack and in its context, and what it can change there: layout of the frame, vector
 * state, faults with their codes, registers and pc set by the handler, alternate stacks, frames that cannot be built or
 * are bad.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define ALT_SIZE 65536
#define AUTODISARM (1u << 31)

static sigjmp_buf back;
static volatile sig_atomic_t ticks;
static char alternate[ALT_SIZE];

static void on(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = flags | SA_SIGINFO };

	sigaction(sig, &sa, NULL);
}

static void show(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	char *fp = (char *)uc->uc_mcontext.fpregs;
	unsigned *sw = (unsigned *)(fp + 464);

	printf("signal %d code %d uc_flags %lx trap %lld err %llx flags %llx selectors %llx\n", sig, si->si_code,
	       uc->uc_flags, g[REG_TRAPNO], g[REG_ERR], g[REG_EFL] & 0x10d00, g[REG_CSGSFS]);
	printf(" vector: aligned %d at +%ld magic %x size %u %u features %x in use %lx end %x\n",
	       !((unsigned long)fp & 63), (long)(fp - (char *)uc), sw[0], sw[1], sw[4], sw[2],
	       *(unsigned long *)(fp + 512) & 3, *(unsigned *)(fp + sw[4]));
	printf(" handler's stack %lx mask %lx stack flags %x\n", (unsigned long)uc & 15,
	       *(unsigned long *)&uc->uc_sigmask, uc->uc_stack.ss_flags);
}

static void show_and_jump(int sig, siginfo_t *si, void *context)
{
	show(sig, si, context);
	siglongjmp(back, 1);
}

static void show_and_skip(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	show(sig, si, context);
	printf(" address from pc %ld\n", (long)si->si_addr - (long)uc->uc_mcontext.gregs[REG_RIP]);
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void set_registers(int sig, siginfo_t *si, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	g[REG_RAX] = 77;
	g[REG_R11] = 1111;
	g[REG_R12] = 1212;
	g[REG_R15] = 1515;
	g[REG_RIP] += 3;
}

static void faults(void)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long r11, r12, r15;

	on(SIGSEGV, show_and_jump, 0);
	if (!sigsetjmp(back, 1))
		*(volatile int *)0x1234 = 1;
	if (!sigsetjmp(back, 1))
		printf("%d\n", *(volatile int *)0x5678);
	if (!sigsetjmp(back, 1))
		*(volatile char *)page = 1;
	if (!sigsetjmp(back, 1))
		((void (*)(void))0x99)();
	if (!sigsetjmp(back, 1))
		((void (*)(void))page)();
	if (!sigsetjmp(back, 1))
		*(volatile int *)0x8000000000000000 = 1;
	on(SIGILL, show_and_skip, 0);
	__asm__ volatile("xor %%eax, %%eax; ud2" ::: "rax", "cc");
	on(SIGFPE, show_and_skip, 0);
	__asm__ volatile("xor %%ecx, %%ecx; mov $1, %%eax; cltd; idivl %%ecx" ::: "rax", "rcx", "rdx", "cc");
	on(SIGTRAP, show, 0);
	__asm__ volatile("xor %%eax, %%eax; int3" ::: "rax", "cc");
	on(SIGSEGV, set_registers, 0);
	__asm__ volatile("xor %%eax, %%eax; .byte 0x48, 0x8b, 0x00; mov %%r11, %0; mov %%r12, %1; mov %%r15, %2"
			 : "=&r"(r11), "=&r"(r12), "=&r"(r15)::"rax", "r11", "r12", "r15", "cc"); /* mov (%rax), %rax */
	printf("registers %ld %ld %ld\n", r11, r12, r15);
	__asm__ volatile("xor %%eax, %%eax; .byte 0x4c, 0x89, 0x18; mov %%r11, %0"
			 : "=&r"(r11)::"rax", "r11", "r12", "r15", "cc"); /* mov %r11, (%rax) */
	printf("registers %ld\n", r11);
}

static void clobber_vectors(int sig, siginfo_t *si, void *context)
{
	double d = 1;

	for (int i = 1; i < 50; i++)
		d /= i;
	__asm__ volatile("pxor %%xmm7, %%xmm7; pxor %%xmm9, %%xmm9; fninit" ::"x"(d) : "xmm7", "xmm9");
	ticks++;
}

/* Vector registers over 200 handlers that use them. */
static void vectors(void)
{
	struct itimerval it = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	unsigned long in = 0x1234567812345678, out;
	long bad = 0;

	on(SIGALRM, clobber_vectors, 0);
	setitimer(ITIMER_REAL, &it, NULL);
	while (ticks < 200) {
		__asm__ volatile("movq %1, %%xmm7; movq %%xmm7, %%xmm9; mov $2000, %%ecx; 1: dec %%ecx; jnz 1b\n"
				 "movq %%xmm9, %0; movq %%xmm7, %%rcx; xor %%rcx, %0"
				 : "=&r"(out) : "r"(in) : "rcx", "xmm7", "xmm9", "cc");
		bad += out != 0;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	printf("vector registers wrong %ld\n", bad);
}

static void overflowed(int sig, siginfo_t *si, void *context)
{
	char here;

	printf("stack overflow, on alternate stack %d\n", &here >= alternate && &here < alternate + ALT_SIZE);
	siglongjmp(back, 1);
}

static int recurse(int n)
{
	volatile char frame[4096];

	frame[0] = (char)n;
	return n < 0 ? 0 : recurse(n + 1) + frame[0];
}

static void autodisarmed(int sig, siginfo_t *si, void *context)
{
	static char other[20000];
	stack_t now, set = { .ss_sp = other, .ss_size = sizeof(other) };

	sigaltstack(NULL, &now);
	printf("disarmed: flags %x, set again %d\n", now.ss_flags, sigaltstack(&set, NULL));
}

static void stacks(void)
{
	stack_t ss = { .ss_sp = alternate, .ss_size = ALT_SIZE }, now;
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };

	sigaltstack(&ss, NULL);
	setrlimit(RLIMIT_STACK, &limit);
	on(SIGSEGV, overflowed, SA_ONSTACK);
	for (int i = 0; i < 2; i++)
		if (!sigsetjmp(back, 1))
			recurse(0);
	on(SIGUSR1, show, SA_ONSTACK);
	raise(SIGUSR1);
	ss.ss_flags = (int)AUTODISARM;
	sigaltstack(&ss, NULL);
	on(SIGUSR1, autodisarmed, SA_ONSTACK);
	raise(SIGUSR1);
	sigaltstack(NULL, &now);
	printf("armed again: flags %x size %zu\n", now.ss_flags, now.ss_size);
}

/* How a child ends that does fn(). */
static void child(const char *what, void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fn();
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("%s: %x\n", what, status & 0x7f);
}

static void count(int sig, siginfo_t *si, void *context)
{
	ticks++;
}

static void unmapped_stack(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t ss = { .ss_sp = page, .ss_size = 8192 };

	signal(SIGSEGV, SIG_DFL);
	on(SIGUSR1, count, SA_ONSTACK);
	sigaltstack(&ss, NULL);
	munmap(page, 8192);
	raise(SIGUSR1);
}

static void bad_sigreturn(void)
{
	signal(SIGSEGV, SIG_DFL);
	__asm__ volatile("mov $64, %%esp; mov $15, %%eax; syscall" ::: "memory");
}

static void blocked_fault(void)
{
	sigset_t set;

	on(SIGSEGV, count, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*(volatile int *)0 = 1;
}

static void ignored_fault(void)
{
	signal(SIGSEGV, SIG_IGN);
	raise(SIGSEGV);
	*(volatile int *)0 = 1;
}

int main(void)
{
	on(SIGUSR1, show, 0);
	raise(SIGUSR1);
	faults();
	vectors();
	stacks();
	child("alternate stack that is not mapped", unmapped_stack);
	child("frame that is not mapped", bad_sigreturn);
	child("blocked fault", blocked_fault);
	child("ignored fault", ignored_fault);
	return 0;
}
