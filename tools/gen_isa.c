/*
 * Writes the decoder's tables (isa/tables.h says what they look like) to standard output. Hosted; needs libZydis.
 *
 * Method: for every opcode of every map and every combination of what may select an instruction (mandatory prefix,
 * REX.W, VEX.L, ModRM, ...) build bytes, let Zydis decode them, turn what it says into a struct isa_desc, and compress the
 * resulting array into a decision tree with as few levels as the opcode needs. Which further uses of fields make an
 * instruction invalid (a vvvv that must be 1111, a mask register that must not be k0, ...) is found by trying them.
 *
 * Everything comes from Zydis except the rules below, each where Zydis has no notion of the question or is imprecise:
 *  1. kinds (kind_of): a switch over mnemonics.
 *  2. fl_kills (describe_flags): not for shifts, rotates and repeated string instructions, whose count may be 0; AF of
 *     and, or, xor, test (undefined for Intel and AMD, but always 0).
 *  3. bsf and bsr leave their destination alone if the source is 0.
 *  4. A prefetch's memory operand is not read. A nop's operands are none: whatever its fields name is not used.
 *  5. ISA_NO_MEM_RM (no_mem_rm): the rm register operand may become a memory operand if Zydis decodes the same bytes with
 *     another mod to the same mnemonic, with the same operands in size, action and order, and if rm is not written as 32
 *     bits (which also clears the upper half of a register, but not of a memory cell). Never for bt, bts, btr, btc with a
 *     register offset (addresses beyond the operand), xchg, cmpxchg, xadd (atomic with memory) and 16-bit push and pop.
 *  6. ISA_INT also for what always faults in user mode: privileged instructions, in and out, cli and sti.
 *  7. Weights (weight_of).
 *  8. movdir64b's second memory operand is not at a fixed register but at the one in ModRM's reg field.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "isa/insn.h"
#include "isa/tables.h"

static ZydisDecoder decoder;

static void die(const char *why)
{
	fprintf(stderr, "gen_isa: %s\n", why);
	exit(1);
}

/* --- bytes --------------------------------------------------------------------------------------------------------- */

/* One instruction to try. Extension bits are as numbers: 1 extends, however the prefix stores it. */
struct probe {
	u8 enc, map, opcode;
	u8 p66, rep, lock, a32;		/* rep: 0, 0xf3 or 0xf2 */
	u8 w, r, x, b;
	u8 pp, ll, vvvv, r2, v2;	/* VEX and later */
	u8 bc, aaa, z;			/* EVEX */
	u8 modrm, sib;
};

static size_t build_prefix(const struct probe *p, u8 *out)
{
	u8 *o = out;
	u8 rxb = (!p->r << 7) | (!p->x << 6) | (!p->b << 5);
	u8 wvp = (p->w << 7) | ((~p->vvvv & 15) << 3) | p->pp;

	if (p->lock)
		*o++ = 0xf0;
	if (p->a32)
		*o++ = 0x67;
	if (p->p66)
		*o++ = 0x66;
	if (p->rep)
		*o++ = p->rep;
	switch (p->enc) {
	case ISA_LEGACY:
	case ISA_3DNOW:
		if (p->w | p->r | p->x | p->b)
			*o++ = 0x40 | p->w << 3 | p->r << 2 | p->x << 1 | p->b;
		if (p->map)
			*o++ = 0x0f;
		if (p->map > 1)
			*o++ = p->map == 2 ? 0x38 : 0x3a;
		break;
	case ISA_VEX:
	case ISA_XOP:
		*o++ = p->enc == ISA_VEX ? 0xc4 : 0x8f;
		*o++ = rxb | p->map;
		*o++ = wvp | p->ll << 2;
		break;
	case ISA_EVEX:
		*o++ = 0x62;
		*o++ = rxb | !p->r2 << 4 | p->map;
		*o++ = wvp | 4;
		*o++ = p->z << 7 | p->ll << 5 | p->bc << 4 | !p->v2 << 3 | p->aaa;
		break;
	}
	return o - out;
}

