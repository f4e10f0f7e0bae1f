/* Signal frames as the kernel makes them. */
#ifndef OS_SIG_X86_64_FRAME_H
#define OS_SIG_X86_64_FRAME_H

#include "cpu/regs.h"

struct kucontext {
	u64 flags, link;
	struct {
		u64 sp;
		s32 flags, pad;
		u64 size;
	} stack;
	u64 greg[GREG_NR];
	u64 fpstate;
	u64 reserved[8];
	u64 sigmask;
};

/* By how much the stack pointer is above the frame when the handler has returned: its return address. */
#define SIGFRAME_POPPED 8
#define SIGFRAME_STACK_MIN 2048 /* MINSIGSTKSZ */

#endif
