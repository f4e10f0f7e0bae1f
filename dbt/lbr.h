/*
 * Taken branches in cpu->lbr_from, lbr_to: the code that notes one. No flags are touched; lbr_pos wraps because it is a
 * byte. Scratch registers are rcx and rdx, whose values the caller has spilled.
 */
#ifndef DBT_LBR_H
#define DBT_LBR_H

#include "cpu/cpu.h"
#include "dbt/emit.h"
#include "isa/insn.h"

/* CPU_WANT_LBR_* under which branches of this kind are noted; 0: never. */
u32 lbr_want_bit(enum isa_kind kind);

void lbr_emit(struct emit *e, u64 from, u64 to);

/* To the address in rcx, which it keeps. */
void lbr_emit_indirect(struct emit *e, u64 from);

/* None was noted before now: what is older does not lead to what comes. */
void lbr_clear(struct cpu *cpu);

#endif
