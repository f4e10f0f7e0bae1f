/*
 * A program that asks for addresses below 2 GiB after it has run a while: all of them at last, in any order, so that
 * pcl's code cache moves again and again; and a heap of 1.5 GB, which grows through where it was. Before and after each
 * step the same work is counted.
 */
#include <sys/mman.h>
#include "tests/count/region.h"

#define MIB	  0x100000ul
#define HEAP	  (1536 * MIB)
#define HEAP_STEP (64 * MIB)
#define CALLS	  150

static unsigned long twice(unsigned long x)
{
	return x * 2 + 1;
}

static unsigned long half(unsigned long x)
{
	return x / 2 ^ 5;
}

static unsigned long (*volatile functions[])(unsigned long) = {twice, half, half};

static unsigned long work(unsigned long x)
{
	for (int i = 0; i < CALLS; i++)
		x += functions[(unsigned)i % 3](x) + (x & 1 ? 3 : 1);
	return x;
}

static int failed;

/* The whole range is the program's, and zero. */
static void use(unsigned long start, unsigned long size, void *got)
{
	unsigned char *p = (unsigned char *)start;

	if (got != p) {
		printf("%#lx: %p\n", start, got);
		failed = 1;
		return;
	}
	for (unsigned long i = 0; i < size; i += 16 * MIB) {
		failed |= p[i] | p[i + 4095];
		p[i] = p[i + 4095] = 1;
	}
}

static void map(unsigned long start, unsigned long size, int flags)
{
	use(start, size,
	    mmap((void *)start, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1,
		 0));
}

int main(void)
{
	int fd = region_open();
	unsigned long sum = 1;

	region_begin(fd, 1);
	sum = work(sum);
	map(0x40000000, 16 * MIB, MAP_FIXED);
	sum = work(sum);
	map(0x30000000, 2 * MIB, MAP_FIXED_NOREPLACE);
	sum = work(sum);
	map(0x50000000, 2 * MIB, 0);
	sum = work(sum);
	map(0x60000000, 64 * MIB, MAP_FIXED);
	sum = work(sum);
	munmap((void *)0x40000000, 16 * MIB);
	munmap((void *)0x30000000, 2 * MIB);
	munmap((void *)0x50000000, 2 * MIB);
	munmap((void *)0x60000000, 64 * MIB);
	region_end(fd, 1);
	region_begin(fd, 2);
	for (unsigned long size = 0; size < HEAP; size += HEAP_STEP) {
		char *at = sbrk(0);

		use((unsigned long)at, HEAP_STEP - 4096, sbrk(HEAP_STEP));
		sum = work(sum);
	}
	sbrk(-(long)HEAP);
	sum = work(sum);
	region_end(fd, 2);
	printf("%lu %s\n", sum, failed ? "wrong memory" : "all memory");
	region_print(1);
	region_print(2);
	return failed;
}
