/* See data_address.h. */
#include "dbt/x86_64/data_address.h"
#include "dbt/dbt.h"
#include "dbt/x86_64/emit.h"
#include "rt/log.h"

#define PFX_67 8

static bool has_fsgsbase;

void dbt_use_fsgsbase(bool yes)
{
	has_fsgsbase = yes;
}

bool data_address_wanted(const struct insn *in)
{
	return in->attr & (ISA_LOAD | ISA_STORE);
}

static struct data_address of_register(const struct insn *in, u8 reg, u8 size, bool write)
{
	return (struct data_address){
		.base = reg,
		.index = 0xff,
		.narrow = in->legacy & PFX_67,
		.size = size,
		.write = write,
	};
}

static struct data_address of_operand(const struct insn *in, u64 pc)
{
	struct data_address a = {
		.base = in->base,
		.index = in->index,
		.shift = in->sib >> 6,
		.seg = in->seg,
		.narrow = in->legacy & PFX_67,
		.disp = in->disp,
		.size = in->rm_size ? in->rm_size : in->opsize,
		.write = in->attr & ISA_STORE,
	};

	if (in->attr & ISA_RIP_REL)
		a.disp += (s64)(pc + in->len);
	return a;
}

/* bt and its relatives with a register as bit offset */
static bool is_bit_string(const struct insn *in)
{
	return in->enc == ISA_LEGACY && in->map == 1 && (in->opcode & 0xe7) == 0xa3;
}

static bool is_moffs(const struct insn *in)
{
	return in->enc == ISA_LEGACY && in->map == 0 && (in->opcode & 0xfc) == 0xa0;
}

static bool is_leave(const struct insn *in)
{
	return in->enc == ISA_LEGACY && in->map == 0 && in->opcode == 0xc9;
}

static bool is_pop(const struct insn *in)
{
	return in->enc == ISA_LEGACY && in->map == 0 && in->opcode == 0x8f;
}

/* Only the source's segment can be another. */
static u32 string_addresses(const struct insn *in, struct data_address out[2])
{
	u32 n = 0;

	u8 size = in->opcode & 1 ? in->opsize : 1;

	if (in->opcode < 0xaa || (in->opcode & 0xfe) == 0xac) {
		out[n] = of_register(in, RSI, size, false);
		out[n++].seg = in->seg;
	}
	if ((in->opcode & 0xfe) != 0xac)
		out[n++] = of_register(in, RDI, size, in->attr & ISA_STORE);
	return n;
}

/* Reading, it is at the stack pointer; else in front of it. A memory operand is read, that of pop written. */
static struct data_address of_stack(const struct insn *in)
{
	bool pops = in->attr & ISA_MEM ? is_pop(in) : in->attr & ISA_LOAD;
	struct data_address a = of_register(in, is_leave(in) ? RBP : RSP, 8, !pops);

	a.disp = pops ? 0 : -8;
	a.narrow = false;
	return a;
}

/* The address of a pop may have the stack pointer in it as it is after that. */
static struct data_address beside_stack(const struct insn *in, u64 pc)
{
	struct data_address a = of_operand(in, pc);

	a.write = is_pop(in);
	a.size = is_pop(in) ? 16 : 8;
	return a;
}

u32 data_addresses(const struct insn *in, u64 pc, struct data_address out[2])
{
	bool memory = (in->attr & ISA_MEM) || is_moffs(in);
	u32 n = 0;

	if ((in->attr & (ISA_REP | ISA_VSIB)) || is_bit_string(in))
		return 0;
	if (in->attr & ISA_STRING)
		return in->opcode >= 0xa4 && in->opcode < 0xb0 ? string_addresses(in, out) : 0;
	if (!memory && !(in->attr & ISA_STACK))
		return 0;
	if (!(in->attr & ISA_STACK) && (in->attr & ISA_MEM) && (!in->rm_size || in->rm_size > DATA_WIDEST))
		return 0;
	if (in->attr & ISA_STACK)
		out[n++] = of_stack(in);
	if (memory)
		out[n++] = in->attr & ISA_STACK ? beside_stack(in, pc) : of_operand(in, pc);
	for (u32 i = 0; i < n; i++)
		if (out[i].seg && !has_fsgsbase)
			return 0;
	return n;
}

/* lea disp(base,index<<shift), %rcx, as a 32-bit address if it is one */
static void emit_lea(struct emit *e, const struct data_address *a, unsigned base, unsigned index, s32 disp)
{
	bool has_base = base != 0xff, has_index = index != 0xff;

	check_slow(!has_index || index != RSP); /* that is none */
	if (a->narrow)
		emit8(e, 0x67);
	emit8(e, 0x48 | (has_base && base >= 8) | (has_index && index >= 8) << 1);
	emit8(e, 0x8d);
	emit8(e, (has_base ? 0x80 : 0) | RCX << 3 | 4);
	emit8(e, a->shift << 6 | (has_index ? index & 7 : 4) << 3 | (has_base ? base & 7 : 5));
	emit32(e, (u32)disp);
}

void data_address_emit(struct emit *e, const struct data_address *a)
{
	unsigned base = a->base, index = a->index;

	if (base == STOLEN || index == STOLEN) {
		unsigned sub = base == RAX || index == RAX ? RCX : RAX;

		emit_load_cpu(e, sub, CPU_AT(stolen));
		base = base == STOLEN ? sub : base;
		index = index == STOLEN ? sub : index;
	}
	if (base == 0xff && index == 0xff)
		emit_mov_imm(e, RCX, a->narrow ? (u32)a->disp : (u64)a->disp);
	else
		emit_lea(e, a, base, index, (s32)a->disp);
	if (!a->seg)
		return;
	/* rdfsbase or rdgsbase %rax; lea (%rcx,%rax), %rcx */
	emit8(e, 0xf3), emit8(e, 0x48), emit8(e, 0x0f), emit8(e, 0xae), emit8(e, a->seg == 0x64 ? 0xc0 : 0xc8);
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x0c), emit8(e, 0x01);
}

/* lahf; seto %al */
void data_save_flags(struct emit *e)
{
	emit8(e, 0x9f);
	emit8(e, 0x0f), emit8(e, 0x90), emit8(e, 0xc0);
}

/* add $127, %al sets the overflow flag from seto's 1; sahf the others */
void data_restore_flags(struct emit *e)
{
	emit8(e, 0x04), emit8(e, 0x7f);
	emit8(e, 0x9e);
}

void data_take_back(struct emit *e)
{
	emit_load_cpu(e, RAX, CPU_AT(spill[0]));
	emit_load_cpu(e, RCX, CPU_AT(spill[1]));
}
