/*
 * String instructions with a rep prefix are seen round by round: by breakpoints and page faults. An instruction that
 * does not repeat has one round.
 */
#ifndef PERF_ROUNDS_H
#define PERF_ROUNDS_H

#include "event/sample.h"
#include "isa/address.h"

/* How many were done, by the registers before and after; 0: the instruction was not. a: its first access. */
u64 rounds_done(const struct isa_access *a, const struct snapshot_regs *before, const struct snapshot_regs *after);

/* The registers as they are after so many rounds, which do not end it. */
void rounds_advance(const struct insn *in, const struct isa_access *a, u64 rounds, struct snapshot_regs *regs);

/* Once begun, it accesses everything that isa_accesses() tells: it has no mask, and does not end early. */
bool rounds_are_whole(const struct insn *in, gva pc);

#endif
