/* See dbt/lbr.h. */
#include "dbt/lbr.h"
#include "rt/string.h"

u32 lbr_want_bit(enum isa_kind kind)
{
	switch (kind) {
	case ISA_JCC:
	case ISA_LOOP:
		return CPU_WANT_LBR_COND;
	case ISA_JMP:
		return CPU_WANT_LBR_JMP;
	case ISA_CALL:
		return CPU_WANT_LBR_CALL;
	case ISA_RET:
		return CPU_WANT_LBR_RET;
	case ISA_JMP_IND:
		return CPU_WANT_LBR_IND_JMP;
	case ISA_CALL_IND:
		return CPU_WANT_LBR_IND_CALL;
	default:
		return 0;
	}
}

void lbr_clear(struct cpu *cpu)
{
	memset(cpu->lbr_from, 0, sizeof(cpu->lbr_from));
}
