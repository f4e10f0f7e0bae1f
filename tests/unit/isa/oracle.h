/*
 * What isa_decode() must say about an instruction, worked out from Zydis at run time: the oracle of this room's tests.
 * Written apart from tools/gen_isa.c, which asks Zydis only about sample bytes.
 */
#ifndef TESTS_UNIT_ISA_ORACLE_H
#define TESTS_UNIT_ISA_ORACLE_H

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "isa/insn.h"

struct oracle {
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static ZydisDecoder oracle_decoder;

static inline void oracle_init(void)
{
	ZydisDecoderInit(&oracle_decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&oracle_decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
}

/* Zydis also knows MVEX, VEX map 0, and jkzd and jknzd, which only one coprocessor ever had (Knights Corner). */
static inline bool oracle_decode(const u8 *bytes, size_t avail, struct oracle *o)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&oracle_decoder, bytes, avail, &o->zi, o->op)) &&
	       o->zi.encoding != ZYDIS_INSTRUCTION_ENCODING_MVEX && o->zi.meta.isa_set != ZYDIS_ISA_SET_KNCJKBR &&
	       !(o->zi.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX && o->zi.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT);
}

static inline int oracle_gpr(ZydisRegister r)
{
	r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	return r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15 ? (int)(r - ZYDIS_REGISTER_RAX) : -1;
}

static inline bool oracle_is(const struct oracle *o, const char *name)
{
	return !strcmp(ZydisMnemonicGetString(o->zi.mnemonic), name);
}

static inline bool oracle_is_one_of(const struct oracle *o, const char *const *names)
{
	for (; *names; names++)
		if (oracle_is(o, *names))
			return true;
	return false;
}

static inline bool oracle_is_nop(const struct oracle *o)
{
	const char *c = ZydisCategoryGetString(o->zi.meta.category);

	return !strcmp(c, "NOP") || !strcmp(c, "WIDENOP");
}

static inline bool oracle_no_access(const struct oracle *o)
{
	const char *c = ZydisCategoryGetString(o->zi.meta.category);

	return oracle_is_nop(o) || !strncmp(c, "PREFETCH", 8) || !strcmp(c, "CLDEMOTE");
}

