/* Call chains by frame pointers, with the rules of the kernel's perf_callchain_user(). */
#ifndef PERF_CALLCHAIN_H
#define PERF_CALLCHAIN_H

#include "event/sample.h"

/*
 * Return addresses, innermost first, at most `room`; how many there are. Follows rbp until a frame cannot be read.
 * Linux quirk: frames need not be aligned nor be further up, so a loop of frames fills the chain.
 */
u32 callchain_frames(const struct snapshot_regs *regs, u64 *out, u32 room);

/* Copies up to `room` bytes of the stack from its pointer up, as far as it can be read; how many. */
u32 callchain_stack(const struct snapshot_regs *regs, void *out, u32 room);

#endif
