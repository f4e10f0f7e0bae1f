/*
 * What CPUID shows a guest: with a processor that has everything, each feature shown is one whose instruction Zydis
 * decodes, each one hidden is one that Zydis does not know or that pcl does not support. So the table cannot differ
 * from the decoder. Then this processor's own answers.
 */
#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <stdlib.h>

#include "isa/cpuid.h"
#include "isa/insn.h"
#include "tests/unit/unit.h"

static bool shown(u32 leaf, u32 subleaf, u32 reg, u32 bits)
{
	u32 r[4] = {~0u, ~0u, ~0u, ~0u};

	isa_mask_cpuid(leaf, subleaf, r);
	return r[reg] & bits;
}

/*
 * As the name says, or unknown: 0, 1. Another instruction is a mistake in the table: -1. A hint may have been a nop
 * before it got its name.
 */
static int zydis_knows(const char *mnemonic, const char *bytes, size_t len)
{
	ZydisDecoder d;
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	const char *found;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, len, &zi, op)))
		return 0;
	found = ZydisMnemonicGetString(zi.mnemonic);
	if (zi.length == len &&
	    (!strcmp(found, mnemonic) || (!strcmp(found, "nop") && !strncmp(mnemonic, "prefetch", 8))))
		return 1;
	fprintf(stderr, "%s is %s of %u bytes\n", mnemonic, found, zi.length);
	return -1;
}

static void insn(u32 leaf, u32 subleaf, u32 reg, u32 bit, const char *name, const char *mnemonic, const char *bytes,
		 size_t len)
{
	int known = zydis_knows(mnemonic, bytes, len);

	if (shown(leaf, subleaf, reg, 1u << bit) != known)
		fprintf(stderr, "leaf %#x.%u, %s:\n", leaf, subleaf, name);
	expect_long(shown(leaf, subleaf, reg, 1u << bit), known);
	expect_long(isa_knows(bytes, len), known);
}

static void test_rows(void)
{
#define INSN(leaf, subleaf, reg, bit, name, mnemonic, bytes)                                                           \
	insn(leaf, subleaf, reg, bit, name, mnemonic, bytes, sizeof(bytes) - 1);
#define PLAIN(leaf, subleaf, reg, bits)                      expect((bits) == 0 || shown(leaf, subleaf, reg, bits));
#define HIDE(leaf, subleaf, reg, bit, name, why)	     expect(!shown(leaf, subleaf, reg, 1u << (bit)));
#include "isa/features.def"
}

/* Every bit has one row at most. */
static void test_once(void)
{
	static u32 seen[64][4], leaves[64], subleaves[64];
	u32 n = 0;

#define ROW(leaf, subleaf, reg, mask)                                                                                  \
	do {                                                                                                           \
		u32 i = 0;                                                                                             \
		while (i < n && (leaves[i] != (u32)(leaf) || subleaves[i] != (subleaf)))                               \
			i++;                                                                                           \
		n += i == n;                                                                                           \
		leaves[i] = leaf;                                                                                      \
		subleaves[i] = subleaf;                                                                                \
		expect_long(seen[i][reg] & (mask), 0);                                                                 \
		seen[i][reg] |= mask;                                                                                  \
	} while (0);
#undef INSN
#undef PLAIN
#undef HIDE
#define INSN(leaf, subleaf, reg, bit, name, mnemonic, bytes) ROW(leaf, subleaf, reg, 1u << (bit))
#define PLAIN(leaf, subleaf, reg, bits)			     ROW(leaf, subleaf, reg, bits)
#define HIDE(leaf, subleaf, reg, bit, name, why)	     ROW(leaf, subleaf, reg, 1u << (bit))
#include "isa/features.def"
}

/*
 * Tile state needs instructions that Zydis knows, or is not shown; LWP needs some that no processor with a future
 * has.
 */
static void test_state(void)
{
	u64 all = isa_mask_xcr0(~0ul), tile = 3ul << 17, apx = 1ul << 19;

	expect_long(all & 0x2ff, 0x2ff);
	expect_long(all & tile, zydis_knows("tilerelease", "\xc4\xe2\x78\x49\xc0", 5) ? tile : 0);
	expect_long(all & apx, zydis_knows("add", "\xd5\x10\x01\xc0", 4) ? apx : 0);
	expect_long(all & ~(0x2ff | tile | apx | 1ul << 62), 0);
	expect_long(isa_mask_xcr0(7), 7);
	expect_long(isa_mask_hwcap(~0ul), ~0u);
	expect_long(isa_mask_hwcap2(~0ul), 3);
}

static void test_avx10(void)
{
	static const char avx10_2[] = "\x62\xf3\x75\x48\x52\xc2\x00";
	u32 r[4] = {1, 0x00070002, 0, 0};

	isa_mask_cpuid(0x24, 0, r);
	expect_long(r[CPUID_EBX], zydis_knows("vminmaxps", avx10_2, sizeof(avx10_2) - 1) ? 0x00070002 : 0x00070001);
}

/* Words that are not in the table, and ecx where it means nothing. */
static void test_others(void)
{
	u32 r[4] = {1, 2, 3, 4}, s[4] = {~0u, ~0u, ~0u, ~0u};

	isa_mask_cpuid(0x40000000, 0, r);
	expect(r[0] == 1 && r[1] == 2 && r[2] == 3 && r[3] == 4);
	isa_mask_cpuid(1, 12345, s);
	expect(!(s[CPUID_ECX] & 1u << 16));
	expect(s[CPUID_ECX] & 1);
	expect_long(s[CPUID_EDX], ~0u);
}

/*
 * Whatever this processor has that is older than the decoder is shown: code that glibc chooses here is that of a native
 * run.
 */
static void test_this_processor(void)
{
	u32 r[4], old[4];

	__cpuid(1, r[0], r[1], r[2], r[3]);
	memcpy(old, r, sizeof(r));
	isa_mask_cpuid(1, 0, r);
	expect(!memcmp(r, old, sizeof(r)));
	__cpuid(0x80000001, r[0], r[1], r[2], r[3]);
	memcpy(old, r, sizeof(r));
	isa_mask_cpuid(0x80000001, 0, r);
	expect(!memcmp(r, old, sizeof(r)));
}

int main(void)
{
	test_rows();
	test_once();
	test_state();
	test_avx10();
	test_others();
	test_this_processor();
	return unit_result();
}
