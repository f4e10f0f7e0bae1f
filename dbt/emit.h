/*
 * Writing host instructions. A struct emit is a cursor in the code cache; the caller has made sure that there is room
 * (a translated guest instruction takes at most EMIT_INSN_MAX bytes). What is written is the architecture's to say.
 */
#ifndef DBT_EMIT_H
#define DBT_EMIT_H

#include "abi/types.h"
#include "rt/string.h"

#define EMIT_INSN_MAX 160

struct emit {
	u8 *p;
	/* behind the last instruction's effect, where more follows that puts registers back; NULL: nothing does */
	u8 *done;
	/* the displacement of the last operand relative to rip, which a copy must change; NULL: noted, or none */
	u8 *fix;
};

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

/*
 * The branch whose displacement is at `at` leads to `to`. Atomic where emit_align_jmp() or the like was called before
 * the branch was written: other threads may run it meanwhile.
 */
void emit_patch(u8 *at, const u8 *to);

/* A jump to a place that is known. Returns the address of the displacement. */
u8 *emit_jmp(struct emit *e, const u8 *to);
/* In front of a jump that is to be patched. */
void emit_align_jmp(struct emit *e);

/* Instructions that do nothing, so many bytes. */
void emit_nops(struct emit *e, unsigned n);

#endif
