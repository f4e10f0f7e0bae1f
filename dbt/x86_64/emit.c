/* See dbt/emit.h. */
#include "dbt/x86_64/emit.h"

void emit_patch(u8 *at, const u8 *to)
{
	s32 rel = (s32)(to - (at + 4));

	__atomic_store_n((s32 *)at, rel, __ATOMIC_RELEASE);
}

u8 *emit_jmp(struct emit *e, const u8 *to)
{
	emit8(e, 0xe9);
	emit32(e, (u32)(to - (e->p + 4)));
	return e->p - 4;
}

/* Multi-byte nops, as the manuals recommend them. */
void emit_nops(struct emit *e, unsigned n)
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

void emit_align_rel32(struct emit *e, unsigned before)
{
	unsigned at = ((uintptr_t)e->p + before) & 63;

	if (at > 60)
		emit_nops(e, 64 - at);
}

void emit_align_jmp(struct emit *e)
{
	emit_align_rel32(e, 1);
}
