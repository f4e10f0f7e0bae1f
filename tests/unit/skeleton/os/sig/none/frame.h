#ifndef OS_SIG_NONE_FRAME_H
#define OS_SIG_NONE_FRAME_H

#include "abi/types.h"
#include "cpu/regs.h"

struct kucontext {
	struct {
		u64 sp;
		s32 flags;
		u64 size;
	} stack;
	u64 greg[GREG_NR];
	u64 sigmask;
};

#define SIGFRAME_POPPED 0
#define SIGFRAME_STACK_MIN 2048

#endif
