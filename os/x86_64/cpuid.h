/*
 * cpuid and xgetbv, which translated code leaves to the runtime, since a guest must not learn of instructions that
 * cannot be translated.
 */
#ifndef OS_CPUID_H
#define OS_CPUID_H

#include "os/session/thread.h"

/*
 * Executes and counts the cpuid at cpu->rip: 0, or -EFAULT: the guest has turned it off (ARCH_SET_CPUID). What is shown
 * is in isa/features.def.
 */
int cpuid_emulate(struct thread *t);

/* The processor that the guest sees has sysenter in 64-bit mode: AMD's and Hygon's do not. */
bool cpuid_has_sysenter(void);

/* The same for xgetbv. -EFAULT: ecx names no register that can be read so. */
int xgetbv_emulate(struct thread *t);

#endif
