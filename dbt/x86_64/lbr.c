/* See lbr.h. */
#include "dbt/x86_64/lbr.h"

/* ModRM and SIB for disp(%cpu,%rdx,8) with the given reg field */
static void emit_ring_mem(struct emit *e, unsigned reg, s32 disp)
{
	emit8(e, 0x84 | (reg & 7) << 3);
	emit8(e, 0xc0 | RDX << 3 | (STOLEN & 7));
	emit32(e, (u32)disp);
}

/* mov %rcx, disp(%cpu,%rdx,8) */
static void emit_store_rcx(struct emit *e, s32 disp)
{
	emit8(e, 0x49);
	emit8(e, 0x89);
	emit_ring_mem(e, RCX, disp);
}

/* movq $value, disp(%cpu,%rdx,8), by way of rcx if need be */
static void emit_store_value(struct emit *e, s32 disp, u64 value)
{
	if (!fits_s32((s64)value)) {
		emit_mov_imm(e, RCX, value);
		emit_store_rcx(e, disp);
		return;
	}
	emit8(e, 0x49);
	emit8(e, 0xc7);
	emit_ring_mem(e, 0, disp);
	emit32(e, (u32)value);
}

/* movzbl lbr_pos(%cpu), %edx */
static void emit_load_pos(struct emit *e)
{
	emit8(e, 0x41), emit8(e, 0x0f), emit8(e, 0xb6);
	emit_cpu_mem(e, RDX, CPU_AT(lbr_pos));
}

/* lea 1(%rdx), %edx; mov %dl, lbr_pos(%cpu) */
static void emit_advance_pos(struct emit *e)
{
	emit8(e, 0x8d), emit8(e, 0x52), emit8(e, 1);
	emit8(e, 0x41), emit8(e, 0x88);
	emit_cpu_mem(e, RDX, CPU_AT(lbr_pos));
}

void lbr_emit(struct emit *e, u64 from, u64 to)
{
	emit_load_pos(e);
	emit_store_value(e, CPU_AT(lbr_from), from);
	emit_store_value(e, CPU_AT(lbr_to), to);
	emit_advance_pos(e);
}

void lbr_emit_indirect(struct emit *e, u64 from)
{
	bool far = !fits_s32((s64)from);

	emit_load_pos(e);
	emit_store_rcx(e, CPU_AT(lbr_to));
	if (far)
		emit_store_cpu(e, RCX, CPU_AT(target));
	emit_store_value(e, CPU_AT(lbr_from), from);
	if (far)
		emit_load_cpu(e, RCX, CPU_AT(target));
	emit_advance_pos(e);
}
