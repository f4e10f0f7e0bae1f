/*
 * Writes the decoder's tables (isa/tables.h says what they look like) to standard output. Hosted; needs libZydis.
 *
 * Method: for every opcode of every map and every combination of what may select an instruction (mandatory prefix,
 * REX.W, VEX.L, ModRM, ...) build bytes, let Zydis decode them, turn what it says into a struct isa_desc, and compress
 * the resulting array into a decision tree with as few levels as the opcode needs. Which further uses of fields make an
 * instruction invalid (a vvvv that must be 1111, a mask register that must not be k0, ...) is found by trying them.
 *
 * gen_isa/probe.c asks Zydis, describe.c makes a descriptor of the answer, forms.c tries related forms; this file
 * builds and prints the tables.
 *
 * Everything comes from Zydis except the rules below, each where Zydis has no notion of the question or is imprecise:
 *  1. Kinds (kind_of): a switch over mnemonics.
 *  2. fl_kills (describe_flags): not for shifts, rotates and repeated string instructions, whose count may be 0; AF of
 *     and, or, xor, test (undefined for Intel and AMD, but always 0).
 *  3. Destinations that are read, too, because something of the old value may stay: bsf's and bsr's if the source is
 *     0; rdssp's without shadow stack; sldt's, str's and smsw's where Linux emulates them (UMIP).
 *  4. A prefetch's memory operand is not read. A nop's operands are none: whatever its fields name is not used.
 *  5. ISA_NO_MEM_RM (forms_no_mem_rm): the rm register operand may become a memory operand if Zydis decodes the same
 *     bytes with another mod to the same mnemonic, with the same operands in size, action and order, and if rm is not
 *     written as 32 bits (which also clears the upper half of a register, but not of a memory cell). Never for bt,
 *     bts, btr, btc with a register offset (addresses beyond the operand), xchg, cmpxchg, xadd (atomic with memory),
 *     rol and ror by more than 1 (Intel's processors leave OF as it was, but not those of memory), sldt, str, smsw
 *     (emulated) and 16-bit push and pop.
 *  6. ISA_INT also for what always faults in user mode: privileged instructions, in and out, cli and sti.
 *  7. Weights (weight_of).
 *  8. String instructions move rsi and rdi; Zydis 4.0 forgets it of cmps, scas, ins and outs.
 *  9. vptest, vtestps and vtestpd write all status flags; Zydis 4.0 forgets it.
 * 10. f3 90 with REX.B is xchg with r8, not pause.
 * 11. movdir64b's second memory operand is not at a fixed register but at the one in ModRM's reg field.
 * What Zydis forgets was found by executing instructions (tests/unit/isa/execute.c).
 */
#include <stdio.h>
#include <string.h>

#include "isa/insn.h"
#include "isa/tables.h"
#include "tools/gen_isa/describe.h"
#include "tools/gen_isa/forms.h"
#include "tools/gen_isa/probe.h"

#define MAX_DESC  16384
#define MAX_NODES 0x8000

static struct isa_desc descs[MAX_DESC];
static unsigned ndescs = 2; /* 0 and 1: none */
static u16 nodes[MAX_NODES];
static unsigned nnodes;
static u16 legacy[4][ISA_CTX_COUNT][256];
static u16 prefixed[ISA_ROW_COUNT][256];

/* The place of n descriptors that are equal to d[0..n); adds them if there are none. */
static unsigned intern(const struct isa_desc *d, unsigned n)
{
	for (unsigned i = 2; i + n <= ndescs; i += 2)
		if (!memcmp(&descs[i], d, n * sizeof(*d)))
			return i;
	if (ndescs + 2 > MAX_DESC)
		die("too many descriptors");
	memcpy(&descs[ndescs], d, n * sizeof(*d));
	ndescs += 2;
	return ndescs - 2;
}

/* One dimension of the array that a tree is built from. The first one varies slowest. */
struct dim {
	u8 shift; /* ISA_KEY_* */
	u8 bits;
};

/* The cell that stands for leaf[0 .. product of dims). */
static unsigned build_tree(const u16 *leaf, const struct dim *dim, unsigned ndims)
{
	u16 node[9];
	unsigned size = 1, n, cells;

	for (unsigned i = 0; i < ndims; i++)
		size <<= dim[i].bits;
	n = 1;
	while (n < size && leaf[n] == leaf[0])
		n++;
	if (n == size)
		return leaf[0];
	cells = 1u << dim->bits;
	size >>= dim->bits;
	n = 1;
	while (n < cells && !memcmp(leaf, leaf + n * size, size * sizeof(*leaf)))
		n++;
	if (n == cells)
		return build_tree(leaf, dim + 1, ndims - 1);
	node[0] = dim->shift | (cells - 1) << 8;
	for (unsigned i = 0; i < cells; i++)
		node[1 + i] = build_tree(leaf + i * size, dim + 1, ndims - 1);
	for (unsigned i = 0; i + cells + 1 <= nnodes; i++)
		if (!memcmp(&nodes[i], node, (cells + 1) * sizeof(*node)))
			return ISA_CELL_NODE | i;
	if (nnodes + cells + 1 > MAX_NODES)
		die("too many nodes");
	memcpy(&nodes[nnodes], node, (cells + 1) * sizeof(*node));
	nnodes += cells + 1;
	return ISA_CELL_NODE | (nnodes - cells - 1);
}

