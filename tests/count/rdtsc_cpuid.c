/* Instructions that a translator may have to treat specially. */
#include "tests/count/region.h"
#include <cpuid.h>
#include <x86intrin.h>

int main(void)
{
	int fd = region_open();
	unsigned a, b, c, d, aux, ok = 0;
	unsigned long flags;

	region_begin(fd, 1);
	for (int i = 0; i < 50; i++) {
		unsigned long t0 = __rdtsc(), t1;

		__cpuid(0, a, b, c, d);
		t1 = __rdtscp(&aux);
		ok += t1 > t0;
		__asm__ volatile("pushf; pop %0; push %0; popf" : "=r"(flags) : : "cc", "memory");
		ok += (flags & 2) != 0;
		_mm_lfence();
		_mm_pause();
	}
	region_end(fd, 1);
	printf("%u\n", ok);
	region_print(1);
	return 0;
}
