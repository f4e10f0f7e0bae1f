/*
 * Syscall user dispatch: calls from outside a range, or from within one, raise SIGSYS while the selector says so. What
 * the handler is told, what children inherit, and what ends the program. Skips where the kernel has none.
 */
#include <errno.h>
#include <linux/audit.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define SKIP 77
#define OFF 0
#define EXCLUSIVE 1
#define INCLUSIVE 2

static volatile char selector;
static volatile int raised, exact;
static char *page; /* a function that makes a system call, and returns its result */

static void on_dispatch(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	selector = 0;
	raised++;
	exact = info->si_signo == SIGSYS && info->si_code == 2 && !info->si_errno && info->si_syscall == g[REG_RAX] &&
		info->si_arch == AUDIT_ARCH_X86_64 && info->si_call_addr == (void *)g[REG_RIP] &&
		g[REG_RCX] == g[REG_RIP] && g[REG_R11] == g[REG_EFL];
	g[REG_RAX] = 1000 + g[REG_RAX];
}

static long call(long nr)
{
	return ((long (*)(long))page)(nr);
}

static void set(const char *name, unsigned long mode, unsigned long begin, unsigned long length, volatile char *s)
{
	int ret = prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, begin, length, s);

	printf("%s: %s\n", name, ret ? strerror(errno) : "done");
}

static void try_call(const char *name, char what)
{
	long ret;

	raised = 0;
	selector = what;
	ret = call(SYS_getppid);
	selector = 0;
	printf("  %s: %s, raised %d, exact %d\n", name, ret == 1000 + SYS_getppid ? "dispatched"
	       : ret == getppid()						 ? "served"
										 : "?", raised, exact);
}

static void *thread(void *name)
{
	try_call(name, 1);
	return NULL;
}

/* In a child: what it dies of. */
static void die(const char *name, char what, volatile char *s, int block)
{
	sigset_t set;
	int status;

	fflush(stdout);
	if (!fork()) {
		sigemptyset(&set);
		sigaddset(&set, SIGSYS);
		if (block)
			sigprocmask(SIG_BLOCK, &set, NULL);
		selector = 0;
		prctl(PR_SET_SYSCALL_USER_DISPATCH, EXCLUSIVE, 0, 0, s);
		selector = what;
		call(SYS_getppid);
		_exit(0);
	}
	wait(&status);
	printf("%s: signal %d\n", name, WTERMSIG(status));
}

int main(int argc, char **argv)
{
	static const unsigned char code[] = {0x89, 0xf8, 0x0f, 0x05, 0xc3}; /* mov %edi, %eax; syscall; ret */
	char *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t other;
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	munmap(gone, 4096);
	sigaction(SIGSYS, &(struct sigaction){.sa_sigaction = on_dispatch, .sa_flags = SA_SIGINFO}, NULL);
	if (argc > 1) {
		try_call("another program", 1);
		return 0;
	}
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, OFF, 0, 0, 0))
		return SKIP;
	set("a mode that there is not", 9, 0, 0, NULL);
	set("off with a range", OFF, 1, 1, NULL);
	set("off with a selector", OFF, 0, 0, &selector);
	set("a range that wraps around", EXCLUSIVE, 4096, -4096ul, &selector);
	set("a selector of the kernel's", EXCLUSIVE, 0, 0, (volatile char *)(1ul << 63));
	set("everywhere", EXCLUSIVE, 0, 0, &selector);
	try_call("allowed", 0);
	try_call("blocked", 1);
	pthread_create(&other, NULL, thread, "of another thread");
	pthread_join(other, NULL);
	fflush(stdout);
	if (!fork()) {
		try_call("of a child", 1);
		prctl(PR_SET_SYSCALL_USER_DISPATCH, EXCLUSIVE, 0, 0, &selector);
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		_exit(1);
	}
	wait(&status);
	set("but not from the page", EXCLUSIVE, (uintptr_t)page, 4096, &selector);
	try_call("blocked", 1);
	set("but not from what is in front of its end", EXCLUSIVE, (uintptr_t)page, 4, &selector);
	try_call("blocked", 1); /* the address behind the instruction is compared */
	set("without a selector, but from the page", EXCLUSIVE, 1, (uintptr_t)page - 1, NULL);
	set("from the page only", INCLUSIVE, (uintptr_t)page, 4096, &selector);
	try_call("blocked", 1);
	set("from nowhere", INCLUSIVE, (uintptr_t)page, 0, &selector);
	set("off", OFF, 0, 0, NULL);
	try_call("blocked", 1);
	die("a selector that says something else", 7, &selector, 0);
	die("a selector that is not there", 1, gone, 0);
	die("a blocked signal", 1, &selector, 1);
	return 0;
}
