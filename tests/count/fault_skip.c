/*
 * Faults that the handler steps over by changing the context: division by zero, bad access, ud2, hlt; jump to nowhere.
 */
#include "tests/count/region.h"
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

static int seen[65];
static void *recovery;

static void on_fault(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	seen[sig]++;
	uc->uc_mcontext.gregs[REG_RIP] = (long)recovery;
	uc->uc_mcontext.gregs[REG_R15] ^= sig;
}

#define FAULT(text, ...)                                                                             \
	do {                                                                                         \
		register unsigned long r15 __asm__("r15") = sum;                                     \
		__asm__ volatile("lea 9f(%%rip), %%rax\n\tmov %%rax, %1\n\tnop\n\t" text "\n9:"      \
				 : "+r"(r15), "=m"(recovery)                                         \
				 :                                                                   \
				 : "rax", "rcx", "rdx", "r14", "memory", "cc");                      \
		sum = r15 * 3;                                                                       \
	} while (0)

int main(void)
{
	int fd = region_open();
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	unsigned long sum = 1;

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	region_begin(fd, 1);
	for (int i = 0; i < 10; i++) {
		FAULT("xor %%edx, %%edx\n\txor %%ecx, %%ecx\n\tadd $5, %0\n\tdiv %%ecx\n\tadd $9, %0");
		FAULT("xor %%ecx, %%ecx\n\tadd $7, %0\n\tmov (%%rcx), %%rdx\n\tadd $9, %0");
		FAULT("xor %%ecx, %%ecx\n\tinc %0\n\tadd %0, (%%rcx)\n\tadd $9, %0");
		FAULT("add $11, %0\n\tud2\n\tadd $9, %0");
		FAULT("add $13, %0\n\thlt\n\tadd $9, %0");
		FAULT("mov $0x8000000000000000, %%rcx\n\tmov (%%rcx), %%rdx");
		/* faults of the branch target: the branch itself is done and counted */
		FAULT("mov $0x1234, %%ecx\n\tjmp *%%rcx");
		/* faults of the branch: pop of a bad stack is not reached; the memory operand is bad */
		FAULT("xor %%ecx, %%ecx\n\tjmp *(%%rcx)");
		FAULT("xor %%ecx, %%ecx\n\tcall *8(%%rcx)");
		FAULT("mov %%rsp, %%r14\n\txor %%esp, %%esp\n\tmov %%r14, %%rsp\n\tmov %%r14, %%rcx");
		FAULT("movaps 8(%%rsp), %%xmm0\n\tmovaps 16(%%rsp), %%xmm0");
	}
	region_end(fd, 1);
	printf("%lx %d %d %d %d\n", sum, seen[SIGSEGV], seen[SIGFPE], seen[SIGILL], seen[SIGBUS]);
	region_print(1);
	return 0;
}
