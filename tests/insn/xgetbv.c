/*
 * What xgetbv, the auxiliary vector and CPUID say of the processor agrees; which registers xgetbv writes, and that it
 * faults as natively.
 */
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#define GARBAGE 0x5a5a5a5a5a5a5a5aul

static sigjmp_buf back;
static volatile uintptr_t faulted_at;
static int failed;

static void fail(const char *what, unsigned long seen)
{
	printf("%s: %lx\n", what, seen);
	failed = 1;
}

static void on_fault(int signo, siginfo_t *info, void *uc)
{
	faulted_at = info->si_code == SI_KERNEL ? (uintptr_t)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP] : 0;
	siglongjmp(back, signo);
}

extern char instruction[];

static uint64_t __attribute__((noinline, noclone)) xgetbv(uint64_t ecx)
{
	uint64_t a = GARBAGE, d = GARBAGE, c = ecx, flags[2];

	__asm__ volatile("stc; pushf; pop %3\n.globl instruction\ninstruction: xgetbv\n\tpushf; pop %4"
			 : "+a"(a), "+c"(c), "+d"(d), "=r"(flags[0]), "=r"(flags[1])
			 :
			 : "cc");
	if (a >> 32 || d >> 32 || c != ecx || flags[0] != flags[1])
		fail("registers that xgetbv leaves", a >> 32 | d >> 32);
	return a | d << 32;
}

static int fault_of(uint64_t ecx)
{
	int signo = sigsetjmp(back, 1);

	if (!signo)
		xgetbv(ecx);
	return signo;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned a, b, c, d;
	uint64_t enabled;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE)) {
		puts("no XSAVE");
		return 77;
	}
	if (getauxval(AT_HWCAP) & ~(unsigned long)d)
		fail("AT_HWCAP", getauxval(AT_HWCAP));
	__cpuid_count(7, 0, a, b, c, d);
	if (getauxval(AT_HWCAP2) & 2 && !(b & bit_FSGSBASE))
		fail("AT_HWCAP2", getauxval(AT_HWCAP2));
	enabled = xgetbv(0);
	__cpuid_count(0xd, 0, a, b, c, d);
	if ((enabled & 3) != 3 || enabled & ~(a | (uint64_t)d << 32))
		fail("XCR0", enabled);
	for (uint64_t i = 1; i < 1000; i++)
		if (xgetbv(i << 32) != enabled)
			fail("only ecx counts", xgetbv(i << 32));
	sigaction(SIGSEGV, &sa, NULL);
	__cpuid_count(0xd, 1, a, b, c, d);
	if (a & 4) {
		__asm__ volatile("fninit; fld1; pxor %%xmm0, %%xmm0; pcmpeqd %%xmm0, %%xmm0" ::: "xmm0");
		if ((xgetbv(1) & 3) != 3 || xgetbv(1) & ~enabled)
			fail("state in use", xgetbv(1));
		__asm__ volatile("fstp %st(0)");
	} else if (fault_of(1) != SIGSEGV) {
		fail("no fault", 1);
	}
	for (uint64_t ecx = 2; ecx < 0x100000000; ecx = ecx * 3 + 1) {
		faulted_at = 0;
		if (fault_of(ecx) != SIGSEGV || faulted_at != (uintptr_t)instruction)
			fail("no fault, or another", ecx);
	}
	return failed;
}
