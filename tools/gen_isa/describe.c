/* See describe.h. */
#include "tools/gen_isa/describe.h"

#include <string.h>

#include "isa/insn.h"
#include "tools/gen_isa/probe.h"

static bool is_gpr(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 || c == ZYDIS_REGCLASS_GPR32 ||
	       c == ZYDIS_REGCLASS_GPR64;
}

static bool is_vector(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM || c == ZYDIS_REGCLASS_ZMM ||
	       c == ZYDIS_REGCLASS_MASK;
}

static unsigned gpr_bit(ZydisRegister r)
{
	return is_gpr(r) ? 1u << ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r))
			 : 0;
}

static bool is_string(const ZydisDecodedInstruction *zi)
{
	return zi->meta.category == ZYDIS_CATEGORY_STRINGOP || zi->meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

static bool is_nop(const ZydisDecodedInstruction *zi)
{
	return zi->meta.category == ZYDIS_CATEGORY_NOP || zi->meta.category == ZYDIS_CATEGORY_WIDENOP;
}

static bool no_access(const ZydisDecodedInstruction *zi)
{
	switch (zi->meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_CLDEMOTE:
		return true;
	default:
		return is_nop(zi);
	}
}

static enum isa_kind kind_of(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
	bool relative = zi->raw.imm[0].is_relative;
	bool far = zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return ISA_LOOP;
	case ZYDIS_MNEMONIC_XBEGIN:
		return ISA_XBEGIN;
	case ZYDIS_MNEMONIC_JMP:
		return far ? ISA_FAR : relative ? ISA_JMP : ISA_JMP_IND;
	case ZYDIS_MNEMONIC_CALL:
		return far ? ISA_FAR : relative ? ISA_CALL : ISA_CALL_IND;
	case ZYDIS_MNEMONIC_RET:
		return far ? ISA_FAR : ISA_RET;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_UIRET:
		return ISA_FAR;
	case ZYDIS_MNEMONIC_SYSCALL:
		return ISA_SYSCALL;
	case ZYDIS_MNEMONIC_SYSENTER:
		return ISA_SYSENTER;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
		return ISA_INT;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return ISA_PUSHF;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
		return ISA_POPF;
	case ZYDIS_MNEMONIC_CPUID:
		return ISA_CPUID;
	case ZYDIS_MNEMONIC_XGETBV:
		return ISA_XGETBV;
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
		return ISA_RDTSC;
	case ZYDIS_MNEMONIC_RDPMC:
		return ISA_RDPMC;
	default:
		break;
	}
	if (zi->meta.category == ZYDIS_CATEGORY_COND_BR && relative)
		return ISA_JCC;
	if (zi->meta.category == ZYDIS_CATEGORY_RDWRFSGS)
		return ISA_FSGSBASE;
	if (zi->meta.category == ZYDIS_CATEGORY_IO || zi->meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
	    (zi->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED))
		return ISA_INT;
	for (unsigned i = 0; i < zi->operand_count_visible; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    (ZydisRegisterGetClass(op[i].reg.value) == ZYDIS_REGCLASS_SEGMENT ||
		     zi->mnemonic == ZYDIS_MNEMONIC_LSS || zi->mnemonic == ZYDIS_MNEMONIC_LFS ||
		     zi->mnemonic == ZYDIS_MNEMONIC_LGS))
			return ISA_SEGLOAD;
	return ISA_PLAIN;
}

static bool ends_block(enum isa_kind k)
{
	switch (k) {
	case ISA_PLAIN:
	case ISA_PUSHF:
	case ISA_POPF:
	case ISA_CPUID:
	case ISA_XGETBV:
	case ISA_RDTSC:
	case ISA_RDPMC:
	case ISA_FSGSBASE:
	case ISA_SEGLOAD:
		return false;
	default:
		return true;
	}
}

/*
 * What an instruction costs in the cycle model, in quarter cycles of a machine that completes four simple instructions
 * in a cycle: its share of the machine, not its latency. A load or a store adds one.
 *
 *	  1  integer arithmetic, moves, nops
 *	  2  branches, calls, vector and x87 instructions
 *	  4  multiplication, bit scans, string instructions without rep
 *	 16  floating-point division and square root, gathers, string instructions with rep
 *	 32  popf, enter
 *	 40  integer division; of 64 bits: 72
 *	 64  atomic: xchg with memory, and what has a lock prefix (set in decode.c)
 *	100  system calls, cpuid, rdtsc, xsave, rdrand and the like
 */
