/*
 * Which data memory one instruction accesses, given the registers before it: for watchpoints and data addresses of
 * samples. No state. The instruction fetch, page tables and segment descriptors are not data.
 *
 * Vector instructions with a mask (vmaskmov, EVEX masks, maskmovdqu) are described as if every element were enabled.
 * XSAVE and its relatives are described as one access to the whole area, enter (which compilers use without nested
 * frames, if at all) as the push that it begins with.
 */
#ifndef ISA_ADDRESS_H
#define ISA_ADDRESS_H

#include "isa/insn.h"

struct isa_regs {
	u64 gpr[16];	/* in the order of the encoding */
	u64 rflags;
	u64 fs, gs;	/* bases */
	u32 xsave_size; /* bytes of an XSAVE area: CPUID leaf 0xd, EBX */
};

struct isa_access {
	u64 addr;
	u32 size; /* bytes, not 0 */
	u8 read, write;
	u64 count; /* of accesses, each `step` bytes after the one before: 1, or rcx of a string instruction with rep
		      (also 0). Those of cmps and scas may end before that. */
	s32 step;
};

#define ISA_ACCESSES 2

/*
 * Fills in *out in the order in which they happen, and returns how many there are: 0 to ISA_ACCESSES. -1 if the
 * registers do not tell: gathers and scatters, AMX tiles, port I/O.
 */
int isa_accesses(const struct insn *in, u64 pc, const struct isa_regs *regs, struct isa_access out[ISA_ACCESSES]);

#endif
