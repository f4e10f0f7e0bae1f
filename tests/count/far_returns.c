/*
 * lret and iret in a loop and in the middle of blocks: one instruction, one branch, one return each, wherever a
 * sample lies.
 */
#include "tests/count/region.h"

static unsigned far_return(unsigned n)
{
	__asm__ volatile(
		"mov %%rsp, %%r15; sub $256, %%rsp; mov %%cs, %%r8d; push %%r8; lea 1f(%%rip), %%rax; push %%rax; "
		"inc %0; lretq; ud2; 1: inc %0; mov %%r15, %%rsp"
		: "+r"(n)::"rax", "r8", "r15", "cc", "memory");
	return n;
}

static unsigned interrupt_return(unsigned n)
{
	__asm__ volatile(
		"mov %%rsp, %%r15; sub $256, %%rsp; mov %%cs, %%r8d; mov %%ss, %%r9d; push %%r9; push %%r15; "
		"pushfq; push %%r8; lea 1f(%%rip), %%rax; push %%rax; iretq; ud2; 1: inc %0; pushfq; popfq; inc %0"
		: "+r"(n)::"rax", "r8", "r9", "r15", "cc", "memory");
	return n;
}

int main(void)
{
	int fd = region_open();
	unsigned n = 0;

	region_begin(fd, 1);
	for (unsigned i = 0; i < 300; i++)
		n = far_return(n);
	region_end(fd, 1);
	region_begin(fd, 2);
	for (unsigned i = 0; i < 300; i++)
		n = interrupt_return(far_return(n)) + i % 3;
	region_end(fd, 2);
	printf("%u\n", n);
	region_print(1);
	region_print(2);
	return 0;
}
