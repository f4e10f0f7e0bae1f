/* See watch.h. */
#include "dbt/x86_64/watch.h"
#include "dbt/x86_64/emit.h"

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
		data_restore_flags(e);
	data_take_back(e);
}

struct watch_check watch_emit(struct emit *e, const struct insn *in, u64 pc)
{
	struct data_address a[2];
	struct watch_check c = {.flags_saved = true};

	emit_store_cpu(e, RAX, CPU_AT(spill[0]));
	emit_store_cpu(e, RCX, CPU_AT(spill[1]));
	c.n = data_addresses(in, pc, a);
	/* The next address is computed from the guest's rax and rcx again. */
	for (u32 i = 0; i < c.n; i++) {
		data_address_emit(e, &a[i]);
		data_save_flags(e);
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
