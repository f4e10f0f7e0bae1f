/* The registers of a stopped thread as ptrace(2) gives them. */
#ifndef OS_REGISTERS_H
#define OS_REGISTERS_H

#include "cpu/cpu.h"

/*
 * regs: USER_REGS words of the kernel's, which become those that the program has. In translated code all but the stolen
 * register and the pc are in place: the pc is then that of the last time in the runtime.
 */
void registers_show(u64 *regs, const struct cpu *cpu);

#endif
