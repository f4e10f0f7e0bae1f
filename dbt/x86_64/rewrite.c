/* See rewrite.h. */
#include "dbt/x86_64/rewrite.h"
#include "dbt/cache.h"
#include "dbt/code_memory.h"
#include "dbt/x86_64/emit.h"
#include "rt/log.h"

#define STOLEN_BIT (1u << STOLEN)
#define HOME ((s32)CPU_AT(stolen))

/*
 * Registers that may be scratch: every addressing form can use them as a base without a special case (not rsp, rbp,
 * r12, r13), and they can be named in rec.spills (not r15).
 */
#define PLAIN_BASES (0x4fcfu & ~STOLEN_BIT)

#define REX_ONLY 0xff00u /* r8 to r15: not beside ah, ch, dh and bh, nor where there is no room for a prefix */

/* The address that a rip-relative operand means. */
static u64 rip_operand(const struct insn *in, u64 pc)
{
	u64 addr = pc + in->len + (u64)in->disp;

	return in->legacy & 8 ? (u32)addr : addr;
}

/* A register that the instruction does not use. Prefers those that are least often live. */
static unsigned pick_scratch(u32 used)
{
	static const u8 order[] = {R10, R9, R8, RCX, RDX, RSI, RDI, RAX, R14, RBX};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (!(used >> order[i] & 1))
			return order[i];
	check(!"an instruction that uses every register");
	return RCX;
}

/* A destination that is written whole and not read can hold an address until it is written. */
static unsigned pick_address_reg(const struct insn *in, u32 used)
{
	u32 dead = in->writes & ~in->reads & PLAIN_BASES;

	if (in->map == 0 && in->opcode == 0x8b && in->opsize >= 4 && dead)
		return (unsigned)__builtin_ctz(dead);
	return pick_scratch(used);
}

/* push and pop of the stolen register itself become push and pop of its home. */
static bool push_pop_stolen(struct emit *e, const struct insn *in)
{
	if (in->enc != ISA_LEGACY || in->map != 0 || !(in->rex & 1) || (in->legacy & 1))
		return false;
	if (in->opcode == (0x50 | (STOLEN & 7)))
		emit8(e, 0x41), emit8(e, 0xff), emit_cpu_mem(e, 6, HOME);
	else if (in->opcode == (0x58 | (STOLEN & 7)))
		emit8(e, 0x41), emit8(e, 0x8f), emit_cpu_mem(e, 0, HOME);
	else
		return false;
	return true;
}

/*
 * op %stolen, %reg and op %reg, %stolen become op home, %reg and op %reg, home. Returns false if the form does not
 * allow it.
 */
static bool stolen_as_memory(struct emit *e, const u8 *bytes, const struct insn *in)
{
	u8 buf[ISA_MAX_LEN + 1];
	struct insn copy = *in;
	bool in_reg = (in->attr & ISA_REG_GPR) && (in->modrm >> 3 & 7) == (STOLEN & 7) && (in->rex & 4);
	bool in_rm = (in->attr & ISA_RM_GPR) && (in->modrm & 7) == (STOLEN & 7) && (in->rex & 1);

	if (in->enc != ISA_LEGACY || !in->modrm_off || in->modrm < 0xc0 || in_reg == in_rm)
		return false;
	if (in->seg) /* which means nothing to a register, but would to the home */
		return false;
	memcpy(buf, bytes, in->len);
	if (in_reg) {
		/* The mirrored form has it in rm. A 32-bit write would not clear the upper half of the home. */
		if (!(in->attr & ISA_SWAP_DIR) || ((in->writes & STOLEN_BIT) && in->opsize == 4))
			return false;
		buf[in->opcode_off] ^= 2;
		buf[in->modrm_off] = 0xc0 | (in->modrm & 7) << 3 | (STOLEN & 7);
		buf[in->prefix_off] = (u8)((in->rex & ~5) | (in->rex & 1) << 2 | 1);
		if (isa_decode(buf, in->len, &copy) != in->len)
			return false;
	}
	if ((copy.attr & ISA_NO_MEM_RM) || ((copy.writes & STOLEN_BIT) && copy.opsize == 4))
		return false;
	if (isa_set_mem(buf, &copy, STOLEN, HOME) < 0)
		return false;
	emit_bytes(e, buf, copy.len);
	return true;
}

