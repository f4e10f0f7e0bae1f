/*
 * Every instruction of real programs, found by a linear sweep over their .text, decoded by isa_decode() and by Zydis.
 * Prints also how long isa_decode() takes, which decides nothing. Arguments: other files instead.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/isa/oracle.h"

#define MAX_BAD	  50
#define MAX_INSNS 900000 /* of one file: keeps the test in seconds */

static const char *const files[] = {
	"/usr/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libm.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/bin/python3",
	"/usr/bin/bash",
};

static unsigned long checked;
static double decode_ns;

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* The same sweep without the comparison, for the time. */
static void time_sweep(const u8 *p, size_t n)
{
	double start = now_ns();
	unsigned long count = 0;

	for (size_t i = 0; i + ISA_MAX_LEN <= n && count < MAX_INSNS; count++) {
		struct insn in;
		int len = isa_decode(p + i, ISA_MAX_LEN, &in);

		i += len > 0 ? len : 1;
	}
	decode_ns += now_ns() - start;
}

static unsigned sweep(const u8 *p, size_t n)
{
	unsigned long count = 0;
	unsigned bad = 0;

	for (size_t i = 0; i < n && bad < MAX_BAD && count < MAX_INSNS; count++) {
		struct insn in;
		int len;

		bad += oracle_compare(p + i, MIN(n - i, ISA_MAX_LEN));
		len = isa_decode(p + i, MIN(n - i, ISA_MAX_LEN), &in);
		i += len > 0 ? len : 1;
	}
	checked += count;
	time_sweep(p, n);
	return bad;
}

static unsigned check_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	unsigned bad = 0;
	u8 *map;

	if (fd < 0)
		return 0;
	fstat(fd, &st);
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map != MAP_FAILED && st.st_size > sizeof(Elf64_Ehdr) && !memcmp(map, ELFMAG, SELFMAG)) {
		const Elf64_Ehdr *eh = (const void *)map;
		const Elf64_Shdr *sh = (const void *)(map + eh->e_shoff);

		for (unsigned i = 0; i < eh->e_shnum; i++)
			if (sh[i].sh_type == SHT_PROGBITS && (sh[i].sh_flags & SHF_EXECINSTR))
				bad += sweep(map + sh[i].sh_offset, sh[i].sh_size);
	}
	if (map != MAP_FAILED)
		munmap(map, st.st_size);
	return bad;
}

int main(int argc, char **argv)
{
	unsigned bad = 0;

	oracle_init();
	if (argc > 1)
		for (int i = 1; i < argc; i++)
			bad += check_file(argv[i]);
	else
		for (unsigned i = 0; i < ARRAY_SIZE(files); i++)
			bad += check_file(files[i]);
	if (!checked) {
		printf("none of the programs is here\n");
		return 77;
	}
	printf("%lu instructions, %u differences; isa_decode %.1f ns per instruction\n", checked, bad,
	       decode_ns / checked);
	return bad ? 1 : 0;
}