/* Returns Zydis' status; fails also if the bytes turn out to be something else than p says. */
static ZyanStatus decode_status(const struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op)
{
	static const u8 map_of[] = { ZYDIS_OPCODE_MAP_DEFAULT, ZYDIS_OPCODE_MAP_0F, ZYDIS_OPCODE_MAP_0F38, ZYDIS_OPCODE_MAP_0F3A,
				     0, ZYDIS_OPCODE_MAP_MAP5, ZYDIS_OPCODE_MAP_MAP6, 0,
				     ZYDIS_OPCODE_MAP_XOP8, ZYDIS_OPCODE_MAP_XOP9, ZYDIS_OPCODE_MAP_XOPA };
	static const u8 enc_of[] = { [ISA_LEGACY] = ZYDIS_INSTRUCTION_ENCODING_LEGACY, [ISA_VEX] = ZYDIS_INSTRUCTION_ENCODING_VEX,
				     [ISA_EVEX] = ZYDIS_INSTRUCTION_ENCODING_EVEX, [ISA_XOP] = ZYDIS_INSTRUCTION_ENCODING_XOP,
				     [ISA_3DNOW] = ZYDIS_INSTRUCTION_ENCODING_3DNOW };
	u8 bytes[32] = { 0 };
	size_t n = build_prefix(p, bytes);
	ZyanStatus status;

	bytes[n++] = p->enc == ISA_3DNOW ? 0x0f : p->opcode;
	bytes[n++] = p->modrm;
	if ((p->modrm & 0xc7) == 4)
		bytes[n++] = p->sib;
	if (p->enc == ISA_3DNOW)
		bytes[n + ((p->modrm & 0xc7) == 5 ? 4 : 0)] = p->opcode;
	status = ZydisDecoderDecodeFull(&decoder, bytes, 15, zi, op);
	if (!ZYAN_SUCCESS(status))
		return status;
	/* The byte may have been a prefix or an escape, not an opcode. */
	if (zi->encoding != enc_of[p->enc] ||
	    (p->enc != ISA_3DNOW && (zi->opcode != p->opcode || zi->opcode_map != map_of[p->map])))
		return ZYDIS_STATUS_DECODING_ERROR;
	return status;
}

static bool decode(const struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op)
{
	return ZYAN_SUCCESS(decode_status(p, zi, op));
}

static bool valid(const struct probe *p)
{
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];

	return decode(p, &zi, op);
}

/*
 * Decodes p; if that is invalid because of fields that select nothing, changes them first: most instructions want vvvv 0, some
 * want two registers to differ. Returns false if no such instruction exists.
 */
static bool find_valid(struct probe *p, ZydisDecodedInstruction *zi, ZydisDecodedOperand *op)
{
	static const u8 vvvv[] = { 0, 5, 6, 14 };
	struct probe t = *p;
	ZyanStatus status = decode_status(p, zi, op);

	if (ZYAN_SUCCESS(status))
		return true;
	if (status == ZYDIS_STATUS_DECODING_ERROR || p->enc == ISA_LEGACY || p->enc == ISA_3DNOW)
		return false;
	for (unsigned aaa = 0; aaa < (p->enc == ISA_EVEX ? 2 : 1); aaa++)
		for (unsigned r = 0; r < 2; r++)
			for (unsigned i = 0; i < sizeof(vvvv); i++) {
				t.aaa = aaa;
				t.r = r;
				t.vvvv = vvvv[i];
				if (decode(&t, zi, op)) {
					*p = t;
					return true;
				}
			}
	return false;
}

/* --- meaning --------------------------------------------------------------------------------------------------------- */

static bool is_gpr(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 || c == ZYDIS_REGCLASS_GPR32 || c == ZYDIS_REGCLASS_GPR64;
}

static bool is_vector(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM || c == ZYDIS_REGCLASS_ZMM || c == ZYDIS_REGCLASS_MASK;
}

static unsigned gpr_bit(ZydisRegister r)
{
	return is_gpr(r) ? 1u << ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r)) : 0;
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
		     zi->mnemonic == ZYDIS_MNEMONIC_LSS || zi->mnemonic == ZYDIS_MNEMONIC_LFS || zi->mnemonic == ZYDIS_MNEMONIC_LGS))
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
 * What an instruction costs in the cycle model, in quarter cycles of a machine that completes four simple instructions in
 * a cycle: its share of the machine, not its latency. A load or a store adds one; a lock prefix (and xchg with memory)
 * makes it 64, in decode.c.
 *
 *	1	simple integer, moves, nops		16	floating-point division and square root, gathers
 *	2	branches, calls, vector and x87		40	integer division, 8 and 16 bit and 32 bit; 64 bit: 72
 *	4	multiplication, bsf, pext, flags	16	repeated string instruction, other string instructions 4
 *	64	atomic					100	system calls, cpuid, rdtsc and other system instructions; xsave
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
		w = 2;
		break;
	case ZYDIS_CATEGORY_X87_ALU:
		w = 2;
		break;
	case ZYDIS_CATEGORY_DECIMAL:
	case ZYDIS_CATEGORY_FLAGOP:
		w = zi->meta.category == ZYDIS_CATEGORY_FLAGOP ? 1 : 4;
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

