/* See isa/cpuid.h. */
#include "isa/cpuid.h"
#include "isa/insn.h"

#define LEAF_AVX10	0x24
#define VERSION_BITS	0xffu /* in its ebx */
#define VERSION_DECODED 1u    /* AVX10.1 has the instructions of AVX-512 */
#define AVX10_2		"\x62\xf3\x75\x48\x52\xc2\x00" /* vminmaxps, new in AVX10.2 */

/* asm/hwcap2.h */
#define HWCAP2_RING3MWAIT 1u
#define HWCAP2_FSGSBASE	  2u

enum row_kind { ROW_INSN, ROW_PLAIN };

struct row {
	u32 leaf;
	u8 subleaf, reg, kind, len; /* len: of bytes */
	u32 bits;		    /* ROW_INSN: the one */
	const char *bytes;
};

static const struct row rows[] = {
#define INSN(leaf, subleaf, reg, bit, name, mnemonic, bytes)                                                           \
	{leaf, subleaf, reg, ROW_INSN, sizeof(bytes) - 1, 1u << (bit), bytes},
#define PLAIN(leaf, subleaf, reg, bits)			     {leaf, subleaf, reg, ROW_PLAIN, 0, bits, NULL},
#define HIDE(leaf, subleaf, reg, bit, name, why)	     {leaf, subleaf, reg, ROW_PLAIN, 0, 0, NULL},
#include "isa/features.def"
#undef INSN
#undef PLAIN
#undef HIDE
};

/* Leaves of one table whatever ecx says. */
static bool has_subleaves(u32 leaf)
{
	return leaf == 7 || leaf == 0xd || leaf == 0x14 || leaf == 0x19 || leaf == 0x1e || leaf == LEAF_AVX10;
}

bool isa_knows(const char *bytes, size_t len)
{
	struct insn in;

	return isa_decode((const u8 *)bytes, len, &in) == (int)len;
}

void isa_mask_cpuid(u32 leaf, u32 subleaf, u32 r[4])
{
	u32 shown[4] = {0}, masked = 0;

	if (!has_subleaves(leaf))
		subleaf = 0;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if (row->leaf != leaf || row->subleaf != subleaf)
			continue;
		masked |= 1u << row->reg;
		if (row->kind == ROW_PLAIN || (r[row->reg] & row->bits && isa_knows(row->bytes, row->len)))
			shown[row->reg] |= row->bits;
	}
	for (u32 reg = 0; reg < ARRAY_SIZE(shown); reg++)
		if (masked & 1u << reg)
			r[reg] &= shown[reg];
	if (leaf == LEAF_AVX10 && !subleaf && (r[CPUID_EBX] & VERSION_BITS) > VERSION_DECODED &&
	    !isa_knows(AVX10_2, sizeof(AVX10_2) - 1))
		r[CPUID_EBX] = (r[CPUID_EBX] & ~VERSION_BITS) | VERSION_DECODED;
}

u64 isa_mask_xcr0(u64 components)
{
	u32 r[4] = {[CPUID_EAX] = (u32)components, [CPUID_EDX] = components >> 32};

	isa_mask_cpuid(0xd, 0, r);
	return r[CPUID_EAX] | (u64)r[CPUID_EDX] << 32;
}

/* AT_HWCAP is leaf 1's edx. */
u64 isa_mask_hwcap(u64 word)
{
	u32 r[4] = {[CPUID_EDX] = (u32)word};

	isa_mask_cpuid(1, 0, r);
	return r[CPUID_EDX];
}

/* Bits of the kernel's own. One that is not known may stand for instructions. */
u64 isa_mask_hwcap2(u64 word)
{
	u32 r[4] = {[CPUID_EBX] = 1}; /* fsgsbase */

	isa_mask_cpuid(7, 0, r);
	return word & (HWCAP2_RING3MWAIT | (r[CPUID_EBX] ? HWCAP2_FSGSBASE : 0));
}
