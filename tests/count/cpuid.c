/*
 * cpuid and xgetbv in a loop, in a row, with redundant prefixes, and in the middle of blocks: one instruction each,
 * wherever a sample lies.
 */
#include "tests/count/region.h"

static unsigned ask(unsigned leaf, unsigned sub)
{
	unsigned a = leaf, b, c = sub, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return a ^ b ^ c ^ d;
}

static unsigned row(void)
{
	unsigned a = 0, b, c = 0, d;

	__asm__ volatile(
		"cpuid; cpuid; xor %%eax, %%eax; .byte 0x48, 0x0f, 0xa2; xor %%eax, %%eax; .byte 0x66, 0x0f, 0xa2; nop"
		: "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b;
}

static unsigned enabled(void)
{
	unsigned a, d;

	__asm__ volatile("xgetbv; xgetbv; .byte 0x48, 0x0f, 0x01, 0xd0; nop" : "=a"(a), "=d"(d) : "c"(0));
	return a;
}

int main(void)
{
	int fd = region_open();
	unsigned sum = 0, ok = 0;

	region_begin(fd, 1);
	for (unsigned i = 0; i < 200; i++) {
		sum += i;
		ok += ask(0, 0) == ask(0, i);
	}
	region_end(fd, 1);
	region_begin(fd, 2);
	for (unsigned i = 0; i < 50; i++)
		ok += row() == row() && enabled() & 1;
	region_end(fd, 2);
	printf("%u %u\n", sum, ok);
	region_print(1);
	region_print(2);
	return 0;
}
