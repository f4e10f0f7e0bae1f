/* See event/regs.h. */
#include "event/regs.h"
#include <asm/perf_regs.h>

u64 snapshot_reg(const struct snapshot_regs *regs, u32 nr)
{
	static const u8 gpr[] = {0, 3, 1, 2, 6, 7, 5, 4}; /* AX BX CX DX SI DI BP SP in the processor's numbering */

	if (nr <= PERF_REG_X86_SP)
		return regs->gpr[gpr[nr]];
	if (nr >= PERF_REG_X86_R8)
		return regs->gpr[nr - PERF_REG_X86_R8 + 8];
	switch (nr) {
	case PERF_REG_X86_IP:
		return regs->rip;
	case PERF_REG_X86_FLAGS:
		return regs->rflags;
	case PERF_REG_X86_CS:
		return SNAPSHOT_CS;
	case PERF_REG_X86_SS:
		return SNAPSHOT_SS;
	}
	return 0;
}
