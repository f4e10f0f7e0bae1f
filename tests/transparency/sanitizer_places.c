/*
 * The addresses that sanitizers have fixed in their code, of compilers that are not at hand too: each place is reserved
 * as a whole, as they do it, and used at both of its ends. A program under pcl shares its address space with pcl.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE 4096ul

static const struct {
	const char *what;
	unsigned long start, size;
} places[] = {
	{"ASan: shadow", 0x7fff8000, 0x100000000000 - 0x10000000},
	{"ASan: allocator, older ones; LSan", 0x600000000000, 0x40000000000 + 16 * PAGE},
	{"ASan: allocator, later ones", 0x500000000000, 0x40000000000 + 256 * PAGE},
	{"TSan: shadow", 0x10000000000, 0xf0000000000},
	{"TSan: meta shadow", 0x300000000000, 0x40000000000},
	{"TSan: heap, older ones", 0x7b0000000000, 0x10000000000},
	{"TSan: heap, later ones", 0x720000000000, 0x10000000000},
	{"MSan: shadow and origins", 0x10000000000, 0x400000000000 - 0x10000000000},
	{"MSan: shadow of the program", 0x500000000000, 0x10000000000},
	{"MSan: origins of the program", 0x600000000000, 0x10000000000},
	{"MSan: allocator", 0x700000000000, 0x40000000000},
	{"MSan: allocator, older ones", 0x701000000000, 0x8000000000},
	{"TySan: shadow", 0x10000000000, 0x540000000000},
	{"NSan: types and shadow", 0x100000000000, 0x300000000000},
	{"Go's heap", 0xc000000000, 0x4000000000},
	{"GHC's heap", 0x4200000000, 0x10000000000},
};

static void use(char *p)
{
	if (mprotect(p, PAGE, PROT_READ | PROT_WRITE))
		printf("  mprotect: %d\n", errno);
	else
		*p = 1;
}

int main(void)
{
	for (unsigned long i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *at = (char *)places[i].start;
		void *p = mmap(at, places[i].size, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

		printf("%s: %s\n", places[i].what, p == at ? "reserved" : "not there");
		if (p != at)
			continue;
		use(at);
		use(at + places[i].size - PAGE);
		munmap(at, places[i].size);
	}
	return 0;
}