/* The registers and the attributes that follow from the operands. */
static inline void oracle_operands(const struct oracle *o, struct insn *in)
{
	static const char *const keeps_old[] = {"bsf", "bsr", "rdsspd", "rdsspq", "sldt", "str", "smsw", NULL};
	bool partial_dst = oracle_is_one_of(o, keeps_old);

	for (unsigned i = 0; i < o->zi.operand_count; i++) {
		const ZydisDecodedOperand *op = &o->op[i];
		bool r = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		bool w = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			int base = oracle_gpr(op->mem.base);
			int index = oracle_gpr(op->mem.index);
			/* Zydis 4.0 overlooks that r13d with mod 0 means no base, as ebp does. */
			bool no_base = op->mem.base == ZYDIS_REGISTER_R13D && o->zi.raw.modrm.mod == 0;
			bool touches = op->mem.type != ZYDIS_MEMOP_TYPE_AGEN && op->mem.type != ZYDIS_MEMOP_TYPE_MIB;

			if (no_base)
				base = -1;
			in->reads |= base >= 0 ? 1u << base : 0;
			in->reads |= index >= 0 ? 1u << index : 0;
			if (op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM) {
				in->attr |= ISA_MEM;
				in->attr |= op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP
						    ? ISA_RIP_REL
						    : 0;
				in->attr |= op->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? ISA_VSIB : 0;
				in->base = base >= 0 ? base : 0xff;
				in->index = index >= 0 ? index : 0xff;
				in->rm_size =
					op->mem.type != ZYDIS_MEMOP_TYPE_AGEN && op->size < 256 * 8 ? op->size / 8 : 0;
				in->disp = op->mem.disp.has_displacement ? op->mem.disp.value : 0;
				if (no_base)
					in->disp = o->zi.raw.disp.value;
			} else if (!(o->zi.attributes & ZYDIS_ATTRIB_HAS_MODRM) && o->zi.raw.disp.size) {
				in->disp = op->mem.disp.value;
			} else if (!strcmp(ZydisCategoryGetString(o->zi.meta.category), "STRINGOP") ||
				   !strcmp(ZydisCategoryGetString(o->zi.meta.category), "IOSTRINGOP")) {
				in->writes |= 1u << base; /* Zydis 4.0 forgets it of cmps, scas, ins and outs */
			} else if (base == 4 && !oracle_is(o, "movdir64b")) {
				in->attr |= ISA_STACK;
			}
			if (touches && !oracle_no_access(o))
				in->attr |= (r ? ISA_LOAD : 0) | (w ? ISA_STORE : 0);
		} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			int n = oracle_gpr(op->reg.value);
			ZydisRegisterClass c = ZydisRegisterGetClass(op->reg.value);

			if (c >= ZYDIS_REGCLASS_XMM && c <= ZYDIS_REGCLASS_ZMM)
				in->attr |= ISA_SSE;
			if (c == ZYDIS_REGCLASS_MASK)
				in->attr |= ISA_SSE;
			if (n < 0)
				continue;
			if (w && (op->size < 32 || (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) || partial_dst))
				r = true;
			in->reads |= r ? 1u << n : 0;
			in->writes |= w ? 1u << n : 0;
			if (op->reg.value >= ZYDIS_REGISTER_AH && op->reg.value <= ZYDIS_REGISTER_BH &&
			    op->encoding != ZYDIS_OPERAND_ENCODING_NONE)
				in->attr |= ISA_REG8_HIGH;
			in->attr |= op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG ? ISA_REG_GPR : 0;
			in->attr |= op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM ? ISA_RM_GPR : 0;
			in->attr |= op->encoding == ZYDIS_OPERAND_ENCODING_NDSNDD ? ISA_VVVV_GPR : 0;
			in->attr |= op->encoding == ZYDIS_OPERAND_ENCODING_OPCODE ? ISA_OP_GPR : 0;
			if (op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
				in->rm_size = op->size / 8;
		}
	}
}

static inline enum isa_kind oracle_kind(const struct oracle *o)
{
	static const char *const loops[] = {"loop", "loope", "loopne", "jrcxz", "jecxz", NULL};
	static const char *const ints[] = {"int",  "int1", "int3", "into",  "ud0",   "ud1",   "ud2", "hlt", "in", "out",
					   "insb", "insw", "insd", "outsb", "outsw", "outsd", "cli", "sti", NULL};
	static const char *const irets[] = {"iret", "iretd", "iretq", "uiret", NULL};
	static const char *const pushfs[] = {"pushf", "pushfd", "pushfq", NULL};
	static const char *const popfs[] = {"popf", "popfd", "popfq", NULL};
	static const char *const bases[] = {"rdfsbase", "rdgsbase", "wrfsbase", "wrgsbase", NULL};
	static const char *const farloads[] = {"lss", "lfs", "lgs", NULL};
	static const char *const segments[] = {"pop", "mov", NULL};
	bool relative = o->zi.raw.imm[0].is_relative;
	bool far = o->zi.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	if (oracle_is_one_of(o, loops))
		return ISA_LOOP;
	if (oracle_is(o, "xbegin"))
		return ISA_XBEGIN;
	if (oracle_is(o, "jmp"))
		return far ? ISA_FAR : relative ? ISA_JMP : ISA_JMP_IND;
	if (oracle_is(o, "call"))
		return far ? ISA_FAR : relative ? ISA_CALL : ISA_CALL_IND;
	if (oracle_is(o, "ret"))
		return far ? ISA_FAR : ISA_RET;
	if (oracle_is_one_of(o, irets))
		return ISA_FAR;
	if (relative)
		return ISA_JCC;
	if (oracle_is(o, "syscall"))
		return ISA_SYSCALL;
	if (oracle_is(o, "sysenter") || (oracle_is(o, "int") && o->op[0].imm.value.u == 0x80))
		return ISA_SYSENTER;
	if (oracle_is_one_of(o, pushfs))
		return ISA_PUSHF;
	if (oracle_is_one_of(o, popfs))
		return ISA_POPF;
	if (oracle_is(o, "cpuid"))
		return ISA_CPUID;
	if (oracle_is(o, "xgetbv"))
		return ISA_XGETBV;
	if (oracle_is(o, "rdtsc") || oracle_is(o, "rdtscp"))
		return ISA_RDTSC;
	if (oracle_is(o, "rdpmc"))
		return ISA_RDPMC;
	if (oracle_is_one_of(o, bases))
		return ISA_FSGSBASE;
	if (oracle_is_one_of(o, ints) || (o->zi.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED))
		return ISA_INT;
	if (oracle_is_one_of(o, farloads) ||
	    (oracle_is_one_of(o, segments) && ZydisRegisterGetClass(o->op[0].reg.value) == ZYDIS_REGCLASS_SEGMENT &&
	     o->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER))
		return ISA_SEGLOAD;
	return ISA_PLAIN;
}

