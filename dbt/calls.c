/* See dbt/calls.h. */
#include "dbt/calls.h"
#include "rt/guest.h"

#define POS ((s32)offsetof(struct cpu, calls_pos))

/* movzwl calls_pos(%cpu), %edx; lea n(%rdx), %edx; mov %dx, calls_pos(%cpu) */
static void emit_move_pos(struct emit *e, s8 n)
{
	emit8(e, 0x41), emit8(e, 0x0f), emit8(e, 0xb7);
	emit_cpu_mem(e, RDX, POS);
	emit8(e, 0x8d), emit8(e, 0x52), emit8(e, (u8)n);
	emit8(e, 0x66), emit8(e, 0x41), emit8(e, 0x89);
	emit_cpu_mem(e, RDX, POS);
}

void calls_emit_push(struct emit *e, u64 ret)
{
	_Static_assert(sizeof(struct cpu_call) == 16, "the index is scaled by 2 and by 8");
	emit_move_pos(e, 1);
	/* movzwl %dx, %edx; lea (%rdx,%rdx), %rdx */
	emit8(e, 0x0f), emit8(e, 0xb7), emit8(e, 0xd2);
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x14), emit8(e, 0x12);
	emit_load_cpu(e, RCX, offsetof(struct cpu, calls));
	/* lea (%rcx,%rdx,8), %rcx; mov %rsp, 8(%rcx) */
	emit8(e, 0x48), emit8(e, 0x8d), emit8(e, 0x0c), emit8(e, 0xd1);
	emit8(e, 0x48), emit8(e, 0x89), emit8(e, 0x61), emit8(e, offsetof(struct cpu_call, sp));
	/* mov $ret, %rdx; mov %rdx, (%rcx) */
	emit_mov_imm(e, RDX, ret);
	emit8(e, 0x48), emit8(e, 0x89), emit8(e, 0x11);
}

void calls_emit_pop(struct emit *e)
{
	emit_move_pos(e, -1);
}

static bool still_there(const struct cpu_call *c)
{
	u64 ret;

	return !guest_read(&ret, c->sp, sizeof(ret)) && ret == c->ret;
}

u32 calls_read(struct cpu *cpu, u64 sp, struct cpu_call *out, u32 max)
{
	u16 pos = cpu->calls_pos;
	u32 n = 0;

	if (!cpu->calls)
		return 0;
	for (u32 i = 0; i < CPU_CALLS && n < max; i++, pos--) {
		struct cpu_call c = cpu->calls[pos];

		if (!c.sp)
			break;
		if (c.sp < sp || !still_there(&c))
			continue;
		if (!n)
			cpu->calls_pos = pos;
		out[n++] = c;
		sp = c.sp + 1;
	}
	return n;
}
