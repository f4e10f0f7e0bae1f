/*
 * The architecture: what C has no words for, and how neutral code names the headers of <room>/<architecture>/ without
 * naming one. doc/porting.md lists these headers.
 */
#ifndef RT_ARCH_H
#define RT_ARCH_H

#ifndef ARCH
#ifdef __x86_64__
#define ARCH x86_64
#else
#error "there is no folder for this architecture yet: see doc/porting.md"
#endif
#endif

#define ARCH_STRING(path) #path
#define ARCH_PATH(path) ARCH_STRING(path)
/* #include ARCH_HEADER(cpu, regs.h) */
#define ARCH_HEADER(room, file) ARCH_PATH(room/ARCH/file)

/*
 *   sys6(nr, a, b, c, d, e, f)   a system call: the result or -errno
 *   ARCH_SAVED_REGS              words of struct section_regs, which section_save() keeps
 *   ARCH_SYSCALL                 the bytes of its instruction, { ... }
 *   ARCH_AUDIT                   its number in seccomp's and signals' information, AUDIT_ARCH_*
 *   arch_pause()                 in a loop that waits for another thread
 *   arch_ticks()                 the counter that the processor's clock is made of
 *   arch_stack_pointer()
 *   arch_current_cpu(&cpu)       without a system call; false: it is not told
 *   arch_add(p, n)               by one instruction, which a signal cannot divide
 *   arch_store(p, value)         by one instruction, which the compiler does not see as a store
 *   arch_copy_up(d, s, n)        byte by byte from the lowest address on, as it seems; the fastest for many
 *   arch_fill(d, c, n)           the same byte n times
 */
#include ARCH_HEADER(rt, arch.h)

#endif
