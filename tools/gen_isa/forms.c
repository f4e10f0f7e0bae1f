/* See forms.h. */
#include "tools/gen_isa/forms.h"

/* Whether ModRM's reg field is an operand, not part of the opcode. */
static bool names_reg(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
	for (unsigned i = 0; i < zi->operand_count; i++)
		if (op[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG)
			return true;
	return false;
}

static bool has_vsib(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
	for (unsigned i = 0; i < zi->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && op[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			return true;
	return false;
}

bool forms_no_mem_rm(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
		     const struct isa_desc *d)
{
	ZydisDecodedInstruction mi;
	ZydisDecodedOperand mo[ZYDIS_MAX_OPERAND_COUNT];
	struct probe m = *p;

	m.modrm = (p->modrm & 0x38) | 4;
	if (!probe_decode(&m, &mi, mo) || mi.mnemonic != zi->mnemonic || mi.operand_count != zi->operand_count ||
	    mi.raw.imm[0].size != zi->raw.imm[0].size || mi.raw.imm[1].size != zi->raw.imm[1].size)
		return true;
	for (unsigned i = 0; i < zi->operand_count; i++) {
		if (op[i].size != mo[i].size || op[i].actions != mo[i].actions || op[i].encoding != mo[i].encoding ||
		    op[i].visibility != mo[i].visibility)
			return true;
		if (op[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
			if (mo[i].type != ZYDIS_OPERAND_TYPE_MEMORY || mo[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
				return true;
		} else if (op[i].type != mo[i].type) {
			return true;
		}
	}
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		if (d->attr & ISA_REG_GPR)
			return true;
		break;
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_XADD:
	case ZYDIS_MNEMONIC_SLDT:
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return true;
	default:
		break;
	}
	if ((d->fields & ISA_F_RM_W) && d->rm_size == 4)
		return true;
	return (d->attr & ISA_STACK) && d->rm_size == 2;
}

bool forms_swap_dir(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
		    const struct isa_desc *d)
{
	ZydisDecodedInstruction si;
	ZydisDecodedOperand so[ZYDIS_MAX_OPERAND_COUNT];
	struct probe s = *p;

	if (p->enc != ISA_LEGACY || p->map || !(d->attr & ISA_REG_GPR) || !(d->attr & ISA_RM_GPR))
		return false;
	s.opcode ^= 2;
	s.modrm = 0xc0 | (p->modrm & 7) << 3 | (p->modrm >> 3 & 7);
	if (!probe_decode(&s, &si, so) || si.mnemonic != zi->mnemonic || si.operand_count != zi->operand_count)
		return false;
	for (unsigned i = 0; i < zi->operand_count; i++)
		if (so[i].type != op[i].type || so[i].size != op[i].size || so[i].actions != op[i].actions ||
		    (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && so[i].reg.value != op[i].reg.value))
			return false;
	return true;
}

#define BAD(change)                                                                                                    \
	({                                                                                                             \
		struct probe t = *p;                                                                                   \
		change;                                                                                                \
		!probe_valid(&t);                                                                                      \
	})

/* A register number below 8 that is neither a nor b. */
static u8 other(u8 a, u8 b)
{
	u8 n = 0;

	while (n == a || n == b)
		n++;
	return n;
}

/* Whether no vvvv from first to last will do. */
static bool all_bad(const struct probe *p, unsigned first, unsigned last)
{
	while (first <= last && BAD(t.vvvv = first))
		first++;
	return first > last;
}

/* Which two fields of VEX and later may not name the same register. Each is tried against a pair that differs. */
static u32 equality_checks(const struct probe *p, u32 c, bool has_reg, bool vsib)
{
	bool has_vvvv = !(c & ISA_C_VVVV);
	u8 reg = p->modrm >> 3 & 7;
	u8 rm = p->modrm & 7;
	u8 alt = other(reg, rm);
	u32 eq = 0;

	if (p->modrm >= 0xc0) {
		if (has_vvvv && BAD(t.vvvv = rm; t.r = 1) && !BAD(t.vvvv = alt; t.r = 1))
			eq |= ISA_C_RM_V;
		else if (has_vvvv && BAD(t.vvvv = rm; t.r = 0) && !BAD(t.vvvv = alt; t.r = 0))
			eq |= ISA_C_RM_V;
		if (has_reg && BAD(t.modrm = 0xc0 | reg * 9; t.r = 0; t.vvvv = alt) &&
		    !BAD(t.modrm = 0xc0 | reg << 3 | other(reg, alt); t.r = 0; t.vvvv = alt))
			eq |= ISA_C_REG_RM;
	} else if (vsib) {
		/* The index is 14: see fill_mem(). */
		if (BAD(t.modrm = 0x34; t.r = 1) && !BAD(t.modrm = 0x24; t.r = 1))
			eq |= ISA_C_REG_IDX;
		if (has_vvvv && BAD(t.vvvv = 14) && !BAD(t.vvvv = 12))
			eq |= ISA_C_IDX_V;
		rm = reg;
	} else {
		rm = reg;
	}
	alt = other(reg, rm);
	if (has_reg && has_vvvv && BAD(t.vvvv = reg; t.r = 0) && !BAD(t.vvvv = alt; t.r = 0))
		eq |= ISA_C_REG_V;
	return eq;
}

static u32 evex_checks(const struct probe *p)
{
	u32 c = 0;

	c |= BAD(t.v2 = 1) ? ISA_C_V2 : 0;
	c |= BAD(t.r2 = 1) ? ISA_C_R2 : 0;
	c |= BAD(t.aaa = 1) ? ISA_C_MASK : 0;
	c |= BAD(t.aaa = 0) ? ISA_C_NO_MASK : 0;
	c |= BAD(t.aaa = !(c & ISA_C_MASK); t.z = 1) ? ISA_C_Z : 0;
	c |= BAD(t.aaa = 0; t.z = 1) ? ISA_C_Z_NO_MASK : 0;
	return c;
}

u32 forms_checks(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
	bool mem = p->modrm < 0xc0;
	u32 c = 0;

	if (mem) {
		c |= BAD(t.modrm &= 0xf8) ? ISA_C_NO_SIB : 0;
		c |= BAD(t.modrm = (t.modrm & 0xf8) | 5) ? ISA_C_RIP : 0;
	}
	if (p->enc == ISA_LEGACY || p->enc == ISA_3DNOW)
		return c;
	c |= BAD(t.a32 = 1) ? ISA_C_A32 : 0;
	if (all_bad(p, 1, 15))
		c |= ISA_C_VVVV;
	else if (all_bad(p, 8, 15))
		c |= ISA_C_VVVV8;
	c |= !p->r && BAD(t.r = 1) ? ISA_C_R : 0;
	c |= !mem && BAD(t.b = 1) ? ISA_C_B : 0;
	c |= !mem && BAD(t.x = 1) ? ISA_C_X : 0;
	c |= equality_checks(p, c, names_reg(zi, op), has_vsib(zi, op));
	return p->enc == ISA_EVEX ? c | evex_checks(p) : c;
}

#undef BAD
