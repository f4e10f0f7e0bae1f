/* See dbt/calls.h. */
#include "dbt/calls.h"
#include "dbt/dbt.h"
#include "rt/guest.h"

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
	u64 low = returned ? sp : cpu_get_gpr(cpu, REG_SP); /* what lies below was left behind */
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
