/*
 * isa_accesses(): addresses, sizes and directions of random instructions' data accesses against Zydis; and by hand,
 * what Zydis does not compute (stack pointers that move, bit offsets, directions of strings). Repeatable: the seed is
 * fixed, or argv[1].
 */
#include <stdlib.h>

#include "isa/address.h"
#include "tests/unit/isa/oracle.h"
#include "tests/unit/isa/random_insn.h"
#include "tests/unit/unit.h"

#define ROUNDS 3000000
#define PC 0x555555554000ul
#define XSAVE_SIZE 832

static struct isa_regs regs;
static unsigned long compared, unknown, bad;

static void random_regs(void)
{
	for (unsigned i = 0; i < 16; i++)
		regs.gpr[i] = (u64)rnd() << 32 | rnd();
	regs.fs = (u64)rnd() << 12;
	regs.gs = (u64)rnd() << 20;
	regs.rflags = one_in(2) ? ISA_DF : 0;
	regs.xsave_size = XSAVE_SIZE;
}

static u64 value_of(ZydisRegister r)
{
	int n = oracle_gpr(r);
	u64 v = n >= 0 ? regs.gpr[n] : 0;

	switch (ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, r)) {
	case 8:
		return (u8)v;
	case 32:
		return (u32)v;
	default:
		return v;
	}
}

static u64 address_of(const struct oracle *o, const ZydisDecodedOperandMem *m)
{
	/* Zydis 4.0 overlooks that r13d with mod 0 means no base, as ebp does. */
	bool no_base = m->base == ZYDIS_REGISTER_R13D && o->zi.raw.modrm.mod == 0;
	s64 disp = no_base ? (s32)o->zi.raw.disp.value : m->disp.value;
	u64 a = (u64)disp + (no_base ? 0 : value_of(m->base)) + value_of(m->index) * m->scale;

	if (m->base == ZYDIS_REGISTER_RIP || m->base == ZYDIS_REGISTER_EIP)
		a += PC + o->zi.length;
	if (o->zi.address_width == 32)
		a = (u32)a;
	return a + (m->segment == ZYDIS_REGISTER_FS ? regs.fs : m->segment == ZYDIS_REGISTER_GS ? regs.gs : 0);
}

/* What Zydis says of addresses is of the registers as they are: not of a stack pointer that moves first. It gives leave
 * a 32-bit rbp by prefix 67, which does not concern the stack. */
static bool address_is_plain(const struct insn *in, const struct oracle *o, const ZydisDecodedOperandMem *m)
{
	bool bit_test = in->enc == ISA_LEGACY && in->map == 1 && (in->opcode & 0xe7) == 0xa3;
	bool by_stack = (m->base == ZYDIS_REGISTER_RSP && (in->attr & ISA_STACK)) || oracle_is(o, "leave");

	return !bit_test && !by_stack && !oracle_is(o, "clzero") && !oracle_is(o, "movdir64b") && !oracle_is(o, "xlat");
}

/* Zydis gives no size, or that of one part. */
static bool size_is_known(const struct oracle *o, const ZydisDecodedOperand *op)
{
	return op->size && strncmp(ZydisMnemonicGetString(o->zi.mnemonic), "xsave", 5) &&
	       strncmp(ZydisMnemonicGetString(o->zi.mnemonic), "xrstor", 6) && op->size / 8 <= 255;
}

static void differs(const char *what, const u8 *bytes, const struct oracle *o, u64 got, u64 want)
{
	fprintf(stderr, "%s %#llx, should be %#llx: ", what, (unsigned long long)got, (unsigned long long)want);
	oracle_print(o, bytes, o->zi.length);
	bad++;
}

static bool same_directions(const struct isa_access *a, const ZydisDecodedOperand *op)
{
	bool reads = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
	     writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	return a->read == reads && a->write == writes;
}

