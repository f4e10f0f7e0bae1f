/* See address.h. */
#include "isa/address.h"

#define PFX_66 0x01
#define PFX_67 0x08

enum { SP = 4, BP = 5, SI = 6, DI = 7 };

static u64 by_address_size(const struct insn *in, u64 addr)
{
	return in->legacy & PFX_67 ? (u32)addr : addr;
}

static u64 segment_base(const struct insn *in, const struct isa_regs *regs)
{
	return in->seg == 0x64 ? regs->fs : in->seg == 0x65 ? regs->gs : 0;
}

static bool is_legacy(const struct insn *in, unsigned map, unsigned opcode)
{
	return in->enc == ISA_LEGACY && in->map == map && in->opcode == opcode;
}

/* mov between rax and an absolute address */
static bool is_moffs(const struct insn *in)
{
	return in->enc == ISA_LEGACY && in->map == 0 && (in->opcode & 0xfc) == 0xa0;
}

static u64 operand_at(const struct insn *in, u64 pc, const struct isa_regs *regs, u64 sp_moved)
{
	u64 addr = (u64)in->disp;

	if (in->attr & ISA_RIP_REL)
		addr += pc + in->len;
	if (in->base != 0xff)
		addr += regs->gpr[in->base] + (in->base == SP ? sp_moved : 0);
	if (in->index != 0xff)
		addr += regs->gpr[in->index] << (in->sib >> 6);
	return by_address_size(in, addr) + segment_base(in, regs);
}

static u32 stack_size(const struct insn *in)
{
	bool near = in->kind == ISA_CALL || in->kind == ISA_CALL_IND || in->kind == ISA_RET;

	return (in->legacy & PFX_66) && !(in->rex & 8) && !near ? 2 : 8;
}

static struct isa_access one(u64 addr, u32 size, bool read, bool write)
{
	return (struct isa_access){.addr = addr, .size = size, .read = read, .write = write, .count = 1};
}

/* push, pop, call, ret, enter, leave. A memory operand of push and call is read first, that of pop is written last. */
static int stack_accesses(const struct insn *in, u64 pc, const struct isa_regs *regs, struct isa_access *out)
{
	bool memory = in->attr & ISA_MEM, pop = is_legacy(in, 0, 0x8f);
	u32 size = stack_size(in);
	u64 sp = regs->gpr[SP];
	int n = 0;

	if (is_legacy(in, 0, 0xc9)) /* leave */
		sp = regs->gpr[BP];
	if (memory && !pop)
		out[n++] = one(operand_at(in, pc, regs, 0), size, true, false);
	if (memory ? pop : (in->attr & ISA_LOAD))
		out[n++] = one(sp, size, true, false);
	else
		out[n++] = one(sp - size, size, false, true);
	if (memory && pop)
		out[n++] = one(operand_at(in, pc, regs, size), size, false, true);
	return n;
}

static struct isa_access element(const struct insn *in, const struct isa_regs *regs, unsigned reg, u64 base, bool write)
{
	u32 size = in->opcode & 1 ? in->opsize : 1;
	struct isa_access a = one(by_address_size(in, regs->gpr[reg]) + base, size, !write, write);

	a.step = regs->rflags & ISA_DF ? -(s32)size : (s32)size;
	if (in->attr & ISA_REP)
		a.count = by_address_size(in, regs->gpr[1]);
	return a;
}

/* Only the source's segment can be another. */
static int string_accesses(const struct insn *in, const struct isa_regs *regs, struct isa_access *out)
{
	u64 base = segment_base(in, regs);

	switch (in->opcode & 0xfe) {
	case 0xa4: /* movs */
		out[0] = element(in, regs, SI, base, false);
		out[1] = element(in, regs, DI, 0, true);
		return 2;
	case 0xa6: /* cmps */
		out[0] = element(in, regs, SI, base, false);
		out[1] = element(in, regs, DI, 0, false);
		return 2;
	case 0xaa: /* stos */
		out[0] = element(in, regs, DI, 0, true);
		return 1;
	case 0xac: /* lods */
		out[0] = element(in, regs, SI, base, false);
		return 1;
	case 0xae: /* scas */
		out[0] = element(in, regs, DI, 0, false);
		return 1;
	default: /* ins, outs */
		return -1;
	}
}

