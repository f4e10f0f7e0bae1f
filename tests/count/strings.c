/* The C library's vector string functions, at all alignments. */
#include "tests/count/region.h"
#include <stdlib.h>
#include <wchar.h>

static char a[4096] __attribute__((aligned(4096))), b[4096] __attribute__((aligned(4096)));

int main(void)
{
	int fd = region_open();
	unsigned long sum = 0;

	for (int i = 0; i < 4000; i++)
		a[i] = 'a' + i % 23;
	memcpy(b, a, sizeof(b));
	/* First calls resolve nothing (static), but keep the lazy parts out of the region all the same. */
	region_begin(fd, 1);
	for (int i = 0; i < 40; i++) {
		size_t n = i * i + 1;

		memcpy(b + 2048 - i, a + i, n);
		memmove(a + i, a + i / 2, n);
		sum = sum * 31 + strlen(a + i);
		sum = sum * 31 + (memchr(a + i, 'q', n) != NULL);
		sum = sum * 31 + (strcmp(a + i, b + i) > 0);
		sum = sum * 31 + (memcmp(a + i, b + 2048, n) > 0);
		sum = sum * 31 + (unsigned long)(strrchr(a + i, 'd') - a);
		sum = sum * 31 + strspn(a, "abcdefg");
		sum = sum * 31 + (strstr(a + i, "wab") != NULL);
		memset(b + i, i, n);
		sum = sum * 31 + strnlen(b + i, n);
	}
	region_end(fd, 1);
	printf("%lx\n", sum);
	region_print(1);
	return 0;
}