static inline void oracle_flags(const struct oracle *o, struct insn *in)
{
	static const char *const shifts[] = {"shl", "shr", "sar", "shld", "shrd", "rol", "ror", "rcl", "rcr", NULL};
	static const char *const logic[] = {"and", "or", "xor", "test", NULL};
	static const char *const tests[] = {"vptest", "vtestps", "vtestpd", NULL};
	const ZydisAccessedFlags *f = o->zi.cpu_flags;
	u32 sure;

	if (!f)
		return;
	sure = f->modified | f->set_0 | f->set_1;
	in->fl_reads = f->tested & (ISA_STATUS | ISA_DF);
	in->fl_writes = (sure | f->undefined) & (ISA_STATUS | ISA_DF);
	if (oracle_is_one_of(o, logic))
		sure |= ISA_AF;
	for (unsigned i = 0; i < o->zi.operand_count; i++)
		if (o->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && o->op[i].reg.value == ZYDIS_REGISTER_RFLAGS &&
		    !(o->op[i].actions & ZYDIS_OPERAND_ACTION_WRITE))
			sure = 0;
	if (!oracle_is_one_of(o, shifts) && !(in->attr & ISA_REP))
		in->fl_kills = sure & ~f->tested & (ISA_STATUS | ISA_DF);
	/* Zydis 4.0 forgets these, but not ptest. */
	if (oracle_is_one_of(o, tests))
		in->fl_writes = in->fl_kills = ISA_STATUS;
}

static inline void oracle_prefixes(const struct oracle *o, struct insn *in)
{
	static const u8 enc[] = {[ZYDIS_INSTRUCTION_ENCODING_LEGACY] = ISA_LEGACY,
				 [ZYDIS_INSTRUCTION_ENCODING_3DNOW] = ISA_3DNOW,
				 [ZYDIS_INSTRUCTION_ENCODING_VEX] = ISA_VEX,
				 [ZYDIS_INSTRUCTION_ENCODING_EVEX] = ISA_EVEX,
				 [ZYDIS_INSTRUCTION_ENCODING_XOP] = ISA_XOP};

	in->enc = enc[o->zi.encoding];
	for (unsigned i = 0; i < o->zi.raw.prefix_count; i++)
		switch (o->zi.raw.prefixes[i].value) {
		case 0x66:
			in->legacy |= 1;
			break;
		case 0xf2:
			in->legacy |= 2;
			break;
		case 0xf3:
			in->legacy |= 4;
			break;
		case 0x67:
			in->legacy |= 8;
			break;
		case 0xf0:
			in->legacy |= 16;
			break;
		case 0x64:
		case 0x65:
			in->seg = o->zi.raw.prefixes[i].value;
			in->legacy |= 32;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			in->legacy |= 32;
			break;
		}
}

