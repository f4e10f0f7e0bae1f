/*
 * What a handler sees of a fault: every register, siginfo, the address; for faults in the middle of straight code, at
 * branches, in string instructions, with r15 and RIP-relative operands around.
 * cflags: -static -no-pie
 */
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static sigjmp_buf env;
static unsigned long base;
static char alternate[65536];

static void on_fault(int sig, siginfo_t *si, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	printf(" signal %d code %d addr %lx err %llx trap %lld rip+%llx flags %llx rsp %llx\n", sig, si->si_code,
	       (unsigned long)si->si_addr, sig == SIGSEGV || sig == SIGBUS ? g[REG_ERR] : 0, g[REG_TRAPNO],
	       g[REG_RIP] - base, g[REG_EFL] & 0xcd5, g[REG_RSP] & 15);
	printf(" r8 %llx r9 %llx r10 %llx r11 %llx r12 %llx r13 %llx r14 %llx r15 %llx\n", g[REG_R8], g[REG_R9],
	       g[REG_R10], g[REG_R11], g[REG_R12], g[REG_R13], g[REG_R14], g[REG_R15]);
	printf(" rax %llx rbx %llx rcx %llx rdx %llx rsi %llx rdi %llx\n", g[REG_RAX], g[REG_RBX], g[REG_RCX],
	       g[REG_RDX], g[REG_RSI], g[REG_RDI]);
	siglongjmp(env, 1);
}

#define FAULT(text)                                                                                                    \
	do {                                                                                                           \
		printf("%s\n", text);                                                                                  \
		if (!sigsetjmp(env, 1)) {                                                                              \
			__asm__ volatile(                                                                              \
				"lea 9f(%%rip), %%rax\n\tmov %%rax, %0\n\t"                                            \
				"mov $8, %%r8d\n\tmov $9, %%r9d\n\tmov $10, %%r10d\n\tmov $11, %%r11d\n\t"             \
				"mov $12, %%r12d\n\tmov $13, %%r13d\n\tmov $14, %%r14d\n\tmov $15, %%r15d\n\t"         \
				"mov $1, %%eax\n\tmov $2, %%ebx\n\tmov $3, %%ecx\n\tmov $4, %%edx\n\t"                 \
				"mov $5, %%esi\n\tmov $6, %%edi\n\tcmp $0, %%eax\n9:\t" text                           \
				: "=m"(base)                                                                           \
				:                                                                                      \
				: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",    \
				  "r14", "r15", "memory", "cc");                                                       \
			printf(" no fault\n");                                                                         \
		}                                                                                                      \
	} while (0)

int main(void)
{
	unsigned int a, b, c, d;
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	char *p = mmap((void *)0x7000000000, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		       0);

	mprotect(p + 4096, 4096, PROT_READ);
	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
	sigaction(SIGTRAP, &sa, NULL);
	FAULT("add $1, %%r15; inc %%r14; mov (%%r15), %%rax; inc %%r13");
	FAULT("add $1, %%r15; mov %%r15, 8(%%r15)");
	FAULT("sub $20, %%r14; add %%r15, (%%r14); stc");
	FAULT("xor %%r15d, %%r15d; mov (%%rax,%%r15,8), %%r15");
	FAULT("mov $0, %%eax; cmp %%r15, 0x10(%%rax)");
	FAULT("stc; mov $0, %%esp; push %%r15");
	FAULT("mov $16, %%esp; pop %%r15");
	FAULT("mov $16, %%esp; call 9b");
	FAULT("mov $16, %%esp; ret");
	FAULT("mov $0x123456, %%r15d; jmp *%%r15");
	FAULT("mov $0x123456, %%r15d; call *%%r15");
	FAULT("mov $-4096, %%r15; jmp *%%r15"); /* the kernel's: no word of what is there */
	FAULT("mov $0x7ffffffff000, %%r15; jmp *%%r15");
	FAULT("jmp *8(%%r15)");
	FAULT("call *8(%%r15)");
	FAULT("movabs $0x800000000000, %%r15; mov (%%r15), %%eax");
	/* Not here: jumps to non-canonical addresses, see doc/linux-quirks.md. */
	FAULT("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%rcx");
	FAULT("xor %%edx, %%edx; xor %%r15d, %%r15d; div %%r15");
	FAULT("mov $2, %%edx; mov $1, %%r15d; div %%r15d");
	FAULT("inc %%r15; ud2; inc %%r15");
	FAULT("inc %%r15; hlt");
	FAULT("inc %%r15; int3; nop");
	FAULT("inc %%r15; cli");
	FAULT("inc %%r15; in %%dx, %%al");
	FAULT("mov %%cr0, %%rax");
	FAULT("int $0x81");
	__cpuid(0, a, b, c, d);
	if (b == signature_AMD_ebx) /* Intel's processors have it */
		FAULT("sysenter");
	FAULT("movabs $0x7000000ff0, %%rsi; movabs $0x7000000ff8, %%rdi; mov $64, %%ecx; rep movsb");
	FAULT("movabs $0x7000000ff0, %%rdi; mov $64, %%ecx; rep stosq");
	FAULT("movabs $0x7000001000, %%r15; xadd %%r15, (%%r15)");
	FAULT("movabs $0x7000001000, %%r15; lock cmpxchg %%r15, (%%r15)");
	FAULT("movabs $0x7000001000, %%r15; xchg %%r15, (%%r15)");
	FAULT("movabs $0x7000000ffc, %%r15; movq $-1, (%%r15)");
	FAULT("movaps 1(%%rsp), %%xmm0");
	FAULT("movabs $0x7000000001, %%r15; movaps %%xmm0, (%%r15)");
	FAULT("fldz; movl $0, -8(%%rsp); xor %%ecx, %%ecx; mov (%%rcx), %%rcx");
	printf("%d\n", p[4090]);
	return 0;
}
