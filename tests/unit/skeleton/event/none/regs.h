#ifndef EVENT_NONE_REGS_H
#define EVENT_NONE_REGS_H

#include "abi/types.h"

struct snapshot_regs {
	u64 gpr[16];
	u64 rip, rflags;
};

#define SNAPSHOT_CS 0
#define SNAPSHOT_SS 0
#define SNAPSHOT_USER_END (1ul << 47)
#define SNAPSHOT_NO_REGS 0ul

static inline u64 snapshot_sp(const struct snapshot_regs *regs)
{
	return regs->gpr[15];
}

#endif
