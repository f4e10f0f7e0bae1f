/* A guest thread's integer registers as text. */
#ifndef SHOW_REGS_H
#define SHOW_REGS_H

#include "abi/types.h"

struct show_regs {
	u64 gpr[16]; /* in the processor's numbering: rax rcx rdx rbx rsp rbp rsi rdi r8 .. r15 */
	u64 rip, rflags;
};

/* Six lines, each ended by a newline. Returns the length. 512 bytes are enough. */
size_t show_regs(char *buf, size_t size, const struct show_regs *regs);

#endif