/* Each memory operand that Zydis has must be one of ours; the same in number. */
static void compare(const u8 *bytes, const struct insn *in, const struct oracle *o)
{
	struct isa_access a[ISA_ACCESSES];
	int n = isa_accesses(in, PC, &regs, a), seen = 0;

	if (n < 0) {
		unknown++;
		return;
	}
	for (unsigned i = 0; i < o->zi.operand_count; i++) {
		const ZydisDecodedOperand *op = &o->op[i];
		const struct isa_access *found = NULL;

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type != ZYDIS_MEMOP_TYPE_MEM || !op->actions)
			continue;
		for (int k = 0; k < n && !found; k++)
			if (same_directions(&a[k], op) &&
			    (!address_is_plain(in, o, &op->mem) || a[k].addr == address_of(o, &op->mem)))
				found = &a[k];
		seen++;
		if (!found)
			differs("no such access", bytes, o, n ? a[0].addr : 0, address_of(o, &op->mem));
		else if (size_is_known(o, op) && found->size != op->size / 8)
			differs("size", bytes, o, found->size, op->size / 8);
	}
	if (seen != n)
		differs("accesses", bytes, o, (u64)n, (u64)seen);
	compared += n > 0;
}

static void random_instructions(u64 seed)
{
	random_seed(seed);
	oracle_init();
	for (unsigned n = 0; n < ROUNDS && bad < 40; n++) {
		u8 bytes[16];
		struct insn in;
		struct oracle o;

		random_insn(bytes);
		if (isa_decode(bytes, ISA_MAX_LEN, &in) <= 0 || !oracle_decode(bytes, ISA_MAX_LEN, &o))
			continue;
		/* Zydis has no operand for what enqcmd writes. */
		if (in.kind == ISA_FAR || oracle_is(&o, "enqcmd") || oracle_is(&o, "enqcmds") ||
		    !(in.attr & (ISA_LOAD | ISA_STORE)))
			continue;
		random_regs();
		compare(bytes, &in, &o);
	}
	expect_long(bad, 0);
	expect(compared > ROUNDS / 20);
	expect(unknown < compared / 10);
}

struct want {
	u64 addr;
	u32 size;
	const char *how; /* r, w or rw */
};

static void fact(const char *bytes, unsigned len, int n, struct want first, struct want second)
{
	struct isa_access a[ISA_ACCESSES];
	struct insn in;
	u8 code[ISA_MAX_LEN] = {0};

	memcpy(code, bytes, len);
	expect_long(isa_decode(code, len, &in), len);
	expect_long(isa_accesses(&in, PC, &regs, a), n);
	for (int i = 0; i < n; i++) {
		const struct want *w = i ? &second : &first;

		expect_long(a[i].addr, w->addr);
		expect_long(a[i].size, w->size);
		expect_long(a[i].read, !!strchr(w->how, 'r'));
		expect_long(a[i].write, !!strchr(w->how, 'w'));
	}
}

#define SP 0x7000ul
#define BP 0x7100ul
static const struct want none;

