/* String instructions with a rep prefix: see perf/rounds.h and perf/breakpoints.h. */
#include "perf/breakpoints.h"
#include "perf/rounds.h"
#include "rt/guest.h"

#define PFX_67 8u

u64 rounds_done(const struct isa_access *a, const struct snapshot_regs *before, const struct snapshot_regs *after)
{
	u64 left = after->gpr[RCX];

	if (!a->step || a->count == 1)
		return after->rip != before->rip;
	/* With prefix 67 it counts in ecx. */
	return a->count - (a->count == before->gpr[RCX] ? left : (u32)left);
}

static void advance(u64 *reg, u64 by, bool narrow)
{
	*reg = narrow ? (u32)(*reg + by) : *reg + by;
}

void rounds_advance(const struct insn *in, const struct isa_access *a, u64 rounds, struct snapshot_regs *regs)
{
	u32 kind = in->opcode & 0xfe;
	bool narrow = in->legacy & PFX_67;

	if (!rounds)
		return;
	advance(&regs->gpr[RCX], -rounds, narrow);
	if (kind == 0xa4 || kind == 0xa6 || kind == 0xac) /* movs, cmps, lods */
		advance(&regs->gpr[RSI], (u64)a->step * rounds, narrow);
	if (kind != 0xac)
		advance(&regs->gpr[RDI], (u64)a->step * rounds, narrow);
}

static bool is_masked(const struct insn *in, gva pc)
{
	u8 p2;

	if (in->enc == ISA_EVEX) /* aaa */
		return guest_read(&p2, pc + in->prefix_off + 3, 1) || (p2 & 7);
	if (in->map == 1 && in->opcode == 0xf7) /* maskmovq, maskmovdqu */
		return true;
	/* vmaskmovps, vmaskmovpd, vpmaskmov */
	return in->enc == ISA_VEX && in->map == 2 &&
	       ((in->opcode & 0xfc) == 0x2c || in->opcode == 0x8c || in->opcode == 0x8e);
}

/* xsave, xrstor and relatives leave out what their mask does, or what has no value. */
static bool is_of_state(const struct insn *in)
{
	unsigned reg = in->modrm >> 3 & 7;

	if (in->enc != ISA_LEGACY || in->map != 1 || !(in->attr & ISA_MEM))
		return false;
	return in->opcode == 0xae ? reg >= 4 : in->opcode == 0xc7 && reg != 1;
}

bool rounds_are_whole(const struct insn *in, gva pc)
{
	u32 kind = in->opcode & 0xfe;

	if (in->attr & ISA_STRING)
		return !(in->attr & ISA_REP) || (kind != 0xa6 && kind != 0xae); /* cmps, scas */
	return !is_masked(in, pc) && !is_of_state(in);
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
