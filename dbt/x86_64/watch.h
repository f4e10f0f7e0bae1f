/*
 * Watched data: the check in front of an instruction that accesses memory.
 *
 * It compares the addresses of the accesses with the interval of cpu->watch_lo and watch_len and, if one is inside and
 * cpu->watch_map does not exclude it, goes to a stop (EXIT_WATCHED); os/ then finds out exactly. Accesses of more than
 * 64 bytes, and those whose addresses are not a simple operand's, always stop.
 */
#ifndef DBT_X86_64_WATCH_H
#define DBT_X86_64_WATCH_H

#include "dbt/x86_64/data_address.h"

/* Where a check leads to the stop: displacements to be patched. */
struct watch_check {
	u8 *patch[2];
	u32 n;
	bool flags_saved; /* there; false: the stop is certain */
};

/*
 * Emits the check. Spills rax and rcx to cpu->spill[0] and [1] and takes them back. The flags are always kept: the
 * instruction may fault, or be sampled.
 */
struct watch_check watch_emit(struct emit *e, const struct insn *in, u64 pc);

/*
 * There, unless the stop is certain: goes back to `back`, behind the patched displacement, if the access is far from
 * every watched place.
 */
void watch_emit_filter(struct emit *e, const u8 *back);

/* In the stop: everything as it was before the instruction. */
void watch_emit_undo(struct emit *e, const struct watch_check *c);

#endif
