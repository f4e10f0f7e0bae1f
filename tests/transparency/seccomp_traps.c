/*
 * System calls that a seccomp filter of the program's turns into SIGSYS: what the handler is told, that it can answer
 * for the kernel, and that a filter that stops calls which the program itself does not make does not disturb it. Skips
 * where no filter can be installed.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SKIP 77
#define TRAP(nr, data)                                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | (data))
#define FIXED_NOREPLACE 0x100000

static volatile int trapped, exact;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	trapped++;
	exact = info->si_code == 1 && info->si_syscall == g[REG_RAX] && info->si_arch == AUDIT_ARCH_X86_64 &&
		info->si_call_addr == (void *)g[REG_RIP];
	g[REG_RAX] = info->si_errno == 5 ? g[REG_RDI] + g[REG_RSI] : -EPERM;
}

static long call(long nr, long a, long b)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return ret;
}

static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		TRAP(SYS_openat, 1), TRAP(SYS_readlinkat, 1), TRAP(SYS_newfstatat, 1), TRAP(SYS_timer_create, 1),
		TRAP(SYS_rt_tgsigqueueinfo, 1), TRAP(SYS_sendto, 1), TRAP(SYS_getpriority, 5), TRAP(SYS_uname, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FIXED_NOREPLACE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 3), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void show(const char *what, long ret)
{
	printf("%s: %ld, trapped %d, exact %d\n", what, ret, trapped, exact);
	trapped = exact = 0;
}

static void show_child(const char *what, int how)
{
	sigset_t set;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		sigemptyset(&set);
		sigaddset(&set, SIGSYS);
		if (how == 1)
			sigprocmask(SIG_BLOCK, &set, NULL);
		else if (how == 2)
			signal(SIGSYS, SIG_IGN);
		else if (how == 3)
			signal(SIGSYS, SIG_DFL);
		if (how < 4)
			call(SYS_uname, 0, 0);
		else
			kill(getpid(), SIGSYS);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("%s: exit %d, signal %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int main(void)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct rusage usage;
	void *memory;
	char *more;

	sigaction(SIGSYS, &act, NULL);
	if (install()) {
		printf("no seccomp filter can be installed here\n");
		return SKIP;
	}
	show("answered by the handler", call(SYS_getpriority, 30, 12));
	show("refused by the handler", call(SYS_uname, 0, 0));
	show("a file", call(SYS_openat, -100, (long)"/dev/null"));
	memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	show("mmap", memory == MAP_FAILED);
	memory = mremap(memory, 1 << 20, 8 << 20, MREMAP_MAYMOVE);
	show("mremap", memory == MAP_FAILED);
	more = malloc(1 << 22);
	more[1 << 20] = 1;
	show("malloc", !more);
	show("getrusage", getrusage(RUSAGE_SELF, &usage));
	show_child("allowed", 0);
	show_child("blocked", 1);
	show_child("ignored", 2);
	show_child("default", 3);
	show_child("sent", 4);
	return 0;
}
