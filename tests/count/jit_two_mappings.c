/* One memory at two addresses: written through one, executed at the other. */
#include "tests/count/jit.h"
#include "tests/count/region.h"
#include <sys/mman.h>

int main(void)
{
	int fd = region_open(), memfd = memfd_create("code", 0);
	unsigned char *write_at, *run_at;
	unsigned x = 1;

	if (memfd < 0 || ftruncate(memfd, 4096))
		return 1;
	write_at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	run_at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, memfd, 0);
#ifdef CLOSED
	close(memfd);
#endif
	if (run_at == MAP_FAILED)
		return 77;
	region_begin(fd, 1);
	for (unsigned i = 0; i < 40; i++) {
		jit_function(write_at, i, 15);
		for (int j = 0; j < 3; j++)
			x = ((unsigned (*)(unsigned))run_at)(x);
	}
	region_end(fd, 1);
	printf("%u\n", x);
	region_print(1);
	return 0;
}
