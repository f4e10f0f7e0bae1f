/* Code pages that are writable or executable, never both; also unmapped and mapped again. */
#include "tests/count/jit.h"
#include "tests/count/region.h"
#include <sys/mman.h>

int main(void)
{
	int fd = region_open();
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned x = 1;

	region_begin(fd, 1);
	for (unsigned i = 0; i < 40; i++) {
		jit_function(code, i, 15);
		mprotect(code, 4096, PROT_READ | PROT_EXEC);
		for (int j = 0; j < 3; j++)
			x = ((unsigned (*)(unsigned))code)(x);
		if (i % 8 == 7)
			mmap(code, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		else
			mprotect(code, 4096, PROT_READ | PROT_WRITE);
	}
	region_end(fd, 1);
	printf("%u\n", x);
	region_print(1);
	return 0;
}
