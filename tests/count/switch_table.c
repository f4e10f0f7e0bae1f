/* A dense switch: the compiler's jump table. */
#include "tests/count/region.h"

static __attribute__((noinline)) unsigned step(unsigned op, unsigned x)
{
	switch (op) {
	case 0: return x + 1;
	case 1: return x * 3;
	case 2: return x ^ 0x55;
	case 3: return x >> 1;
	case 4: return x << 3;
	case 5: return ~x;
	case 6: return x - 7;
	case 7: return x | 0x100;
	case 8: return x % 1000003;
	case 9: return x / 3;
	case 10: return x & 0xffffff;
	case 11: return __builtin_popcount(x) + x;
	default: return 12345;
	}
}

int main(void)
{
	int fd = region_open();
	unsigned x = 99;

	region_begin(fd, 1);
	for (unsigned i = 0; i < 3000; i++)
		x = step((i * 7 + (x & 3)) % 13, x);
	region_end(fd, 1);
	printf("%u\n", x);
	region_print(1);
	return 0;
}
