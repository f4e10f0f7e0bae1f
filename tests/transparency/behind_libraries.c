/*
 * Addresses behind a library, as a JIT in one asks for them: the first free 256 MiB in steps of 4 MiB. All are below
 * 2 GiB, or all are above, so that instructions of one length name them.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

#define SIZE 0x10000000ul
#define STEP 0x400000ul
#define SIDE 0x80000000ul

int main(void)
{
	unsigned long at = ((unsigned long)dlsym(RTLD_NEXT, "puts") + STEP - 1) / STEP * STEP;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, tries = 0;

	while (mmap((void *)at, SIZE, PROT_NONE, flags, -1, 0) == MAP_FAILED && ++tries < 500)
		at += STEP;
	printf("%s, %s\n", tries < 500 ? "mapped" : "no room", at < SIDE && at + SIZE > SIDE ? "split" : "on one side");
	return 0;
}
