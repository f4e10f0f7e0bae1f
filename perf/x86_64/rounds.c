/* String instructions with a rep prefix, which a breakpoint sees round by round: see perf/breakpoints.h. */
#include "perf/breakpoints.h"

u64 breakpoints_rounds(const struct breakpoint_step *s, const struct snapshot_regs *after)
{
	const struct isa_access *a = &s->access[0];
	u64 left = after->gpr[RCX];

	if (!a->step || a->count == 1)
		return after->rip != s->before.rip;
	/* With prefix 67 it counts in ecx. */
	return a->count - (a->count == s->before.gpr[RCX] ? left : (u32)left);
}

void breakpoints_regs_between(const struct breakpoint_step *s, const struct snapshot_regs *after, u64 i, u64 done,
			      struct snapshot_regs *out)
{
	static const u8 moving[] = {RCX, RSI, RDI};

	*out = *after;
	if (i + 1 == done)
		return;
	out->rip = s->before.rip;
	for (u32 k = 0; k < ARRAY_SIZE(moving); k++) {
		u64 from = s->before.gpr[moving[k]];
		s64 by = (s64)(after->gpr[moving[k]] - from) / (s64)done;

		out->gpr[moving[k]] = from + (u64)(by * (s64)(i + 1));
	}
}
