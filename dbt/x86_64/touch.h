/*
 * Touched pages: the check in front of an instruction that accesses memory.
 *
 * If a page of an access is not in cpu_touched() it goes to a stop (EXIT_WATCHED); os/ then finds out exactly. Accesses
 * that cross a page, and those whose addresses are not a simple operand's, always stop.
 */
#ifndef DBT_X86_64_TOUCH_H
#define DBT_X86_64_TOUCH_H

#include "dbt/x86_64/data_address.h"

/* Where a check leads to the stop: displacements to be patched. */
struct touch_check {
	u8 *patch[4];
	u32 n;
	bool flags_saved; /* there; false: the stop is certain */
};

/* Emits the check. Spills rax and rcx to cpu->spill[0] and [1] and takes them back. */
struct touch_check touch_emit(struct emit *e, const struct insn *in, u64 pc);

/* In the stop: everything as it was before the instruction. */
void touch_emit_undo(struct emit *e, const struct touch_check *c);

#endif
