/* Repeatable random instructions for this room's tests: prefixes, opcode map, opcode and ModRM chosen so that most are
 * valid. */
#ifndef TESTS_UNIT_ISA_RANDOM_INSN_H
#define TESTS_UNIT_ISA_RANDOM_INSN_H

#include "abi/types.h"

static u64 random_state = 1;

static inline void random_seed(u64 seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
}

static inline u32 rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 16;
}

static inline bool one_in(unsigned n)
{
	return rnd() % n == 0;
}

static inline unsigned random_prefixes(u8 *p)
{
	static const u8 prefix[] = {0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x64, 0x65, 0x2e,
				    0x36, 0x3e, 0x26, 0x66, 0xf2, 0xf3, 0x66, 0x48};
	unsigned n = 0;

	while (n < 14 && one_in(n ? 3 : 2))
		p[n++] = prefix[rnd() % sizeof(prefix)];
	return n;
}

static inline unsigned random_legacy(u8 *p)
{
	unsigned n = 0;
	unsigned map = rnd() & 3;

	if (one_in(2))
		p[n++] = 0x40 | (rnd() & 15);
	if (map)
		p[n++] = 0x0f;
	if (map > 1)
		p[n++] = map == 2 ? 0x38 : 0x3a;
	p[n++] = rnd();
	return n;
}

/* VEX, EVEX and XOP. Fields that most instructions want to be one value mostly have it. */
static inline unsigned random_vector(u8 *p)
{
	unsigned v = one_in(3) ? rnd() & 15 : 15;
	unsigned pp = rnd() & 3;
	unsigned n = 0;

	switch (rnd() % 6) {
	case 0:
		p[n++] = 0xc5;
		p[n++] = (rnd() & 0x84) | v << 3 | pp;
		break;
	case 1:
	case 2:
		p[n++] = 0xc4;
		p[n++] = (rnd() & 0xe0) | (one_in(20) ? rnd() & 31 : 1 + rnd() % 3);
		p[n++] = (rnd() & 0x84) | v << 3 | pp;
		break;
	case 3:
		p[n++] = 0x8f;
		p[n++] = (rnd() & 0xe0) | (8 + rnd() % (one_in(20) ? 24 : 3));
		p[n++] = (rnd() & 0x84) | v << 3 | (one_in(10) ? pp : 0);
		break;
	default:
		p[n++] = 0x62;
		p[n++] = (rnd() & 0xf0) | (one_in(20) ? rnd() & 15 : 1 + rnd() % 6);
		p[n++] = (rnd() & 0x80) | (one_in(30) ? 0 : 4) | v << 3 | pp;
		p[n++] = (rnd() & 0x77) | (one_in(3) ? rnd() & 0x88 : 8);
		break;
	}
	p[n++] = rnd();
	return n;
}

/* 16 bytes. One in eight is plain noise. */
static inline void random_insn(u8 *p)
{
	unsigned kind = rnd() % 8;
	unsigned n = 0;

	for (unsigned i = 0; i < 16; i++)
		p[i] = rnd();
	if (kind == 0)
		return;
	if (kind < 5) {
		n = random_prefixes(p);
		n += random_legacy(p + (n < 11 ? n : 0));
	} else {
		n = one_in(8) ? random_prefixes(p) : 0;
		n += random_vector(p + (n < 10 ? n : 0));
	}
	if (n < 15 && one_in(3))
		p[n] = (p[n] & 0x38) | 4;
	if (n < 15 && one_in(8))
		p[n] = (p[n] & 0x38) | 5;
}

#endif
