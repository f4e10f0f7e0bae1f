/* What comes in front of checked code and of data accesses: see dbt/trace.h. */
#include "dbt/trace.h"
#include "dbt/x86_64/emit.h"
#include "dbt/x86_64/touch.h"
#include "dbt/x86_64/watch.h"
#include "rt/log.h"

/*
 * mov $-want, %rcx; add the size bytes at addr; on to the next check if that is zero, else out by way of `stale` later
 */
static u8 *emit_compare(u64 addr, const u8 *bytes, u32 size)
{
	u64 want = 0;

	memcpy(&want, bytes, size);
	/* movabs addr, %rax / %eax / %ax / %al */
	if (size == 8)
		emit8(&tr.e, 0x48);
	else if (size == 2)
		emit8(&tr.e, 0x66);
	emit8(&tr.e, size == 1 ? 0xa0 : 0xa1);
	emit64(&tr.e, addr);
	if (size < 4) /* movzbl %al, %eax / movzwl %ax, %eax */
		emit8(&tr.e, 0x0f), emit8(&tr.e, size == 1 ? 0xb6 : 0xb7), emit8(&tr.e, 0xc0);
	emit_mov_imm(&tr.e, RCX, -want);
	/* lea (%rax,%rcx), %rcx; jrcxz over the jump */
	emit8(&tr.e, 0x48), emit8(&tr.e, 0x8d), emit8(&tr.e, 0x0c), emit8(&tr.e, 0x08);
	emit8(&tr.e, 0xe3), emit8(&tr.e, 5);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	return tr.e.p - 4;
}

/* The largest piece of n bytes at addr that is aligned: the guest may have set the flag AC. */
static u32 aligned_piece(u64 addr, u32 n)
{
	u32 size = 8;

	while (size > n || addr % size)
		size /= 2;
	return size;
}

void emit_check(void)
{
	u8 code[CPU_BLOCK_INSNS * ISA_MAX_LEN], *stale[CPU_BLOCK_INSNS * 2 + 8], *over;
	u64 pc = tr.b.insn[0].pc;
	u32 len = 0, n = 0;

	check_slow(tr.b.n && tr.b.n <= CPU_BLOCK_INSNS);
	for (u32 k = 0; k < tr.b.n; k++) {
		memcpy(code + len, tr.b.insn[k].bytes, tr.b.insn[k].in.len);
		len += tr.b.insn[k].in.len;
	}
	rec_add(pc)->spills = RAX | RCX << 4;
	emit_store_cpu(&tr.e, RAX, CPU_AT(spill[0]));
	emit_store_cpu(&tr.e, RCX, CPU_AT(spill[1]));
	for (u32 at = 0; at < len;) {
		u32 size = aligned_piece(pc + at, len - at);

		check(n < ARRAY_SIZE(stale));
		stale[n++] = emit_compare(pc + at, code + at, size);
		at += size;
	}
	emit8(&tr.e, 0xeb);
	over = tr.e.p++;
	for (u32 i = 0; i < n; i++)
		emit_patch(stale[i], tr.e.p);
	emit_load_cpu(&tr.e, RAX, CPU_AT(spill[0]));
	emit_load_cpu(&tr.e, RCX, CPU_AT(spill[1]));
	emit_stop(EXIT_STALE, pc, 0);
	*over = (u8)(tr.e.p - (over + 1));
	emit_load_cpu(&tr.e, RAX, CPU_AT(spill[0]));
	emit_load_cpu(&tr.e, RCX, CPU_AT(spill[1]));
}

static void emit_watched(const struct guest_insn *gi)
{
	struct watch_check c;
	struct emit hot;
	u32 rec = cache.nrec;

	rec_add(gi->pc)->spills = RAX | RCX << 4;
	c = watch_emit(&tr.e, &gi->in, gi->pc);
	check(c.n && c.n <= ARRAY_SIZE(c.patch));
	for (u32 i = 0; i < c.n; i++) {
		hot = cold_begin(c.patch[i]);
		if (c.flags_saved)
			watch_emit_filter(&tr.e, c.patch[i] + 4);
		watch_emit_undo(&tr.e, &c);
		emit_stop(EXIT_WATCHED, gi->pc, rec);
		cold_end(hot);
	}
}

static void emit_touched(const struct guest_insn *gi)
{
	struct touch_check c;
	struct emit hot;
	u32 rec = cache.nrec;

	rec_add(gi->pc)->spills = RAX | RCX << 4;
	c = touch_emit(&tr.e, &gi->in, gi->pc);
	check(c.n && c.n <= ARRAY_SIZE(c.patch));
	hot = cold_begin(c.patch[0]);
	for (u32 i = 1; i < c.n; i++)
		emit_patch(c.patch[i], tr.e.p);
	touch_emit_undo(&tr.e, &c);
	emit_stop(EXIT_WATCHED, gi->pc, rec);
	cold_end(hot);
}

void emit_watch(const struct guest_insn *gi)
{
	if (!(tr.want & (CPU_WANT_WATCH | CPU_WANT_TOUCH)) || !data_address_wanted(&gi->in))
		return;
	if (tr.want & CPU_WANT_WATCH)
		emit_watched(gi);
	if (tr.want & CPU_WANT_TOUCH)
		emit_touched(gi);
}
