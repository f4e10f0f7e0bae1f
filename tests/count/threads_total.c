/*
 * Two busy threads counted together. The main thread waits in read(2) for the end of a pipe that the threads hold by
 * descriptor tables of their own, so no instruction depends on who is faster.
 */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static char stacks[2][16384] __attribute__((aligned(16)));
static volatile unsigned results[2];

static void body(long n)
{
	unsigned x = n + 5;

	for (int i = 0; i < 3000; i++)
		x = x & 1 ? x * 3 + 1 : x / 2 + n;
	results[n] = x;
}

static long start(long n)
{
	register long r8 __asm__("r8") = 0, r10 __asm__("r10") = 0, r12 __asm__("r12") = n;
	register void (*r13)(long) __asm__("r13") = body;
	long rax = SYS_clone;

	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\tmov %%r12, %%rdi\n\tcall *%%r13\n\t"
			 "mov $60, %%eax\n\txor %%edi, %%edi\n\tsyscall\n1:"
			 : "+a"(rax)
			 : "D"((long)(CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD)), "S"(stacks[n] + 16384),
			   "d"(0L), "r"(r8), "r"(r10), "r"(r12), "r"(r13)
			 : "rcx", "r11", "memory");
	return rax;
}

int main(void)
{
	int p[2];
	char c;

	if (pipe(p) || start(0) < 0 || start(1) < 0)
		return 1;
	close(p[1]);
	if (read(p[0], &c, 1) != 0)
		return 1;
	printf("%u %u\n", results[0], results[1]);
	return 0;
}