u8 rewrite_insn(struct emit *e, const u8 *bytes, const struct insn *in, u64 pc)
{
	u8 buf[ISA_MAX_LEN + 1];
	struct insn copy;
	u32 used = in->reads | in->writes | STOLEN_BIT | 1u << RSP;
	unsigned spilled[2] = {NO_SPILL, NO_SPILL};
	unsigned n = 0, sub = NO_SPILL;
	bool uses_it = (in->reads | in->writes) & STOLEN_BIT;

	if ((in->attr & ISA_REG8_HIGH) || in->len == ISA_MAX_LEN)
		used |= REX_ONLY;
	if (!uses_it && !(in->attr & ISA_RIP_REL)) {
		emit_bytes(e, bytes, in->len);
		return SPILLS_NONE;
	}
	if (uses_it && (push_pop_stolen(e, in) || stolen_as_memory(e, bytes, in)))
		return SPILLS_NONE;

	memcpy(buf, bytes, in->len);
	copy = *in;
	if (uses_it) {
		bool in_address = in->base == STOLEN || in->index == STOLEN;

		sub = in_address && !(in->writes & STOLEN_BIT) ? pick_address_reg(in, used) : pick_scratch(used);
		used |= 1u << sub;
		spilled[n] = sub;
		emit_store_cpu(e, sub, CPU_AT(spill) + 8 * n++);
		if (in->reads & STOLEN_BIT)
			emit_load_cpu(e, sub, HOME);
		check(isa_rename(buf, &copy, STOLEN, sub) > 0);
	}
	if (in->attr & ISA_RIP_REL) {
		u64 addr = rip_operand(in, pc);
		s64 disp = (s64)(addr - code_host(e->p + copy.len));

		if (fits_s32(disp) && !(in->legacy & 8)) {
			s32 d = (s32)disp;

			memcpy(buf + copy.disp_off, &d, 4);
			e->fix = e->p + copy.disp_off;
		} else {
			unsigned base = pick_scratch(used);

			spilled[n] = base;
			emit_store_cpu(e, base, CPU_AT(spill) + 8 * n++);
			emit_mov_imm(e, base, addr);
			check(isa_set_mem(buf, &copy, base, 0) > 0);
		}
	}
	emit_bytes(e, buf, copy.len);
	e->done = e->p;
	if (sub != NO_SPILL && (in->writes & STOLEN_BIT))
		emit_store_cpu(e, sub, HOME);
	for (unsigned i = 0; i < n; i++)
		if (!((in->writes & ~in->reads) >> spilled[i] & 1))
			emit_load_cpu(e, spilled[i], CPU_AT(spill) + 8 * i);
	return (u8)(spilled[0] | spilled[1] << 4);
}

void rewrite_branch_operand(struct emit *e, const u8 *bytes, const struct insn *in, u64 pc)
{
	u8 buf[ISA_MAX_LEN + 1];
	struct insn copy;
	unsigned n = 0;
	unsigned rm = (in->modrm & 7) | (in->rex & 1) << 3;

	if (in->modrm >= 0xc0) {
		if (rm == STOLEN)
			emit_load_cpu(e, RCX, HOME);
		else if (rm != RCX) {
			emit8(e, 0x48 | (rm >> 3) << 2);
			emit8(e, 0x89);
			emit8(e, 0xc0 | (rm & 7) << 3 | RCX);
		}
		return;
	}
	/* The same operand in a 64-bit load of rcx: segment and address-size prefixes stay, others mean nothing. */
	if (in->seg)
		buf[n++] = in->seg;
	if (in->legacy & 8)
		buf[n++] = 0x67;
	buf[n++] = (u8)(0x48 | (in->rex & 3));
	buf[n++] = 0x8b;
	buf[n++] = (u8)((in->modrm & 0xc7) | RCX << 3);
	if (in->sib_off)
		buf[n++] = in->sib;
	memcpy(buf + n, bytes + in->disp_off, in->disp_size);
	n += in->disp_size;
	check(isa_decode(buf, n, &copy) == (int)n);
	if (in->attr & ISA_RIP_REL) {
		u64 addr = rip_operand(in, pc);
		s64 disp = (s64)(addr - code_host(e->p + n));

		if (fits_s32(disp) && !(in->legacy & 8)) {
			s32 d = (s32)disp;

			memcpy(buf + copy.disp_off, &d, 4);
			e->fix = e->p + copy.disp_off;
		} else {
			emit_mov_imm(e, RCX, addr);
			check(isa_set_mem(buf, &copy, RCX, 0) > 0);
		}
	} else if (copy.reads & STOLEN_BIT) {
		unsigned sub = in->base == RDX || in->index == RDX ? RCX : RDX;

		emit_load_cpu(e, sub, HOME);
		check(isa_rename(buf, &copy, STOLEN, sub) > 0);
	}
	emit_bytes(e, buf, copy.len);
}
