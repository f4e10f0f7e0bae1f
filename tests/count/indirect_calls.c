/* Calls through tables, through memory and through registers, from one place to many targets. */
#include "tests/count/region.h"

typedef unsigned fn(unsigned);

#define F(n)                                                   \
	static __attribute__((noinline)) unsigned f##n(unsigned x) \
	{                                                      \
		return x * (2 * n + 1) + n;                    \
	}
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)

static fn *volatile table[16] = { f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15 };

int main(void)
{
	int fd = region_open();
	unsigned x = 1;

	region_begin(fd, 1);
	for (int i = 0; i < 2000; i++)
		x = table[x >> 28](x) ^ (x << 7);
	region_end(fd, 1);
	region_begin(fd, 2);
	for (int i = 0; i < 200; i++) {
		unsigned long ret;

		/* call through memory off the stack pointer, jmp through a register, ret to a pushed address */
		__asm__ volatile("lea 1f(%%rip), %%rax\n\tpush %%rax\n\tcall *(%%rsp)\n\tjmp 3f\n"
				 "1:\tlea 2f(%%rip), %%rax\n\tjmp *%%rax\n2:\tret\n"
				 "3:\tpop %%rax\n\tlea 4f(%%rip), %%rcx\n\tpush %%rcx\n\tret\n4:\tmov %%rax, %0"
				 : "=r"(ret)
				 :
				 : "rax", "rcx", "memory");
		x += ret != 0;
	}
	region_end(fd, 2);
	printf("%u\n", x);
	region_print(1);
	region_print(2);
	return 0;
}
