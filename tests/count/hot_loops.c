/*
 * Loops of one block, which are gone round often, so that the translator has them several times over; then left after
 * each small number of rounds, by their branch or by a fault. Flags are live behind one, and throughout another.
 */
#include "tests/count/region.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define LONG 2000
#define SHORT 40

static long recovery;
static unsigned faults;
static char *page;

static void on_fault(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;

	faults += si->si_addr == page + 4096 && sig == SIGSEGV;
	uc->uc_mcontext.gregs[REG_RIP] = recovery;
}

static unsigned long smallest(unsigned long n)
{
	__asm__ volatile(".p2align 4\n1:\tsub $1, %0\n\tjnz 1b" : "+r"(n) : : "cc");
	return n;
}

static unsigned long flags_behind(unsigned long n)
{
	unsigned long sum = 0, i = 0;

	__asm__ volatile("1:\tadd %2, %0\n\tlea 1(%1), %1\n\tcmp %2, %1\n\tjb 1b\n\tadc $5, %0\n\tsetc %b1"
			 : "+r"(sum), "+r"(i)
			 : "r"(n)
			 : "cc");
	return sum + i;
}

static unsigned long flags_throughout(unsigned long n)
{
	unsigned long sum = 0;

	__asm__ volatile("clc\n1:\tadc %1, %0\n\tlea (%0,%0,2), %0\n\tdec %1\n\tjnz 1b\n\tadc $1, %0"
			 : "+r"(sum), "+r"(n)
			 :
			 : "cc");
	return sum;
}

static unsigned long with_memory(unsigned long n)
{
	unsigned long sum = 0, at = 0;

	__asm__ volatile("1:\tadd (%3,%1,8), %0\n\txor %0, (%3,%1,8)\n\tinc %1\n\tand $255, %1\n\tdec %2\n\tjne 1b"
			 : "+r"(sum), "+r"(at), "+r"(n)
			 : "r"(page)
			 : "cc", "memory");
	return sum;
}

/* Reads up to the end of the page and beyond, from n bytes in front of it. */
static unsigned long to_the_fault(unsigned long n)
{
	unsigned long sum = 0, at = (unsigned long)page + 4096 - n;

	__asm__ volatile("lea 2f(%%rip), %%rax\n\tmov %%rax, %2\n\txor %%eax, %%eax\n"
			 "1:\tadd $3, %0\n\tmovzbl (%1), %%eax\n\tadd %%rax, %0\n\tinc %1\n\ttest %1, %1\n\tjnz 1b\n2:"
			 : "+r"(sum), "+r"(at), "=m"(recovery)
			 :
			 : "rax", "cc", "memory");
	return sum + at - (unsigned long)page;
}

static unsigned long all(unsigned long n)
{
	return smallest(n) + flags_behind(n) + flags_throughout(n) * 3 + with_memory(n) * 5 +
	       to_the_fault(n % 4096) * 7;
}

int main(void)
{
	int fd = region_open();
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	unsigned long sum = 0;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page + 4096, 4096, PROT_NONE);
	sigaction(SIGSEGV, &sa, NULL);
	region_begin(fd, 1);
	for (unsigned i = 0; i < 3; i++)
		sum = sum * 3 + all(LONG + i);
	for (unsigned i = 0; i < SHORT * 8; i++)
		sum = sum * 3 + all(1 + i % SHORT);
	region_end(fd, 1);
	printf("%lx %u\n", sum, faults);
	region_print(1);
	return 0;
}
