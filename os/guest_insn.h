/* The guest's instructions as isa/ describes them, where pcl looks at one by itself: for samples and breakpoints. */
#ifndef OS_GUEST_INSN_H
#define OS_GUEST_INSN_H

#include "event/sample.h"
#include "isa/address.h"

/* Its length, or 0: none that can be read. */
int guest_insn_decode(gva pc, struct insn *in);

/* What isa_accesses() needs for this instruction of the calling thread. */
void guest_insn_regs(const struct snapshot_regs *regs, const struct insn *in, struct isa_regs *out);

/* It is a mov of this value, of 64 bits, to memory; *regs as they are in front of it, and so behind it. */
bool guest_insn_stores(const struct insn *in, const struct isa_regs *regs, u64 value);

#endif
