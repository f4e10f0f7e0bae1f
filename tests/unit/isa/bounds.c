/*
 * isa_decode() reads nothing behind the bytes it was given: random instructions, and runs of prefixes, end where a page
 * without access begins. What it reads beyond faults, which ends the test.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "isa/insn.h"
#include "tests/unit/isa/random_insn.h"

#define ROUNDS 1000000

int main(void)
{
	u8 *map = mmap(NULL, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u8 *end = map + PAGE_SIZE;
	unsigned whole = 0, cut = 0;

	if (map == MAP_FAILED || mprotect(end, PAGE_SIZE, PROT_NONE))
		return 77;
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned avail = i & 1 ? ISA_MAX_LEN : 1 + rnd() % ISA_MAX_LEN;
		struct insn in;
		u8 bytes[16];
		int n;

		random_insn(bytes);
		if (i % 16 == 0)
			memset(bytes, i % 32 ? 0x66 : 0x48, 1 + rnd() % 15);
		memcpy(end - avail, bytes, avail);
		n = isa_decode(end - avail, avail, &in);
		if (n > (int)avail) {
			fprintf(stderr, "%d bytes of %u\n", n, avail);
			return 1;
		}
		whole += n > 0;
		cut += n < 0;
	}
	printf("%u whole, %u cut\n", whole, cut);
	return whole && cut ? 0 : 1;
}