/* Fills d for p (whose modrm is set); an invalid one becomes ISA_F_INVALID. */
static bool probe_desc(struct probe p, struct isa_desc *d)
{
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	if (!probe_find(&p, &zi, op)) {
		memset(d, 0, sizeof(*d));
		d->fields = ISA_F_INVALID | ISA_F_MODRM;
		return false;
	}
	describe(&zi, op, d);
	if (p.modrm < 0xc0 && !(zi.attributes & ZYDIS_ATTRIB_HAS_SIB))
		d->fields |= ISA_F_MOD3;
	d->check = forms_checks(&p, &zi, op);
	if (!(d->fields & ISA_F_MODRM))
		return true;
	if (p.modrm >= 0xc0 && (d->attr & ISA_RM_GPR) && forms_no_mem_rm(&p, &zi, op, d))
		d->attr |= ISA_NO_MEM_RM;
	if (p.modrm >= 0xc0 && forms_swap_dir(&p, &zi, op, d))
		d->attr |= ISA_SWAP_DIR;
	if (p.enc == ISA_EVEX && (d->attr & ISA_MEM))
		d->disp8_shift = probe_disp8_shift(&p);
	return true;
}

/* A memory form that every instruction with memory accepts: SIB, no displacement; index 14 (for VSIB) where one can say
 * so. */
static void fill_mem(struct probe *p, unsigned reg)
{
	p->modrm = reg << 3 | 4;
	p->sib = 0x30;
	p->x = p->enc != ISA_LEGACY && p->enc != ISA_3DNOW;
}

/* What distinguishes instructions in one opcode at a glance: whether ModRM's reg and rm do. */
static u64 glance(struct probe p)
{
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	if (!probe_find(&p, &zi, op))
		return 0;
	return 1 | (u64)zi.mnemonic << 1 | (u64)zi.operand_count << 32 | (u64)zi.meta.category << 40;
}

static bool modrm_selects(const struct probe *base)
{
	u64 mem = 0, reg = 0;

	for (unsigned r = 0; r < 8; r++) {
		struct probe p = *base;
		u64 g;

		fill_mem(&p, r);
		g = glance(p);
		if (r && g != mem)
			return true;
		mem = g;
		p = *base;
		for (unsigned rm = 0; rm < 8; rm++) {
			p.modrm = 0xc0 | r << 3 | rm;
			g = glance(p);
			if ((r || rm) && g != reg)
				return true;
			reg = g;
		}
	}
	return false;
}

/* The 64 leaves of one opcode by reg and rm, with everything else fixed. */
static void probe_modrm(const struct probe *base, u16 *leaf)
{
	bool grid = modrm_selects(base);

	for (unsigned reg = 0; reg < 8; reg++)
		for (unsigned rm = 0; rm < 8; rm++, leaf++) {
			struct probe p = *base;
			struct isa_desc d[2];
			bool any;

			if (!grid && (reg || rm)) {
				*leaf = leaf[-1];
				continue;
			}
			/* Not reg 0 and rm 0: some instructions want different registers. */
			p.modrm = grid ? 0xc0 | reg << 3 | rm : 0xc1;
			any = probe_desc(p, &d[1]);
			if (any && !(d[1].fields & ISA_F_MODRM)) {
				*leaf = intern(&d[1], 1);
				continue;
			}
			fill_mem(&p, reg);
			any |= probe_desc(p, &d[0]);
			*leaf = any ? intern(d, 2) : 0;
		}
}

static unsigned legacy_cell(unsigned map, unsigned ctx, unsigned opcode)
{
	static const struct dim dim[] = {
		{ISA_KEY_A32, 1}, {ISA_KEY_B, 1}, {ISA_KEY_R, 1}, {ISA_KEY_REG, 3}, {ISA_KEY_RM, 3}};
	u16 leaf[8 * 64];

	for (unsigned i = 0; i < 8; i++) {
		struct probe p = {.enc = ISA_LEGACY, .map = map, .opcode = opcode};

		p.p66 = !!(ctx & ISA_CTX_66);
		p.w = !!(ctx & ISA_CTX_W);
		p.a32 = i >> 2 & 1;
		p.b = i >> 1 & 1;
		p.r = i & 1;
		p.rep = ctx & ISA_CTX_F3 ? 0xf3 : ctx & ISA_CTX_F2 ? 0xf2 : 0;
		if (map == 0 && opcode == 0x90 && p.b)
			p.rep = 0;
		probe_modrm(&p, leaf + i * 64);
	}
	return build_tree(leaf, dim, ARRAY_SIZE(dim));
}

