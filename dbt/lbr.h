/* Taken branches in cpu->lbr_from, lbr_to, which translated code notes. lbr_pos wraps because it is a byte. */
#ifndef DBT_LBR_H
#define DBT_LBR_H

#include "cpu/cpu.h"
#include "isa/insn.h"

/* CPU_WANT_LBR_* under which branches of this kind are noted; 0: never. */
u32 lbr_want_bit(enum isa_kind kind);

/* None was noted before now: what is older does not lead to what comes. */
void lbr_clear(struct cpu *cpu);

#endif