static inline s64 sign_extend(u64 v, unsigned bits)
{
	return bits ? (s64)(v << (64 - bits)) >> (64 - bits) : 0;
}

/* The fields of *in that come from the bytes; opcode_off and prefix_off are left to the caller's own look. */
static inline void oracle_shape(const struct oracle *o, const u8 *bytes, struct insn *in)
{
	const ZydisDecodedInstructionRaw *raw = &o->zi.raw;
	unsigned off = in->len;

	if (o->zi.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		in->modrm_off = raw->modrm.offset;
		in->modrm = bytes[in->modrm_off];
	}
	if (o->zi.attributes & ZYDIS_ATTRIB_HAS_SIB) {
		in->sib_off = raw->sib.offset;
		in->sib = bytes[in->sib_off];
	}
	in->disp_size = raw->disp.size / 8;
	in->disp_off = in->disp_size ? raw->disp.offset : 0;
	in->imm_size = (raw->imm[0].size + raw->imm[1].size) / 8;
	in->imm_off = in->imm_size ? raw->imm[0].offset : 0;
	in->imm = sign_extend(raw->imm[0].value.u, raw->imm[0].size);
	off -= in->imm_size + in->disp_size + !!in->sib_off + !!in->modrm_off;
	if (in->enc == ISA_3DNOW) {
		in->imm_size = 1;
		in->imm_off = in->len - 1;
		in->imm = (s8)bytes[in->len - 1];
		off--;
	}
	in->opcode_off = off - 1;
	in->opcode = bytes[off - 1];
	switch (in->enc) {
	case ISA_VEX:
		in->prefix_off = raw->vex.offset;
		in->map = raw->vex.size == 2 ? 1 : raw->vex.m_mmmm;
		break;
	case ISA_EVEX:
		in->prefix_off = raw->evex.offset;
		in->map = raw->evex.mmm;
		break;
	case ISA_XOP:
		in->prefix_off = raw->xop.offset;
		in->map = raw->xop.m_mmmm;
		break;
	default:
		in->map = in->enc == ISA_3DNOW ? 1 : o->zi.opcode_map;
		in->prefix_off = in->opcode_off - (in->map > 1 ? 2 : in->map);
		if (o->zi.attributes & ZYDIS_ATTRIB_HAS_REX) {
			in->rex = bytes[raw->rex.offset];
			in->prefix_off = raw->rex.offset;
		}
		break;
	}
}

