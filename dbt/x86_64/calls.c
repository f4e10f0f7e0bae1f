/* See calls.h. */
#include "dbt/x86_64/calls.h"

#define POS ((s32)CPU_AT(calls_pos))

/* movzwl calls_pos(%cpu), %edx; lea n(%rdx), %edx; mov %dx, calls_pos(%cpu) */
static void emit_move_pos(struct emit *e, s8 n)
{
	emit8(e, 0x41), emit8(e, 0x0f), emit8(e, 0xb7);
	emit_cpu_mem(e, RDX, POS);
	emit8(e, 0x8d), emit8(e, 0x52), emit8(e, (u8)n);
	emit8(e, 0x66), emit8(e, 0x41), emit8(e, 0x89);
	emit_cpu_mem(e, RDX, POS);
}

/* lea (%rdx,%rdx,2), %rdx; mov calls(%cpu), %rcx; lea (%rcx,%rdx,8), %rcx */
static void emit_entry_address(struct emit *e)
{
	_Static_assert(sizeof(struct cpu_call) == 24, "the index is scaled by 3 and by 8");
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x14), emit8(e, 0x52);
	emit_load_cpu(e, RCX, CPU_AT(calls));
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x0c), emit8(e, 0xd1);
}

/* mov %reg, disp(%rcx) */
static void emit_store_entry(struct emit *e, unsigned reg, u8 disp)
{
	emit8(e, 0x48), emit8(e, 0x89), emit8(e, 0x41 | reg << 3), emit8(e, disp);
}

void calls_emit_push(struct emit *e, u64 ret, u8 len, u64 to)
{
	const u8 second = offsetof(struct cpu_call, sp) + 8; /* `to`, and in its top byte `len` */

	emit_move_pos(e, 1);
	/* movzwl %dx, %edx */
	emit8(e, 0x0f), emit8(e, 0xb7), emit8(e, 0xd2);
	emit_entry_address(e);
	emit_store_entry(e, RSP, offsetof(struct cpu_call, sp));
	emit_mov_imm(e, RDX, ret);
	emit_store_entry(e, RDX, offsetof(struct cpu_call, ret));
	if (to)
		emit_mov_imm(e, RDX, to);
	else
		emit_load_cpu(e, RDX, CPU_AT(target));
	emit_store_entry(e, RDX, second);
	/* movb $len, second + 7(%rcx) */
	emit8(e, 0xc6), emit8(e, 0x41), emit8(e, second + 7), emit8(e, len);
}

void calls_emit_pop(struct emit *e)
{
	emit_move_pos(e, -1);
}