static unsigned weight_of(const ZydisDecodedInstruction *zi, const struct isa_desc *d)
{
	const char *name = ZydisMnemonicGetString(zi->mnemonic);
	unsigned w = 1;

	switch (zi->meta.category) {
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_RDRAND:
	case ZYDIS_CATEGORY_RDSEED:
	case ZYDIS_CATEGORY_SERIALIZE:
	case ZYDIS_CATEGORY_SEGOP:
		return 100;
	case ZYDIS_CATEGORY_GATHER:
	case ZYDIS_CATEGORY_AVX2GATHER:
	case ZYDIS_CATEGORY_SCATTER:
		return 16;
	case ZYDIS_CATEGORY_STRINGOP:
		return d->attr & ISA_REP ? 16 : 4;
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_X87_ALU:
		w = 2;
		break;
	default:
		if (d->attr & ISA_SSE)
			w = 2;
		break;
	}
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_CPUID:
		return 100;
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		return d->opsize == 8 ? 72 : 40;
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MULX:
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_LEAVE:
		w = 4;
		break;
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_ENTER:
		w = 32;
		break;
	case ZYDIS_MNEMONIC_XCHG:
		w = d->attr & ISA_MEM ? 64 : 2;
		break;
	default:
		if ((d->attr & (ISA_SSE | ISA_X87)) && (strstr(name, "div") || strstr(name, "sqrt")))
			w = 16;
		break;
	}
	return w + !!(d->attr & ISA_LOAD) + !!(d->attr & ISA_STORE);
}

static bool is_shift(const ZydisDecodedInstruction *zi)
{
	return zi->meta.category == ZYDIS_CATEGORY_SHIFT || zi->meta.category == ZYDIS_CATEGORY_ROTATE;
}

static void describe_flags(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, struct isa_desc *d)
{
	const ZydisAccessedFlags *f = zi->cpu_flags;
	unsigned mask = ISA_STATUS | ISA_DF;
	unsigned surely;

	if (zi->mnemonic == ZYDIS_MNEMONIC_VPTEST || zi->mnemonic == ZYDIS_MNEMONIC_VTESTPS ||
	    zi->mnemonic == ZYDIS_MNEMONIC_VTESTPD) {
		d->fl_writes = d->fl_kills = ISA_STATUS;
		return;
	}
	if (!f)
		return;
	surely = f->modified | f->set_0 | f->set_1;
	d->fl_reads = f->tested & mask;
	d->fl_writes = (surely | f->undefined) & mask;
	if (zi->meta.category == ZYDIS_CATEGORY_LOGICAL)
		surely |= f->undefined & ISA_AF;
	if (is_shift(zi) || (d->attr & ISA_REP))
		return;
	for (unsigned i = 0; i < zi->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && op[i].reg.value == ZYDIS_REGISTER_RFLAGS &&
		    !(op[i].actions & ZYDIS_OPERAND_ACTION_WRITE))
			return;
	d->fl_kills = surely & ~f->tested & mask;
}

/* Rule 3. */
static bool keeps_old(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_BSF || m == ZYDIS_MNEMONIC_BSR || m == ZYDIS_MNEMONIC_RDSSPD ||
	       m == ZYDIS_MNEMONIC_RDSSPQ || m == ZYDIS_MNEMONIC_SLDT || m == ZYDIS_MNEMONIC_STR ||
	       m == ZYDIS_MNEMONIC_SMSW;
}

static void describe_gpr(const ZydisDecodedOperand *op, bool partial, struct isa_desc *d)
{
	bool r = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool w = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	bool byte = op->size == 8;
	unsigned access;

	if (w && (partial || op->size < 32 || (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE)))
		r = true;
	access = r | w << 1;
	switch (op->encoding) {
	case ZYDIS_OPERAND_ENCODING_MODRM_REG:
		d->attr |= ISA_REG_GPR;
		d->fields |= access * ISA_F_REG_R | byte * ISA_F_REG8;
		break;
	case ZYDIS_OPERAND_ENCODING_MODRM_RM:
		d->attr |= ISA_RM_GPR;
		d->fields |= access * ISA_F_RM_R | byte * ISA_F_RM8;
		d->rm_size = op->size / 8;
		break;
	case ZYDIS_OPERAND_ENCODING_NDSNDD:
		d->attr |= ISA_VVVV_GPR;
		d->fields |= access * ISA_F_VVVV_R;
		break;
	case ZYDIS_OPERAND_ENCODING_OPCODE:
		d->attr |= ISA_OP_GPR;
		d->fields |= access * ISA_F_OP_R | byte * ISA_F_OP8;
		break;
	case ZYDIS_OPERAND_ENCODING_NONE:
		d->reads |= r ? gpr_bit(op->reg.value) : 0;
		d->writes |= w ? gpr_bit(op->reg.value) : 0;
		break;
	default:
		die("a general register in an unknown field");
	}
}