/* Fills *in from o; weight, ISA_SWAP_DIR and ISA_NO_MEM_RM are not Zydis' and stay 0. */
static inline void oracle_insn(const struct oracle *o, const u8 *bytes, struct insn *in)
{
	const char *category = ZydisCategoryGetString(o->zi.meta.category);
	static const char *const plain_ends[] = {"leave", "enter", NULL};

	memset(in, 0, sizeof(*in));
	in->len = o->zi.length;
	in->base = in->index = 0xff;
	oracle_prefixes(o, in);
	oracle_shape(o, bytes, in);
	oracle_operands(o, in);
	if (oracle_is_nop(o)) {
		in->reads = in->writes = 0;
		in->attr &= ISA_MEM | ISA_RIP_REL;
		if (!(in->attr & ISA_MEM))
			in->rm_size = 0;
	}
	in->kind = oracle_kind(o);
	in->opsize = o->zi.operand_width / 8;
	for (unsigned i = 0; i < o->zi.operand_count_visible; i++)
		if (o->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER && oracle_gpr(o->op[i].reg.value) >= 0 &&
		    o->op[i].encoding != ZYDIS_OPERAND_ENCODING_NONE) {
			in->opsize = o->op[i].size / 8;
			break;
		}
	if (!strcmp(category, "STRINGOP") || !strcmp(category, "IOSTRINGOP")) {
		in->attr |= ISA_STRING;
		if (o->zi.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
			in->attr |= ISA_REP;
	}
	if (o->zi.attributes & ZYDIS_ATTRIB_HAS_LOCK)
		in->attr |= ISA_LOCK;
	if (oracle_is_one_of(o, plain_ends))
		in->attr |= ISA_STACK;
	if (!strcmp(ZydisISAExtGetString(o->zi.meta.isa_ext), "X87"))
		in->attr |= ISA_X87;
	if (o->zi.attributes & (ZYDIS_ATTRIB_XMM_STATE_CR | ZYDIS_ATTRIB_XMM_STATE_CW))
		in->attr |= ISA_SSE;
	if (oracle_is(o, "div") || oracle_is(o, "idiv"))
		in->attr |= ISA_DIV;
	switch (in->kind) {
	case ISA_PLAIN:
	case ISA_PUSHF:
	case ISA_POPF:
	case ISA_CPUID:
	case ISA_XGETBV:
	case ISA_RDTSC:
	case ISA_RDPMC:
	case ISA_FSGSBASE:
	case ISA_SEGLOAD:
		break;
	default:
		in->attr |= ISA_FLOW_END;
	}
	oracle_flags(o, in);
}

static inline void oracle_print(const struct oracle *o, const u8 *bytes, unsigned n)
{
	ZydisFormatter f;
	char text[256] = "(invalid)";

	if (o) {
		ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
		ZydisFormatterFormatInstruction(&f, &o->zi, o->op, o->zi.operand_count_visible, text, sizeof(text), 0,
						NULL);
	}
	for (unsigned i = 0; i < n; i++)
		fprintf(stderr, "%02x ", bytes[i]);
	fprintf(stderr, " %s\n", text);
}

/* Compares what isa_decode() says about bytes with the oracle. Prints and counts differences. */
static inline unsigned oracle_compare(const u8 *bytes, size_t avail)
{
	struct oracle o;
	struct insn got, want;
	int n = isa_decode(bytes, avail, &got);
	unsigned bad = 0;

	if (!oracle_decode(bytes, avail, &o)) {
		if (n <= 0)
			return 0;
		fprintf(stderr, "isa_decode says %d bytes, Zydis says invalid: ", n);
		oracle_print(NULL, bytes, avail);
		return 1;
	}
	/* Zydis takes xchg r8 with a rep prefix for pause; the processor does not. */
	if (oracle_is(&o, "pause") && (o.zi.attributes & ZYDIS_ATTRIB_HAS_REX) && o.zi.raw.rex.B)
		return n != o.zi.length || got.writes != 0x101;
	oracle_insn(&o, bytes, &want);
	if (n != want.len) {
		fprintf(stderr, "isa_decode says %d bytes, Zydis says %d: ", n, want.len);
		oracle_print(&o, bytes, want.len);
		return 1;
	}
#define SAME(field)                                                                                                    \
	do {                                                                                                           \
		if (got.field != want.field) {                                                                         \
			fprintf(stderr, #field " is %#llx, should be %#llx: ", (long long)got.field,                   \
				(long long)want.field);                                                                \
			oracle_print(&o, bytes, want.len);                                                             \
			bad++;                                                                                         \
		}                                                                                                      \
	} while (0)
	got.attr &= ~(ISA_SWAP_DIR | ISA_NO_MEM_RM);
	if (got.enc == ISA_3DNOW)
		got.opsize = want.opsize; /* no general-register operand to have a size */
	SAME(len);
	SAME(kind);
	SAME(enc);
	SAME(map);
	SAME(opcode);
	SAME(opcode_off);
	SAME(prefix_off);
	SAME(rex);
	SAME(modrm_off);
	SAME(modrm);
	SAME(sib_off);
	SAME(sib);
	SAME(disp_off);
	SAME(disp_size);
	SAME(imm_off);
	SAME(imm_size);
	SAME(opsize);
	SAME(rm_size);
	SAME(base);
	SAME(index);
	SAME(seg);
	SAME(legacy);
	SAME(reads);
	SAME(writes);
	SAME(fl_reads);
	SAME(fl_writes);
	SAME(fl_kills);
	SAME(attr);
	SAME(disp);
	SAME(imm);
#undef SAME
	return bad;
}

#endif
