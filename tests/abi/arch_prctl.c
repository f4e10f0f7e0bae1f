/*
 * Features of the processor that a program asks the kernel for: shadow stacks, which a kernel may be built without, and
 * cpuid that faults. Answers are those of such a kernel; the program runs on as it was.
 */
#include <cpuid.h>
#include <sys/syscall.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "tests/abi/errno/perf.h"

#define SHSTK_ENABLE	     0x5001
#define SHSTK_STATUS	     0x5005
#define GET_CPUID	     0x1011
#define SET_CPUID	     0x1012
#define NR_map_shadow_stack 453

static long result(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* Natively the kernel may have them: then there is nothing to compare with. */
static void test_shadow_stacks(void)
{
	unsigned long status = 0;

	if (result(syscall(SYS_arch_prctl, SHSTK_STATUS, &status)) == 0)
		exit(77);
	for (int code = SHSTK_ENABLE; code <= SHSTK_STATUS; code++)
		expect(result(syscall(SYS_arch_prctl, code, 1)), -EINVAL);
	expect(result(syscall(NR_map_shadow_stack, 0, 4096, 0)), -ENOSYS);
}

static sigjmp_buf back;

static void on_segv(int signo, siginfo_t *info, void *context)
{
	siglongjmp(back, info->si_code);
}

static int cpuid_faults(void)
{
	unsigned a, b, c, d;
	int code = sigsetjmp(back, 1);

	if (!code)
		__cpuid(0, a, b, c, d);
	return code;
}

static void test_cpuid_faults(void)
{
	struct sigaction sa = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO};
	int status;

	sigaction(SIGSEGV, &sa, NULL);
	expect(syscall(SYS_arch_prctl, GET_CPUID, 0), 1);
	expect(cpuid_faults(), 0);
	if (result(syscall(SYS_arch_prctl, SET_CPUID, 0)) == -ENODEV) /* the processor cannot */
		return;
	expect(syscall(SYS_arch_prctl, GET_CPUID, 0), 0);
	expect(cpuid_faults(), SI_KERNEL);
	if (!fork())
		_exit(cpuid_faults() != SI_KERNEL);
	wait(&status);
	expect(status, 0);
	expect(result(syscall(SYS_arch_prctl, SET_CPUID, 1)), 0);
	expect(cpuid_faults(), 0);
}

int main(void)
{
	test_shadow_stacks();
	test_cpuid_faults();
	return perf_result();
}
