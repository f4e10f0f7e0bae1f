/* See event/regs.h. */
#ifndef EVENT_X86_64_REGS_H
#define EVENT_X86_64_REGS_H

#include "abi/types.h"

struct snapshot_regs {
	u64 gpr[16];
	u64 rip, rflags;
};

/* What user mode always has in these registers. */
#define SNAPSHOT_CS 0x33
#define SNAPSHOT_SS 0x2b
#define SNAPSHOT_USER_END 0x7ffffffff000ul
/* ds, es, fs and gs cannot be sampled; bits 24 to 31 are reserved, those above are vector registers. */
#define SNAPSHOT_NO_REGS (0xf000 | 0xff000000ul)

static inline u64 snapshot_sp(const struct snapshot_regs *regs)
{
	return regs->gpr[4];
}

#endif
