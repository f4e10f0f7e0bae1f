/* Every string instruction, with and without prefix, all lengths from 0 on, both directions: one instruction each. */
#include "tests/count/region.h"

static unsigned char a[512], b[512];

#define REP(text, si, di, cx, ax)                                                                  \
	do {                                                                                       \
		void *s_ = (si), *d_ = (di);                                                       \
		unsigned long c_ = (cx), x_ = (ax);                                                \
		__asm__ volatile(text : "+S"(s_), "+D"(d_), "+c"(c_), "+a"(x_) : : "memory", "cc"); \
		sum = sum * 31 + c_ + (unsigned long)((char *)s_ - (char *)a) +                    \
		      (unsigned long)((char *)d_ - (char *)b) + x_;                                \
	} while (0)

int main(void)
{
	int fd = region_open();
	unsigned long sum = 0;

	for (int i = 0; i < 512; i++)
		a[i] = b[i] = i * 7;
	region_begin(fd, 1);
	for (int n = 0; n < 32; n++) {
		REP("rep movsb", a + n, b, n * 3, 0);
		REP("rep movsw", a, b + n, n, 0);
		REP("rep movsl", a, b + 1, n, 0);
		REP("rep movsq", a, b, n, 0);
		REP("rep stosb", a, b, n, n);
		REP("rep stosq", a, b + n, n, n);
		REP("rep lodsb", a, b, n, 0);
		REP("repe cmpsb", a + n, b + n, 50, 0);
		REP("repne cmpsb", a + n, b, 50, 0);
		REP("repne scasb", a, b, 200, n);
		REP("repe scasl", a, b, 5, 0);
		REP("movsb", a, b, n, 0);
		REP("lodsq", a, b, n, 0);
		REP("scasb", a, b, n, 3);
		REP("std; rep movsb; cld", a + 256, b + 255, n * 5, 0);
		REP("std; repne scasb; cld", a, b + 400, 300, n);
	}
	region_end(fd, 1);
	printf("%lx\n", sum);
	region_print(1);
	return 0;
}
