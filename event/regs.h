/* A sample's user registers. */
#ifndef EVENT_REGS_H
#define EVENT_REGS_H

#include "abi/types.h"
#include "rt/arch.h"

/*
 *   struct snapshot_regs     gpr[], rip (the pc) and rflags: general registers in the order of cpu/regs.h
 *   snapshot_sp(regs)        the stack pointer
 *   SNAPSHOT_CS, SNAPSHOT_SS what a probe's %cs and %ss are
 *   SNAPSHOT_USER_END        where user addresses end: the kernel's TASK_SIZE
 *   SNAPSHOT_NO_REGS         bits of attr.sample_regs_user that name no register which can be sampled
 */
#include ARCH_HEADER(event, regs.h)

/* What a sample has for that bit of attr.sample_regs_user. */
u64 snapshot_reg(const struct snapshot_regs *regs, u32 nr);

#endif
