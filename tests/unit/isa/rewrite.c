/*
 * isa_rename() and isa_set_mem() on random instructions: the result, decoded by Zydis, must be the same instruction
 * with the same operands but for the register or the address that was to change.
 */
#include <stdlib.h>

#include "tests/unit/isa/oracle.h"
#include "tests/unit/isa/random_insn.h"

#define ROUNDS	4000000
#define MAX_BAD 40

static unsigned bad;
static unsigned long renamed, rename_refused, moved, move_refused, made_memory;

static void wrong(const char *what, const u8 *from, const u8 *to, unsigned len)
{
	struct oracle o;

	fprintf(stderr, "%s\n  ", what);
	oracle_print(oracle_decode(from, ISA_MAX_LEN, &o) ? &o : NULL, from, ISA_MAX_LEN);
	fprintf(stderr, "  ");
	oracle_print(oracle_decode(to, ISA_MAX_LEN, &o) ? &o : NULL, to, len);
	bad++;
}

/* The base register decides whether the default is ds or ss, which means nothing in 64-bit mode. */
static bool same_segment(ZydisRegister a, ZydisRegister b)
{
	bool default_a = a != ZYDIS_REGISTER_FS && a != ZYDIS_REGISTER_GS;
	bool default_b = b != ZYDIS_REGISTER_FS && b != ZYDIS_REGISTER_GS;

	return a == b || (default_a && default_b);
}

/* Whether register b is where register a was. Implicit operands keep theirs. */
static bool same_register(const ZydisDecodedOperand *op, ZydisRegister a, ZydisRegister b, unsigned from, unsigned to)
{
	if (op->encoding != ZYDIS_OPERAND_ENCODING_NONE && oracle_gpr(a) == (int)from)
		return oracle_gpr(b) == (int)to && ZydisRegisterGetClass(a) == ZydisRegisterGetClass(b);
	return a == b;
}

/* Whether b is a with `from` replaced by `to` in explicit operands. */
static bool same_but_renamed(const struct oracle *a, const struct oracle *b, unsigned from, unsigned to)
{
	if (a->zi.mnemonic != b->zi.mnemonic || a->zi.operand_count != b->zi.operand_count)
		return false;
	for (unsigned i = 0; i < a->zi.operand_count; i++) {
		const ZydisDecodedOperand *x = &a->op[i], *y = &b->op[i];

		if (x->type != y->type || x->size != y->size || x->actions != y->actions)
			return false;
		if (x->type == ZYDIS_OPERAND_TYPE_REGISTER && !same_register(x, x->reg.value, y->reg.value, from, to))
			return false;
		if (x->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && x->imm.value.u != y->imm.value.u)
			return false;
		if (x->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (!same_register(x, x->mem.base, y->mem.base, from, to) ||
		     !same_register(x, x->mem.index, y->mem.index, from, to) || x->mem.scale != y->mem.scale ||
		     x->mem.disp.value != y->mem.disp.value || !same_segment(x->mem.segment, y->mem.segment)))
			return false;
	}
	return true;
}

/* What is in *in after a rewrite is what decoding says. */
static bool describes(const struct insn *in, const u8 *buf, int len)
{
	struct insn again;

	return isa_decode(buf, ISA_MAX_LEN, &again) == len && again.reads == in->reads && again.writes == in->writes &&
	       again.attr == in->attr && again.disp_off == in->disp_off && again.imm_off == in->imm_off &&
	       in->len == len;
}

/* The registers that fields name, as opposed to implicit operands. */
static unsigned named(const struct oracle *o)
{
	unsigned m = 0;

	for (unsigned i = 0; i < o->zi.operand_count; i++) {
		const ZydisDecodedOperand *op = &o->op[i];

		if (op->encoding == ZYDIS_OPERAND_ENCODING_NONE)
			continue;
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && oracle_gpr(op->reg.value) >= 0)
			m |= 1u << oracle_gpr(op->reg.value);
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && oracle_gpr(op->mem.base) >= 0)
			m |= 1u << oracle_gpr(op->mem.base);
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && oracle_gpr(op->mem.index) >= 0)
			m |= 1u << oracle_gpr(op->mem.index);
	}
	return m;
}

