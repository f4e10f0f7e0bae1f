/* Writing x86-64 instructions: only the forms that the translator needs. See dbt/emit.h. */
#ifndef DBT_X86_64_EMIT_H
#define DBT_X86_64_EMIT_H

#include "cpu/cpu.h"
#include "dbt/emit.h"

static inline void emit8(struct emit *e, u8 b)
{
	*e->p++ = b;
}

static inline void emit32(struct emit *e, u32 v)
{
	memcpy(e->p, &v, 4);
	e->p += 4;
}

static inline void emit64(struct emit *e, u64 v)
{
	memcpy(e->p, &v, 8);
	e->p += 8;
}

/* ModRM (and displacement) for [stolen register + disp] with the given reg field. The register needs no SIB. */
_Static_assert(STOLEN >= 8 && (STOLEN & 7) != 4, "REX.B is set below, and there is no SIB");

static inline void emit_cpu_mem(struct emit *e, unsigned reg, s32 disp)
{
	if (fits_s8(disp)) {
		emit8(e, 0x40 | (reg & 7) << 3 | (STOLEN & 7));
		emit8(e, (u8)disp);
	} else {
		emit8(e, 0x80 | (reg & 7) << 3 | (STOLEN & 7));
		emit32(e, (u32)disp);
	}
}

/* mov %reg, disp(%cpu), where %cpu is the stolen register, as in all that follows */
static inline void emit_store_cpu(struct emit *e, unsigned reg, s32 disp)
{
	emit8(e, 0x49 | (reg >> 3) << 2);
	emit8(e, 0x89);
	emit_cpu_mem(e, reg, disp);
}

/* mov disp(%cpu), %reg */
static inline void emit_load_cpu(struct emit *e, unsigned reg, s32 disp)
{
	emit8(e, 0x49 | (reg >> 3) << 2);
	emit8(e, 0x8b);
	emit_cpu_mem(e, reg, disp);
}

/* movsbq 7+disp(%cpu), %reg: the top byte of the word at disp */
static inline void emit_load_top_byte_cpu(struct emit *e, unsigned reg, s32 disp)
{
	emit8(e, 0x49 | (reg >> 3) << 2);
	emit8(e, 0x0f);
	emit8(e, 0xbe);
	emit_cpu_mem(e, reg, disp + 7);
}

/* movl $value, disp(%cpu) */
static inline void emit_set_cpu(struct emit *e, s32 disp, u32 value)
{
	emit8(e, 0x41);
	emit8(e, 0xc7);
	emit_cpu_mem(e, 0, disp);
	emit32(e, value);
}

/* addq $n, disp(%cpu); writes the status flags */
static inline void emit_add_cpu(struct emit *e, s32 disp, s32 n)
{
	emit8(e, 0x49);
	if (n == 1 || n == -1) { /* inc, dec */
		emit8(e, 0xff);
		emit_cpu_mem(e, n < 0, disp);
		return;
	}
	emit8(e, fits_s8(n) ? 0x83 : 0x81);
	emit_cpu_mem(e, 0, disp);
	if (fits_s8(n))
		emit8(e, (u8)n);
	else
		emit32(e, (u32)n);
}

/* mov $value, %reg in the shortest form; writes no flags */
static inline void emit_mov_imm(struct emit *e, unsigned reg, u64 value)
{
	if (value <= 0xffffffffu) {
		if (reg >= 8)
			emit8(e, 0x41);
		emit8(e, 0xb8 | (reg & 7));
		emit32(e, (u32)value);
	} else if (fits_s32((s64)value)) {
		emit8(e, 0x48 | reg >> 3);
		emit8(e, 0xc7);
		emit8(e, 0xc0 | (reg & 7));
		emit32(e, (u32)value);
	} else {
		emit8(e, 0x48 | reg >> 3);
		emit8(e, 0xb8 | (reg & 7));
		emit64(e, value);
	}
}

/* lea disp(%reg), %reg with reg neither rsp nor r12 */
static inline void emit_lea_self(struct emit *e, unsigned reg, s32 disp)
{
	emit8(e, 0x48 | (reg >> 3) << 2 | reg >> 3);
	emit8(e, 0x8d);
	emit8(e, 0x80 | (reg & 7) << 3 | (reg & 7));
	emit32(e, (u32)disp);
}

/* jmp *disp(%cpu) */
static inline void emit_jmp_cpu(struct emit *e, s32 disp)
{
	emit8(e, 0x41);
	emit8(e, 0xff);
	emit_cpu_mem(e, 4, disp);
}

/*
 * Pads so that a displacement that comes after `before` more bytes does not cross a cache line: other threads may run
 * the branch while it is patched.
 */
void emit_align_rel32(struct emit *e, unsigned before);

/* Adds n to the word at disp in the running thread's struct cpu without touching the flags. */
void emit_add_keeping_flags(struct emit *e, s32 disp, s32 n);
/*
 * The same, and goes elsewhere if the word is used up then, with rcx in spill[0]. Returns the address of the
 * displacement.
 */
u8 *emit_test_keeping_flags(struct emit *e, s32 disp, s32 n);

#endif
