/* loop, loope, loopne, jrcxz, jecxz and each of the sixteen conditions, taken and not. */
#include "tests/count/region.h"

#define CONDITION(cc)                                                                        \
	__asm__ volatile("cmp %2, %1\n\tj" cc " 1f\n\tadd $1, %0\n1:\tlea 3(%0), %0"        \
			 : "+r"(sum)                                                         \
			 : "r"(x), "r"(y)                                                    \
			 : "cc")

int main(void)
{
	int fd = region_open();
	unsigned long sum = 0, n;

	region_begin(fd, 1);
	for (unsigned i = 1; i < 60; i++) {
		n = i;
		__asm__ volatile("1: add $2, %0\n\tloop 1b" : "+r"(sum), "+c"(n) : : "cc");
		n = i;
		__asm__ volatile("1: add $3, %0\n\tcmp $20, %1\n\tloopne 1b" : "+r"(sum), "+c"(n) : : "cc");
		n = i;
		__asm__ volatile("1: add $5, %0\n\ttest $0, %b1\n\tloope 1b" : "+r"(sum), "+c"(n) : : "cc");
		n = i & 1;
		__asm__ volatile("jrcxz 1f\n\tadd $7, %0\n1:" : "+r"(sum), "+c"(n) : : "cc");
		n = (unsigned long)i << 32;
		__asm__ volatile("jecxz 1f\n\tadd $9, %0\n1:" : "+r"(sum), "+c"(n) : : "cc");
	}
	region_end(fd, 1);
	region_begin(fd, 2);
	for (long x = -4; x < 5; x++)
		for (long y = -4; y < 5; y++) {
			CONDITION("o"); CONDITION("no"); CONDITION("b"); CONDITION("ae");
			CONDITION("e"); CONDITION("ne"); CONDITION("be"); CONDITION("a");
			CONDITION("s"); CONDITION("ns"); CONDITION("p"); CONDITION("np");
			CONDITION("l"); CONDITION("ge"); CONDITION("le"); CONDITION("g");
		}
	region_end(fd, 2);
	printf("%lu\n", sum);
	region_print(1);
	region_print(2);
	return 0;
}