/* bt, bts, btr, btc with a register as bit offset: the operand of opsize bytes that holds the bit. */
static u64 bit_offset(const struct insn *in, const struct isa_regs *regs)
{
	unsigned reg = (in->modrm >> 3 & 7) | (in->rex & 4) << 1;
	unsigned shift = in->opsize == 8 ? 6 : in->opsize == 4 ? 5 : 4;
	u64 value = regs->gpr[reg];
	s64 bit = in->opsize == 8 ? (s64)value : in->opsize == 4 ? (s32)value : (s16)value;

	return (u64)((bit >> shift) * in->opsize);
}

static bool is_bit_test(const struct insn *in)
{
	return in->enc == ISA_LEGACY && in->map == 1 && (in->opcode & 0xe7) == 0xa3;
}

/* 0F AE and 0F C7 with memory: the areas of FXSAVE and XSAVE, whose size no 8-bit number holds. */
static u32 area_size(const struct insn *in, const struct isa_regs *regs)
{
	unsigned reg = in->modrm >> 3 & 7;

	if (in->enc != ISA_LEGACY || in->map != 1 || (in->opcode != 0xae && in->opcode != 0xc7))
		return 0;
	return in->opcode == 0xae && reg < 2 ? 512 : regs->xsave_size;
}

/* Memory operands that no ModRM byte names. False: it has none. */
static bool implicit_access(const struct insn *in, const struct isa_regs *regs, struct isa_access *out)
{
	u64 base = segment_base(in, regs);

	if (is_legacy(in, 0, 0xd7)) { /* xlat */
		*out = one(by_address_size(in, regs->gpr[3] + (u8)regs->gpr[0]) + base, 1, true, false);
		return true;
	}
	if (in->map == 1 && in->opcode == 0xf7 && in->modrm >= 0xc0) { /* maskmovq, maskmovdqu, vmaskmovdqu */
		u32 size = in->enc == ISA_LEGACY && !(in->legacy & PFX_66) ? 8 : 16;

		*out = one(by_address_size(in, regs->gpr[DI]) + base, size, false, true);
		return true;
	}
	if (is_legacy(in, 1, 0x01) && in->modrm == 0xfc) { /* clzero */
		*out = one((by_address_size(in, regs->gpr[0]) + base) & ~63ul, 64, false, true);
		return true;
	}
	return false;
}

/* movdir64b, enqcmd: from the memory operand to where a register points. */
static int copy_accesses(const struct insn *in, u64 pc, const struct isa_regs *regs, struct isa_access *out)
{
	unsigned reg = (in->modrm >> 3 & 7) | (in->rex & 4) << 1;

	out[0] = one(operand_at(in, pc, regs, 0), 64, true, false);
	out[1] = one(by_address_size(in, regs->gpr[reg]), 64, false, true);
	return 2;
}

int isa_accesses(const struct insn *in, u64 pc, const struct isa_regs *regs, struct isa_access out[ISA_ACCESSES])
{
	bool read = in->attr & ISA_LOAD, write = in->attr & ISA_STORE;
	u64 addr;
	u32 size;

	if (!read && !write)
		return 0;
	if (in->attr & ISA_VSIB)
		return -1;
	if (in->attr & ISA_STRING)
		return string_accesses(in, regs, out);
	if (in->attr & ISA_STACK)
		return stack_accesses(in, pc, regs, out);
	if (is_legacy(in, 2, 0xf8))
		return copy_accesses(in, pc, regs, out);
	if (is_moffs(in)) {
		out[0] = one(operand_at(in, pc, regs, 0), in->opcode & 1 ? in->opsize : 1, read, write);
		return 1;
	}
	if (!(in->attr & ISA_MEM))
		return implicit_access(in, regs, out) ? 1 : -1;
	addr = operand_at(in, pc, regs, 0);
	if (is_bit_test(in))
		addr = by_address_size(in, addr - segment_base(in, regs) + bit_offset(in, regs)) +
		       segment_base(in, regs);
	size = in->rm_size ? in->rm_size : area_size(in, regs);
	if (!size)
		return -1;
	out[0] = one(addr, size, read, write);
	return 1;
}
