/* The processor's registers: names, and where a signal's context has them. */
#ifndef CPU_REGS_H
#define CPU_REGS_H

#include "rt/arch.h"

/*
 *   CPU_GPRS, STOLEN                how many general registers, and the one that translated code needs for itself
 *   REG_SP                          the stack pointer
 *   REG_NUMBER, _ARGS, _RESULT      of system calls
 *   USER_REGS                       words of the registers that ptrace(2) gives (os/task/registers.h)
 *   REG_NAMES                       for people
 *   FLAGS_FIXED, FLAGS_STEP         of cpu->rflags: always set in user mode; one instruction, then a trap
 *   FLAGS_RESUME                    the next instruction's breakpoint has been seen
 *   GREG_PC, _SP, _FLAGS, GREG_NR   words of the machine context that the kernel gives to a signal handler
 *   GREG_ARG, GREG_RESULT           first argument and result of functions and system calls there
 *   greg_of(reg)                    which of them is a general register
 */
#include ARCH_HEADER(cpu, regs.h)

#endif
