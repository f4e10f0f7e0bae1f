/* See dbt/calls.h. */
#include "dbt/calls.h"
#include "dbt/dbt.h"
#include "dbt/x86_64/emit.h"
#include "rt/guest.h"

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

void calls_note_signal(struct cpu *cpu, u64 ret, u64 sp, u64 saved)
{
	if (cpu->calls)
		cpu->calls[++cpu->calls_pos] = (struct cpu_call){.ret = ret, .sp = sp, .to = saved};
}

static bool still_there(const struct cpu_call *c)
{
	u64 ret;

	return !guest_read(&ret, c->sp, sizeof(ret)) && ret == c->ret;
}

/* The stack goes on where the signal interrupted; false: that cannot be known any more. */
static bool interrupted(const struct cpu_call *signal, struct cpu_call *out, u64 *sp)
{
	u64 saved[2];

	if (guest_read(saved, signal->to, sizeof(saved)))
		return false;
	*sp = saved[0];
	*out = (struct cpu_call){.ret = saved[1], .sp = signal->to + 8};
	return true;
}

/*
 * The memory of the stack that sp is in. Entries elsewhere are of other stacks: of coroutines, or of what a handler
 * interrupted.
 */
static void find_stack(u64 sp, struct dbt_mapping *out)
{
	if (dbt_host_mapping(sp, out))
		*out = (struct dbt_mapping){.start = 0, .end = ~0ul};
}

u32 calls_read(struct cpu *cpu, u64 sp, bool returned, struct cpu_call *out, u32 max)
{
	struct dbt_mapping stack;
	u16 pos = cpu->calls_pos + returned;
	u64 low = returned ? sp : cpu_get_gpr(cpu, RSP); /* what lies below was left behind */
	bool found = returned;
	u32 n = 0;

	if (!cpu->calls)
		return 0;
	find_stack(sp, &stack);
	for (u32 i = 0; i < CPU_CALLS && n < max; i++, pos--) {
		struct cpu_call c = cpu->calls[pos];

		if (!c.sp)
			break;
		if (c.sp < stack.start || c.sp >= stack.end) {
			found = true; /* nothing is forgotten: that stack may be gone back to */
			continue;
		}
		if (c.sp < low || !still_there(&c))
			continue;
		if (!found)
			cpu->calls_pos = pos;
		found = true;
		low = sp;
		if (c.sp < sp)
			continue;
		out[n++] = c;
		sp = c.sp + 1;
		if (!c.len && n < max && interrupted(&c, &out[n], &sp)) {
			n++;
			find_stack(sp, &stack);
		}
		low = sp;
	}
	return n;
}
