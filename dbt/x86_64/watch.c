/* See watch.h. */
#include "dbt/x86_64/watch.h"
#include "dbt/dbt.h"
#include "dbt/x86_64/emit.h"
#include "rt/log.h"

#define PFX_67 8
#define WIDEST 64 /* bytes of an access that is not always stopped at; os/ sets watch_lo for it */

static bool has_fsgsbase;

void dbt_use_fsgsbase(bool yes)
{
	has_fsgsbase = yes;
}

/* An address in terms of registers at the start of the instruction. */
struct address {
	u8 base, index; /* 0xff: none */
	u8 shift;
	u8 seg;
	bool narrow;	/* 32-bit */
	s64 disp;
};

bool watch_wanted(const struct insn *in)
{
	return in->attr & (ISA_LOAD | ISA_STORE);
}

static struct address of_register(const struct insn *in, u8 reg, s64 disp)
{
	return (struct address){.base = reg, .index = 0xff, .disp = disp, .narrow = in->legacy & PFX_67};
}

static struct address of_operand(const struct insn *in, u64 pc)
{
	struct address a = {
		.base = in->base,
		.index = in->index,
		.shift = in->sib >> 6,
		.seg = in->seg,
		.narrow = in->legacy & PFX_67,
		.disp = in->disp,
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

/* Only the source's segment can be another. */
static u32 string_addresses(const struct insn *in, struct address out[2])
{
	u32 n = 0;

	if (in->opcode < 0xaa || (in->opcode & 0xfe) == 0xac) {
		out[n] = of_register(in, RSI, 0);
		out[n++].seg = in->seg;
	}
	if ((in->opcode & 0xfe) != 0xac)
		out[n++] = of_register(in, RDI, 0);
	return n;
}

/* The accesses' lowest addresses, or less by up to 8. 0: they are not that simple. */
static u32 addresses(const struct insn *in, u64 pc, struct address out[2])
{
	u32 n = 0;

	if ((in->attr & (ISA_REP | ISA_VSIB)) || is_bit_string(in))
		return 0;
	if (in->attr & ISA_STRING)
		return in->opcode >= 0xa4 && in->opcode < 0xb0 ? string_addresses(in, out) : 0;
	if (in->attr & ISA_STACK) {
		out[n] = of_register(in, is_leave(in) ? RBP : RSP, is_leave(in) ? 0 : -8);
		out[n++].narrow = false;
	} else if (!(in->attr & ISA_MEM) && !is_moffs(in)) {
		return 0;
	} else if ((in->attr & ISA_MEM) && (!in->rm_size || in->rm_size > WIDEST)) {
		return 0;
	}
	if ((in->attr & ISA_MEM) || is_moffs(in))
		out[n++] = of_operand(in, pc);
	for (u32 i = 0; i < n; i++)
		if (out[i].seg && !has_fsgsbase)
			return 0;
	return n;
}

/* lea disp(base,index<<shift), %rcx, as a 32-bit address if it is one */
static void emit_lea(struct emit *e, const struct address *a, unsigned base, unsigned index, s32 disp)
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

/* To rcx, from the guest's registers, of which the stolen one comes into a scratch register first. */
static void emit_address(struct emit *e, const struct address *a)
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

/* sub watch_lo(%cpu), %rcx; cmp watch_len(%cpu), %rcx; jb somewhere */
static u8 *emit_compare(struct emit *e)
{
	emit8(e, 0x49), emit8(e, 0x2b);
	emit_cpu_mem(e, RCX, CPU_AT(watch_lo));
	emit8(e, 0x49), emit8(e, 0x3b);
	emit_cpu_mem(e, RCX, CPU_AT(watch_len));
	emit8(e, 0x0f), emit8(e, 0x82);
	emit32(e, 0);
	return e->p - 4;
}

/* lahf; seto %al: needs rax */
static void emit_save_flags(struct emit *e)
{
	emit8(e, 0x9f);
	emit8(e, 0x0f), emit8(e, 0x90), emit8(e, 0xc0);
}

/* add $127, %al sets the overflow flag from seto's 1; sahf the others */
static void emit_restore_flags(struct emit *e)
{
	emit8(e, 0x04), emit8(e, 0x7f);
	emit8(e, 0x9e);
}

static void emit_take_back(struct emit *e)
{
	emit_load_cpu(e, RAX, CPU_AT(spill[0]));
	emit_load_cpu(e, RCX, CPU_AT(spill[1]));
}

void watch_emit_filter(struct emit *e, const u8 *back)
{
	/* shr $6, %ecx; and $(CPU_WATCH_MAP - 1), %ecx: it is the distance from watch_lo */
	emit8(e, 0xc1), emit8(e, 0xe9), emit8(e, 6);
	emit8(e, 0x81), emit8(e, 0xe1), emit32(e, CPU_WATCH_MAP - 1);
	/* cmpb $0, watch_map(%cpu,%rcx); je back */
	emit8(e, 0x41), emit8(e, 0x80), emit8(e, 0xbc), emit8(e, RCX << 3 | (STOLEN & 7));
	emit32(e, CPU_AT(watch_map)), emit8(e, 0);
	emit8(e, 0x0f), emit8(e, 0x84), emit32(e, (u32)(back - (e->p + 4)));
}

void watch_emit_undo(struct emit *e, const struct watch_check *c)
{
	if (c->flags_saved)
		emit_restore_flags(e);
	emit_take_back(e);
}

struct watch_check watch_emit(struct emit *e, const struct insn *in, u64 pc)
{
	struct address a[2];
	struct watch_check c = {.flags_saved = true};

	emit_store_cpu(e, RAX, CPU_AT(spill[0]));
	emit_store_cpu(e, RCX, CPU_AT(spill[1]));
	c.n = addresses(in, pc, a);
	/* The next address is computed from the guest's rax and rcx again. */
	for (u32 i = 0; i < c.n; i++) {
		emit_address(e, &a[i]);
		emit_save_flags(e);
		c.patch[i] = emit_compare(e);
		watch_emit_undo(e, &c);
	}
	if (!c.n) {
		c.flags_saved = false;
		emit8(e, 0xe9);
		emit32(e, 0);
		c.patch[c.n++] = e->p - 4;
	}
	return c;
}
