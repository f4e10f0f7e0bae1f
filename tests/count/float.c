/* x87, SSE2 and the mathematical library. */
#include "tests/count/region.h"
#include <math.h>

int main(void)
{
	int fd = region_open();
	volatile double x = 0.5;
	volatile long double y = 1.25L;
	volatile float z = 3.0f;

	region_begin(fd, 1);
	for (int i = 0; i < 60; i++) {
		long double t = y;

		__asm__ volatile("fsin; fld1; faddp; fsqrt" : "+t"(t));
		y = t + i;
		x = sin(x) + cos(i) * exp(-x) + pow(1.01, i);
		z = z * 1.5f - sqrtf(z) + (int)z % 7;
	}
	region_end(fd, 1);
	printf("%.12f %.12Lf %f\n", x, y, z);
	region_print(1);
	return 0;
}