static void describe_mem(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, struct isa_desc *d)
{
	bool touches = op->mem.type != ZYDIS_MEMOP_TYPE_AGEN && op->mem.type != ZYDIS_MEMOP_TYPE_MIB && !no_access(zi);

	if (op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
		d->attr |= ISA_MEM;
		if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			d->attr |= ISA_VSIB;
		if (op->mem.type != ZYDIS_MEMOP_TYPE_AGEN && op->size / 8 < 256)
			d->rm_size = op->size / 8;
	} else if (zi->mnemonic != ZYDIS_MNEMONIC_MOVDIR64B) {
		d->reads |= gpr_bit(op->mem.base) | gpr_bit(op->mem.index);
		if (is_string(zi))
			d->writes |= gpr_bit(op->mem.base);
		if (op->mem.base == ZYDIS_REGISTER_RSP)
			d->attr |= ISA_STACK;
	}
	if (touches && (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ))
		d->attr |= ISA_LOAD;
	if (touches && (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		d->attr |= ISA_STORE;
}

static void describe_shape(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, struct isa_desc *d)
{
	if (zi->attributes & ZYDIS_ATTRIB_HAS_MODRM)
		d->fields |= ISA_F_MODRM;
	if (zi->attributes & ZYDIS_ATTRIB_ACCEPTS_LOCK)
		d->fields |= ISA_F_LOCK;
	if (zi->mnemonic == ZYDIS_MNEMONIC_INT)
		d->fields |= ISA_F_INT;
	if (is_nop(zi))
		d->fields |= ISA_F_NOP;
	if (!(zi->attributes & ZYDIS_ATTRIB_HAS_MODRM) && zi->raw.disp.size)
		d->fields |= ISA_F_MOFFS;
	d->imm_first = zi->raw.imm[0].size / 8;
	d->imm_size = d->imm_first + zi->raw.imm[1].size / 8;
	if (zi->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		d->imm_first = d->imm_size = 1;
	/* Not cl, dx and the like: an implicit register of another size. */
	d->opsize = zi->operand_width / 8;
	for (unsigned i = 0; i < zi->operand_count_visible; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && op[i].encoding != ZYDIS_OPERAND_ENCODING_NONE &&
		    is_gpr(op[i].reg.value)) {
			d->opsize = op[i].size / 8;
			break;
		}
}

void describe(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, struct isa_desc *d)
{
	bool string = is_string(zi);
	bool partial = keeps_old(zi->mnemonic);

	memset(d, 0, sizeof(*d));
	describe_shape(zi, op, d);
	for (unsigned i = 0; i < zi->operand_count; i++) {
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			describe_mem(zi, &op[i], d);
		else if (is_nop(zi))
			continue;
		else if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(op[i].reg.value))
			describe_gpr(&op[i], partial, d);
		else if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(op[i].reg.value))
			d->attr |= ISA_SSE;
	}
	if (zi->attributes & (ZYDIS_ATTRIB_XMM_STATE_CR | ZYDIS_ATTRIB_XMM_STATE_CW))
		d->attr |= ISA_SSE;
	if (zi->meta.isa_ext == ZYDIS_ISA_EXT_X87)
		d->attr |= ISA_X87;
	if (string)
		d->attr |= ISA_STRING;
	if (string && (zi->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)))
		d->attr |= ISA_REP;
	if (zi->mnemonic == ZYDIS_MNEMONIC_DIV || zi->mnemonic == ZYDIS_MNEMONIC_IDIV)
		d->attr |= ISA_DIV;
	if (zi->mnemonic == ZYDIS_MNEMONIC_LEAVE || zi->mnemonic == ZYDIS_MNEMONIC_ENTER)
		d->attr |= ISA_STACK;
	d->kind = kind_of(zi, op);
	if (ends_block(d->kind))
		d->attr |= ISA_FLOW_END;
	describe_flags(zi, op, d);
	d->weight = weight_of(zi, d);
}