static void facts(void)
{
	memset(&regs, 0, sizeof(regs));
	regs.xsave_size = XSAVE_SIZE;
	regs.gpr[4] = SP;
	regs.gpr[5] = BP;
	regs.gpr[3] = 0x2000;
	regs.gpr[0] = 0x1ff;
	fact("\x50", 1, 1, (struct want){SP - 8, 8, "w"}, none);		      /* push %rax */
	fact("\x66\x50", 2, 1, (struct want){SP - 2, 2, "w"}, none);		      /* push %ax */
	fact("\x6a\x01", 2, 1, (struct want){SP - 8, 8, "w"}, none);		      /* push $1 */
	fact("\x58", 1, 1, (struct want){SP, 8, "r"}, none);			      /* pop %rax */
	fact("\xff\x33", 2, 2, (struct want){0x2000, 8, "r"}, (struct want){SP - 8, 8, "w"}); /* push (%rbx) */
	fact("\xff\x34\x24", 3, 2, (struct want){SP, 8, "r"}, (struct want){SP - 8, 8, "w"}); /* push (%rsp) */
	fact("\x8f\x04\x24", 3, 2, (struct want){SP, 8, "r"}, (struct want){SP + 8, 8, "w"}); /* pop (%rsp) */
	fact("\xe8\0\0\0\0", 5, 1, (struct want){SP - 8, 8, "w"}, none);	      /* call */
	fact("\xff\x13", 2, 2, (struct want){0x2000, 8, "r"}, (struct want){SP - 8, 8, "w"}); /* call *(%rbx) */
	fact("\xff\xd3", 2, 1, (struct want){SP - 8, 8, "w"}, none);		      /* call *%rbx */
	fact("\xc3", 1, 1, (struct want){SP, 8, "r"}, none);			      /* ret */
	fact("\xc9", 1, 1, (struct want){BP, 8, "r"}, none);			      /* leave */
	fact("\xc8\x10\0\0", 4, 1, (struct want){SP - 8, 8, "w"}, none);	      /* enter $16, $0 */
	fact("\x9c", 1, 1, (struct want){SP - 8, 8, "w"}, none);		      /* pushf */
	fact("\xd7", 1, 1, (struct want){0x20ff, 1, "r"}, none);		      /* xlat */
	fact("\x48\x0f\xc7\x0b", 4, 1, (struct want){0x2000, 16, "rw"}, none);       /* cmpxchg16b (%rbx) */
	fact("\x0f\xae\x03", 3, 1, (struct want){0x2000, 512, "w"}, none);	      /* fxsave (%rbx) */
	fact("\x0f\xae\x23", 3, 1, (struct want){0x2000, XSAVE_SIZE, "rw"}, none);   /* xsave (%rbx) */
	fact("\x48\x8d\x03", 3, 0, none, none);				      /* lea (%rbx), %rax */
	fact("\x0f\x1f\x03", 3, 0, none, none);				      /* nop (%rbx) */
	fact("\x48\x0f\xa3\x03", 4, 1, (struct want){0x2038, 8, "r"}, none);	      /* bt %rax, (%rbx): bit 511 */
	regs.gpr[0] = -1ul;
	fact("\x0f\xab\x03", 3, 1, (struct want){0x1ffc, 4, "rw"}, none);	      /* bts %eax, (%rbx): bit -1 */
	fact("\xc4\xe2\x71\x90\x04\x13", 6, -1, none, none);			      /* vpgatherdd */
}

static void strings(void)
{
	static const u8 rep_movsq[] = {0xf3, 0x48, 0xa5}, movsb[] = {0xa4};
	struct isa_access a[ISA_ACCESSES];
	struct insn in;

	memset(&regs, 0, sizeof(regs));
	regs.gpr[1] = 100;
	regs.gpr[6] = 0x3000;
	regs.gpr[7] = 0x4000;
	regs.rflags = ISA_DF;
	expect_long(isa_decode(rep_movsq, 3, &in), 3);
	expect_long(isa_accesses(&in, PC, &regs, a), 2);
	expect(a[0].addr == 0x3000 && a[0].read && !a[0].write && a[0].count == 100 && a[0].step == -8 &&
	       a[0].size == 8);
	expect(a[1].addr == 0x4000 && !a[1].read && a[1].write && a[1].count == 100 && a[1].step == -8 &&
	       a[1].size == 8);
	regs.rflags = 0;
	expect_long(isa_decode(movsb, 1, &in), 1);
	expect_long(isa_accesses(&in, PC, &regs, a), 2);
	expect(a[0].count == 1 && a[0].step == 1 && a[1].size == 1);
}

int main(int argc, char **argv)
{
	facts();
	strings();
	random_instructions(argc > 1 ? strtoull(argv[1], NULL, 0) : 1);
	return unit_result();
}