static void describe(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, struct isa_desc *d)
{
	bool string = zi->meta.category == ZYDIS_CATEGORY_STRINGOP || zi->meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
	bool partial = zi->mnemonic == ZYDIS_MNEMONIC_BSF || zi->mnemonic == ZYDIS_MNEMONIC_BSR;

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

/* Whether ModRM's reg field is an operand, not part of the opcode. */
static bool names_reg(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
	for (unsigned i = 0; i < zi->operand_count; i++)
		if (op[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG)
			return true;
	return false;
}

/* Rule 5 at the top of this file. p is the mod 3 form, zi and op what Zydis says about it. */
static bool no_mem_rm(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
		      const struct isa_desc *d)
{
	ZydisDecodedInstruction mi;
	ZydisDecodedOperand mo[ZYDIS_MAX_OPERAND_COUNT];
	struct probe m = *p;

	m.modrm = (p->modrm & 0x38) | 4;
	if (!decode(&m, &mi, mo) || mi.mnemonic != zi->mnemonic || mi.operand_count != zi->operand_count ||
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
		return true;
	default:
		break;
	}
	if ((d->fields & ISA_F_RM_W) && d->rm_size == 4)
		return true;
	return (d->attr & ISA_STACK) && d->rm_size == 2;
}

/* Whether flipping bit 1 of the opcode and exchanging reg and rm gives the same operation. */
static bool swap_dir(const struct probe *p, const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op,
		     const struct isa_desc *d)
{
	ZydisDecodedInstruction si;
	ZydisDecodedOperand so[ZYDIS_MAX_OPERAND_COUNT];
	struct probe s = *p;

	if (p->enc != ISA_LEGACY || p->map || !(d->attr & ISA_REG_GPR) || !(d->attr & ISA_RM_GPR))
		return false;
	s.opcode ^= 2;
	s.modrm = 0xc0 | (p->modrm & 7) << 3 | (p->modrm >> 3 & 7);
	if (!decode(&s, &si, so) || si.mnemonic != zi->mnemonic || si.operand_count != zi->operand_count)
		return false;
	for (unsigned i = 0; i < zi->operand_count; i++)
		if (so[i].type != op[i].type || so[i].size != op[i].size || so[i].actions != op[i].actions ||
		    (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && so[i].reg.value != op[i].reg.value))
			return false;
	return true;
}

#define BAD(change) ({ struct probe t = *p; change; !valid(&t); })

/* A register number below 8 that is neither a nor b. */
static u8 other(u8 a, u8 b)
{
	u8 n = 0;

	while (n == a || n == b)
		n++;
	return n;
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

/* Which uses of fields are invalid beside those of p, which is valid. */
static u32 checks_of(const struct probe *p, bool has_reg, bool vsib)
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
	if (BAD(t.vvvv = 3) && BAD(t.vvvv = 9) && BAD(t.vvvv = 12) && BAD(t.vvvv = 6))
		c |= ISA_C_VVVV;
	else if (BAD(t.vvvv = 9) && BAD(t.vvvv = 12) && BAD(t.vvvv = 14))
		c |= ISA_C_VVVV8;
	c |= !p->r && BAD(t.r = 1) ? ISA_C_R : 0;
	c |= !mem && BAD(t.b = 1) ? ISA_C_B : 0;
	c |= !mem && BAD(t.x = 1) ? ISA_C_X : 0;
	c |= equality_checks(p, c, has_reg, vsib);
	return p->enc == ISA_EVEX ? c | evex_checks(p) : c;
}

#undef BAD

/* EVEX: what an 8-bit displacement is multiplied by. */
static unsigned disp8_shift(const struct probe *p)
{
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	u8 bytes[32] = { 0 };
	size_t n = build_prefix(p, bytes);

	bytes[n++] = p->opcode;
	bytes[n++] = (p->modrm & 0x38) | 0x44;
	bytes[n++] = p->sib;
	bytes[n++] = 1;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, 15, &zi, op)))
		die("no 8-bit displacement");
	for (unsigned i = 0; i < zi.operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && op[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
			return __builtin_ctzll(op[i].mem.disp.value);
	return 0;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

#define MAX_DESC 16384
#define MAX_NODES 0x8000

static struct isa_desc descs[MAX_DESC];
static unsigned ndescs = 2;	/* 0 and 1: none */
static u16 nodes[MAX_NODES];
static unsigned nnodes;
static u16 legacy[4][ISA_CTX_COUNT][256];
static u16 prefixed[ISA_ROW_COUNT][256];

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
	u8 shift;	/* ISA_KEY_* */
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

	if (!find_valid(&p, &zi, op)) {
		memset(d, 0, sizeof(*d));
		d->fields = ISA_F_INVALID | ISA_F_MODRM;
		return false;
	}
	describe(&zi, op, d);
	if (p.modrm < 0xc0 && !(zi.attributes & ZYDIS_ATTRIB_HAS_SIB))
		d->fields |= ISA_F_MOD3;
	d->check = checks_of(&p, names_reg(&zi, op), d->attr & ISA_VSIB);
	if (!(d->fields & ISA_F_MODRM))
		return true;
	if (p.modrm >= 0xc0 && (d->attr & ISA_RM_GPR) && no_mem_rm(&p, &zi, op, d))
		d->attr |= ISA_NO_MEM_RM;
	if (p.modrm >= 0xc0 && swap_dir(&p, &zi, op, d))
		d->attr |= ISA_SWAP_DIR;
	if (p.enc == ISA_EVEX && (d->attr & ISA_MEM))
		d->disp8_shift = disp8_shift(&p);
	return true;
}

/* A memory form that every instruction with memory accepts: SIB, no displacement; index 14 (for VSIB) where one can say so. */
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

	if (!find_valid(&p, &zi, op))
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
	static const struct dim dim[] = { { ISA_KEY_A32, 1 }, { ISA_KEY_B, 1 }, { ISA_KEY_R, 1 }, { ISA_KEY_REG, 3 }, { ISA_KEY_RM, 3 } };
	u16 leaf[8 * 64];

	for (unsigned i = 0; i < 8; i++) {
		struct probe p = { .enc = ISA_LEGACY, .map = map, .opcode = opcode };

		p.p66 = !!(ctx & ISA_CTX_66);
		p.w = !!(ctx & ISA_CTX_W);
		p.rep = ctx & ISA_CTX_F3 ? 0xf3 : ctx & ISA_CTX_F2 ? 0xf2 : 0;
		p.a32 = i >> 2 & 1;
		p.b = i >> 1 & 1;
		p.r = i & 1;
		probe_modrm(&p, leaf + i * 64);
	}
	return build_tree(leaf, dim, ARRAY_SIZE(dim));
}

