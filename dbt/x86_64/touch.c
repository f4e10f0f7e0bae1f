/* See touch.h. */
#include "dbt/x86_64/touch.h"
#include "dbt/x86_64/emit.h"

#define PAGE_SHIFT 12
_Static_assert(PAGE_SIZE == 1 << PAGE_SHIFT, "pages are numbered by a shift");
_Static_assert(DATA_WIDEST < 128, "an 8-bit displacement");

static void emit_jne(struct emit *e, struct touch_check *c)
{
	emit8(e, 0x0f), emit8(e, 0x85), emit32(e, 0);
	c->patch[c->n++] = e->p - 4;
}

/* lea size-1(%rcx), %rax; xor %rcx, %rax; shr $12, %rax; jne: not all of it is in the page of its first byte */
static void emit_crosses(struct emit *e, u8 size, struct touch_check *c)
{
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x41), emit8(e, size - 1);
	emit8(e, 0x48), emit8(e, 0x31), emit8(e, 0xc8);
	emit8(e, 0x48), emit8(e, 0xc1), emit8(e, 0xe8), emit8(e, PAGE_SHIFT);
	emit_jne(e, c);
}

/*
 * mov %ecx, %eax; shr $12, %eax; and $(CPU_TOUCHED - 1), %eax; shr $15, %rcx; cmp %ecx, tag(%cpu,%rax,4); jne
 */
static void emit_look(struct emit *e, bool write, struct touch_check *c)
{
	emit8(e, 0x89), emit8(e, 0xc8);
	emit8(e, 0xc1), emit8(e, 0xe8), emit8(e, PAGE_SHIFT);
	emit8(e, 0x25), emit32(e, CPU_TOUCHED - 1);
	emit8(e, 0x48), emit8(e, 0xc1), emit8(e, 0xe9), emit8(e, PAGE_SHIFT + CPU_TOUCHED_TAG);
	emit8(e, 0x41), emit8(e, 0x39), emit8(e, 0x8c), emit8(e, 2 << 6 | RAX << 3 | (STOLEN & 7));
	emit32(e, (u32)cpu_touched_at(write));
	emit_jne(e, c);
}

void touch_emit_undo(struct emit *e, const struct touch_check *c)
{
	if (c->flags_saved) {
		emit_load_cpu(e, RAX, CPU_AT(touch_flags));
		data_restore_flags(e);
	}
	data_take_back(e);
}

struct touch_check touch_emit(struct emit *e, const struct insn *in, u64 pc)
{
	struct touch_check c = {.flags_saved = true};
	struct data_address a[2];
	u32 n = data_addresses(in, pc, a);

	emit_store_cpu(e, RAX, CPU_AT(spill[0]));
	emit_store_cpu(e, RCX, CPU_AT(spill[1]));
	/* The next address is computed from the guest's rax and rcx again. */
	for (u32 i = 0; i < n; i++) {
		data_address_emit(e, &a[i]);
		data_save_flags(e);
		emit_store_cpu(e, RAX, CPU_AT(touch_flags));
		if (a[i].size > 1)
			emit_crosses(e, a[i].size, &c);
		emit_look(e, a[i].write, &c);
		touch_emit_undo(e, &c);
	}
	if (!n) {
		c.flags_saved = false;
		emit8(e, 0xe9), emit32(e, 0);
		c.patch[c.n++] = e->p - 4;
	}
	return c;
}
