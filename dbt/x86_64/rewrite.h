/*
 * Emitting one guest instruction that is not a control transfer, so that it does in the code cache what it does at its
 * own address: rip-relative operands are re-aimed, and the stolen register is replaced by its home in struct cpu or by
 * a scratch register.
 */
#ifndef DBT_X86_64_REWRITE_H
#define DBT_X86_64_REWRITE_H

#include "dbt/emit.h"
#include "isa/insn.h"

/* Emits the instruction `in` with the given bytes, at guest address pc. Returns its rec.spills. */
u8 rewrite_insn(struct emit *e, const u8 *bytes, const struct insn *in, u64 pc);

/*
 * Emits `mov OPERAND, %rcx` for the r/m operand of an indirect jump or call. rcx and rdx are already spilled; rdx may
 * be used as a scratch register.
 */
void rewrite_branch_operand(struct emit *e, const u8 *bytes, const struct insn *in, u64 pc);

#endif
