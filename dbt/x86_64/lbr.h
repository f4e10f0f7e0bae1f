/*
 * The code that notes a taken branch, see dbt/lbr.h. It touches no flags. Scratch registers are rcx and rdx, whose
 * values the caller has spilled.
 */
#ifndef DBT_X86_64_LBR_H
#define DBT_X86_64_LBR_H

#include "dbt/x86_64/emit.h"

void lbr_emit(struct emit *e, u64 from, u64 to);

/* To the address in rcx, which it keeps. */
void lbr_emit_indirect(struct emit *e, u64 from);

#endif
