/*
 * AC: unaligned accesses fault when a program asks for it. DF across calls. pushf shows no trap flag; ID can be
 * toggled.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf env;
static volatile long handler_flags;

static void on_bus(int sig, siginfo_t *si, void *context)
{
	long flags;

	__asm__ volatile("pushfq; pop %0" : "=r"(flags));
	handler_flags = flags;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x40000l;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	static char buffer[64] __attribute__((aligned(16)));
	unsigned long flags;
	int failed = 0;

	(void)env;
	sigaction(SIGBUS, &sa, NULL);
	handler_flags = -1;
	/*
	 * system calls and branches with AC set, then an unaligned access: the handler clears AC, the access is done
	 * again
	 */
	__asm__ volatile("sub $256, %%rsp\n\tpushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\t"
			 "mov $39, %%eax\n\tsyscall\n\tcall 1f\n\tjmp 2f\n1:\tret\n2:\t"
			 "movl $7, 1(%1)\n\tpushfq\n\tpop %0\n\tadd $256, %%rsp"
			 : "=&r"(flags)
			 : "r"(buffer)
			 : "rax", "rcx", "r11", "memory", "cc");
	if (handler_flags == -1 || buffer[1] != 7) {
		printf("no SIGBUS with AC set\n");
		failed = 1;
	}
	if (flags & 0x40000) {
		printf("the handler's change of AC was lost\n");
		failed = 1;
	}
	__asm__ volatile("std\n\tcall 1f\n\tjmp 2f\n1:\tret\n2:\tpushfq\n\tpop %0\n\tcld"
			 : "=r"(flags)
			 :
			 : "memory", "cc");
	if (!(flags & 0x400) || flags & 0x100) {
		printf("flags after a call with DF: %lx\n", flags);
		failed = 1;
	}
	__asm__ volatile("pushfq\n\txorl $0x200000, (%%rsp)\n\tpopfq\n\tpushfq\n\tpop %0\n\tpushfq\n\txorl $0x200000, "
			 "(%%rsp)\n\tpopfq"
			 : "=r"(flags)
			 :
			 : "memory", "cc");
	if (!(flags & 0x200000)) {
		printf("ID cannot be set\n");
		failed = 1;
	}
	return failed;
}
