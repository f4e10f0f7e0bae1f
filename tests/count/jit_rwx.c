/* New functions again and again at the same and at new addresses of writable code. */
#include "tests/count/jit.h"
#include "tests/count/region.h"
#include <sys/mman.h>

int main(void)
{
	int fd = region_open();
	unsigned char *code = mmap(NULL, 16384, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned x = 1;

	if (code == MAP_FAILED)
		return 77;
	region_begin(fd, 1);
	for (unsigned i = 0; i < 60; i++) {
		unsigned char *at = code + (i * 200) % 12000;

		jit_function(at, i, 20);
		for (int j = 0; j < 5; j++)
			x = ((unsigned (*)(unsigned))at)(x);
	}
	region_end(fd, 1);
	printf("%u\n", x);
	region_print(1);
	return 0;
}
