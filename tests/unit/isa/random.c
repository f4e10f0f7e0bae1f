/*
 * Random and structured bytes, decoded by isa_decode() and by Zydis: valid or not, and every field. Repeatable: the
 * seed is fixed, or argv[1]; argv[2] is the count.
 */
#include <stdlib.h>

#include "tests/unit/isa/oracle.h"
#include "tests/unit/isa/random_insn.h"

#define MAX_BAD 60

/* What ends too early is -1, whatever is behind the end. */
static unsigned check_truncated(const u8 *p)
{
	struct insn in;
	int n = isa_decode(p, ISA_MAX_LEN, &in);

	for (int avail = 1; avail < n; avail++) {
		u8 exact[ISA_MAX_LEN];
		int got;

		memset(exact, rnd(), sizeof(exact));
		memcpy(exact, p, avail);
		got = isa_decode(exact, avail, &in);
		if (got != -1) {
			fprintf(stderr, "%d of %d bytes: %d instead of -1: ", avail, n, got);
			oracle_print(NULL, p, n);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	u64 seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 6000000;
	unsigned bad = 0;
	unsigned n = 0;

	random_seed(seed);
	oracle_init();
	for (; n < rounds && bad < MAX_BAD; n++) {
		u8 bytes[16];

		random_insn(bytes);
		bad += oracle_compare(bytes, ISA_MAX_LEN);
		if (n % 16 == 0)
			bad += check_truncated(bytes);
	}
	printf("%u byte strings, %u differences (seed %llu)\n", n, bad, (unsigned long long)seed);
	return bad ? 1 : 0;
}
