/*
 * Writing host instructions. A struct emit is a cursor in the code cache; the caller has made sure that there is room
 * (a translated guest instruction takes at most EMIT_INSN_MAX bytes). Only the forms that the translator needs.
 */
#ifndef DBT_EMIT_H
#define DBT_EMIT_H

#include "abi/types.h"
#include "cpu/cpu.h"
#include "rt/string.h"

#define EMIT_INSN_MAX 160

struct emit {
	u8 *p;
	/* behind the last instruction's effect, where more follows that puts registers back; NULL: nothing does */
	u8 *done;
	/* the displacement of the last operand relative to rip, which a copy must change; NULL: noted, or none */
	u8 *fix;
};

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

static inline void emit_bytes(struct emit *e, const u8 *bytes, size_t n)
{
	memcpy(e->p, bytes, n);
	e->p += n;
}

static inline bool fits_s8(s64 v)
{
	return v == (s8)v;
}

static inline bool fits_s32(s64 v)
{
	return v == (s32)v;
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
 * The 32-bit displacement at `at` so that the instruction ending after it reaches `to`. Atomic if `at` crosses no line.
 */
static inline void emit_patch_rel32(u8 *at, const u8 *to)
{
	s32 rel = (s32)(to - (at + 4));

	__atomic_store_n((s32 *)at, rel, __ATOMIC_RELEASE);
}

/* jmp rel32 to a place that is known; returns the address of the displacement */
static inline u8 *emit_jmp(struct emit *e, const u8 *to)
{
	emit8(e, 0xe9);
	emit32(e, (u32)(to - (e->p + 4)));
	return e->p - 4;
}

/* Multi-byte nops, as the manuals recommend them. */
static inline void emit_nops(struct emit *e, unsigned n)
{
	static const u8 nop[9][9] = {
		{0x90},
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
		{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};

	while (n) {
		unsigned k = n < 9 ? n : 9;

		emit_bytes(e, nop[k - 1], k);
		n -= k;
	}
}

/*
 * Pads so that a displacement that comes after `before` more bytes does not cross a cache line: other threads may run
 * the branch while it is patched.
 */
static inline void emit_align_rel32(struct emit *e, unsigned before)
{
	unsigned at = ((uintptr_t)e->p + before) & 63;

	if (at > 60)
		emit_nops(e, 64 - at);
}

#endif