static unsigned vex_cell(enum isa_enc enc, unsigned map, unsigned opcode)
{
	static const struct dim dim[] = { { ISA_KEY_PP, 2 }, { ISA_KEY_W, 1 }, { ISA_KEY_LL, 2 }, { ISA_KEY_BC, 1 },
					  { ISA_KEY_REG, 3 }, { ISA_KEY_RM, 3 } };
	static u16 leaf[64 * 64];

	for (unsigned i = 0; i < 64; i++) {
		struct probe p = { .enc = enc, .map = map, .opcode = opcode };

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
	struct probe p = { .enc = ISA_3DNOW, .map = 1, .opcode = suffix };
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

/* --- output ---------------------------------------------------------------------------------------------------------- */

static void print_words(const u16 *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		printf("%s%u,", i % 24 ? " " : "\n\t", w[i]);
}

static void print_desc(const struct isa_desc *d)
{
	printf("\t{ 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, %u, %u, %u, %u, %u, %u, %u },\n", d->attr, d->fields, d->check, d->reads,
	       d->writes, d->fl_reads, d->fl_writes, d->fl_kills, d->weight, d->kind, d->opsize, d->rm_size,
	       d->imm_size, d->imm_first, d->disp8_shift);
}

static void print_tables(void)
{
	printf("/* Generated by tools/gen_isa.c from Zydis %s. */\n", "4.0");
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
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		die("ZydisDecoderInit");
	fill_tables();
	print_tables();
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