static unsigned vex_cell(enum isa_enc enc, unsigned map, unsigned opcode)
{
	static const struct dim dim[] = {{ISA_KEY_PP, 2}, {ISA_KEY_W, 1},   {ISA_KEY_LL, 2},
					 {ISA_KEY_BC, 1}, {ISA_KEY_REG, 3}, {ISA_KEY_RM, 3}};
	static u16 leaf[64 * 64];

	for (unsigned i = 0; i < 64; i++) {
		struct probe p = {.enc = enc, .map = map, .opcode = opcode};

		/* VEX and XOP have one bit of L and no b. */
		if (enc != ISA_EVEX && (i & 5)) {
			memcpy(leaf + i * 64, leaf + (i & ~5) * 64, 64 * sizeof(*leaf));
			continue;
		}
		p.pp = i >> 4;
		p.w = i >> 3 & 1;
		p.ll = i >> 1 & 3;
		p.bc = i & 1;
		probe_modrm(&p, leaf + i * 64);
	}
	return build_tree(leaf, dim, ARRAY_SIZE(dim));
}

static unsigned amd3dnow_cell(unsigned suffix)
{
	struct probe p = {.enc = ISA_3DNOW, .map = 1, .opcode = suffix};
	u16 leaf[64];

	probe_modrm(&p, leaf);
	return leaf[0];
}

static void fill_tables(void)
{
	for (unsigned op = 0; op < 256; op++) {
		for (unsigned map = 0; map < 4; map++)
			for (unsigned ctx = 0; ctx < ISA_CTX_COUNT; ctx++)
				legacy[map][ctx][op] = legacy_cell(map, ctx, op);
		for (unsigned map = 1; map <= 3; map++)
			prefixed[ISA_ROW_VEX + map - 1][op] = vex_cell(ISA_VEX, map, op);
		for (unsigned map = 1; map <= 6; map++)
			prefixed[ISA_ROW_EVEX + map - 1][op] = vex_cell(ISA_EVEX, map, op);
		for (unsigned map = 8; map <= 10; map++)
			prefixed[ISA_ROW_XOP + map - 8][op] = vex_cell(ISA_XOP, map, op);
		prefixed[ISA_ROW_3DNOW][op] = amd3dnow_cell(op);
	}
	/* What looks like a pop in the ModRM of 8F but is XOP never gets this far; 0F 0F goes by its suffix. */
	for (unsigned ctx = 0; ctx < ISA_CTX_COUNT; ctx++)
		legacy[1][ctx][0x0f] = 0;
}

static void print_words(const u16 *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		printf("%s%u,", i % 24 ? " " : "\n\t", w[i]);
}

static void print_desc(const struct isa_desc *d)
{
	printf("\t{ 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, %u, %u, %u, %u, %u, %u, %u },\n", d->attr,
	       d->fields, d->check, d->reads, d->writes, d->fl_reads, d->fl_writes, d->fl_kills, d->weight, d->kind,
	       d->opsize, d->rm_size, d->imm_size, d->imm_first, d->disp8_shift);
}

static void print_tables(void)
{
	printf("/* Generated by tools/gen_isa.c from Zydis %u.%u. */\n", ZYDIS_VERSION_MAJOR(ZydisGetVersion()),
	       ZYDIS_VERSION_MINOR(ZydisGetVersion()));
	printf("static const struct isa_desc isa_descs[%u] __attribute__((aligned(64))) = {\n", ndescs);
	for (unsigned i = 0; i < ndescs; i++)
		print_desc(&descs[i]);
	printf("};\n\nstatic const u16 isa_nodes[%u] = {", nnodes);
	print_words(nodes, nnodes);
	printf("\n};\n\nstatic const u16 isa_legacy[4][ISA_CTX_COUNT][256] = {\n");
	for (unsigned map = 0; map < 4; map++) {
		printf("{\n");
		for (unsigned ctx = 0; ctx < ISA_CTX_COUNT; ctx++) {
			printf("{");
			print_words(legacy[map][ctx], 256);
			printf("\n},\n");
		}
		printf("},\n");
	}
	printf("};\n\nstatic const u16 isa_prefixed[ISA_ROW_COUNT][256] = {\n");
	for (unsigned row = 0; row < ISA_ROW_COUNT; row++) {
		printf("{");
		print_words(prefixed[row], 256);
		printf("\n},\n");
	}
	printf("};\n");
}

int main(void)
{
	probe_init();
	fill_tables();
	print_tables();
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