static void check_rename(const u8 *bytes, const struct insn *in, const struct oracle *o)
{
	unsigned fields = named(o);
	unsigned from = fields >> 15 ? 15 : rnd() & 15;
	unsigned to = rnd() & 15;
	struct insn copy = *in;
	struct oracle after;
	u8 buf[16];
	int len;

	/* Zydis 4.0 takes r13d with mod 0 for a base; movdir64b has an implicit operand at an explicit register. */
	if (oracle_is(o, "movdir64b") || ((in->legacy & 8) && in->base == 0xff && in->modrm < 0x40))
		return;
	/* f3 90 with or without REX is pause. */
	if (oracle_is(o, "xchg") && (in->attr & ISA_OP_GPR))
		return;
	if (!(fields >> from & 1) || !((in->reads | in->writes) >> from & 1) || ((in->reads | in->writes) >> to & 1))
		return;
	memcpy(buf, bytes, 16);
	len = isa_rename(buf, &copy, from, to);
	if (len < 0) {
		/* The translator counts on this: r15 can always be renamed to a register that needs no special base
		 * form. */
		if (from == 15 && (0x4fcfu >> to & 1))
			wrong("r15 not renamed", bytes, buf, in->len);
		rename_refused++;
		return;
	}
	renamed++;
	if (!oracle_decode(buf, len, &after) || after.zi.length != len || !same_but_renamed(o, &after, from, to))
		wrong("renamed to another instruction", bytes, buf, len);
	else if (!describes(&copy, buf, len))
		wrong("*in is not what was renamed", bytes, buf, len);
}

/* Whether b is a with the ModRM operand (of whatever kind it was) replaced by [base + disp]. */
static bool same_but_moved(const struct oracle *a, const struct oracle *b, unsigned base, s32 disp)
{
	if (a->zi.mnemonic != b->zi.mnemonic || a->zi.operand_count != b->zi.operand_count)
		return false;
	for (unsigned i = 0; i < a->zi.operand_count; i++) {
		const ZydisDecodedOperand *x = &a->op[i], *y = &b->op[i];

		if (x->size != y->size && x->element_size != y->element_size)
			return false;
		if (x->actions != y->actions || x->encoding != y->encoding)
			return false;
		if (x->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
			if (y->type != ZYDIS_OPERAND_TYPE_MEMORY || oracle_gpr(y->mem.base) != (int)base ||
			    oracle_gpr(y->mem.index) >= 0 || y->mem.disp.value != disp)
				return false;
		} else if (x->type != y->type) {
			return false;
		} else if (x->type == ZYDIS_OPERAND_TYPE_REGISTER && x->reg.value != y->reg.value) {
			/* A REX that was added must not have changed what the others name. */
			return false;
		} else if (x->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && x->imm.value.u != y->imm.value.u) {
			return false;
		}
	}
	return true;
}

static bool writes_rm32(const struct oracle *o)
{
	for (unsigned i = 0; i < o->zi.operand_count; i++)
		if (o->op[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM && o->op[i].size == 32 &&
		    (o->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			return true;
	return false;
}

static void check_set_mem(const u8 *bytes, const struct insn *in, const struct oracle *o)
{
	bool to_memory = in->modrm_off && in->modrm >= 0xc0 && (in->attr & ISA_RM_GPR) && !(in->attr & ISA_NO_MEM_RM);
	unsigned base = rnd() & 15;
	s32 disp = one_in(2) ? (s8)rnd() : (s32)rnd();
	struct insn copy = *in;
	struct oracle after;
	u8 buf[16];
	int len;

	if (!(in->attr & ISA_MEM) && !to_memory)
		return;
	memcpy(buf, bytes, 16);
	len = isa_set_mem(buf, &copy, base, disp);
	if (len < 0) {
		bool special = (in->attr & (ISA_VSIB | ISA_REG8_HIGH)) || (in->legacy & 8) || in->len > 9;

		if (!special && in->sib_off == 0)
			wrong("memory operand not replaced", bytes, buf, in->len);
		move_refused++;
		return;
	}
	moved++;
	made_memory += to_memory;
	if (!oracle_decode(buf, len, &after) || after.zi.length != len || !same_but_moved(o, &after, base, disp))
		wrong("moved to another instruction", bytes, buf, len);
	else if (!describes(&copy, buf, len))
		wrong("*in is not what was moved", bytes, buf, len);
	if (to_memory && writes_rm32(o))
		wrong("a 32-bit register result in memory", bytes, buf, len);
}

int main(int argc, char **argv)
{
	random_seed(argc > 1 ? strtoull(argv[1], NULL, 0) : 1);
	oracle_init();
	for (unsigned i = 0; i < ROUNDS && bad < MAX_BAD; i++) {
		struct oracle o;
		struct insn in;
		u8 bytes[16];

		random_insn(bytes);
		if (isa_decode(bytes, ISA_MAX_LEN, &in) <= 0 || !oracle_decode(bytes, ISA_MAX_LEN, &o))
			continue;
		check_rename(bytes, &in, &o);
		check_set_mem(bytes, &in, &o);
	}
	printf("renamed %lu (refused %lu), moved %lu (refused %lu), of them from registers %lu: %u wrong\n", renamed,
	       rename_refused, moved, move_refused, made_memory, bad);
	return bad || !renamed || !made_memory ? 1 : 0;
}
