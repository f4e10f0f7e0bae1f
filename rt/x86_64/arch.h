/* See rt/arch.h. */
#ifndef RT_X86_64_ARCH_H
#define RT_X86_64_ARCH_H

#include "abi/types.h"

/* A system call: the result or -errno. */
static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* What section_save() keeps: rbx, rbp, r12 to r15, rsp, rip. */
#define ARCH_SAVED_REGS 8

/* The instruction's bytes. */
#define ARCH_SYSCALL {0x0f, 0x05}
#define ARCH_AUDIT 0xc000003eul /* AUDIT_ARCH_X86_64 */

/* In a loop that waits for another thread. */
static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

/* The counter that the processor's clock is made of. */
static inline u64 arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static inline u64 arch_stack_pointer(void)
{
	u64 sp;

	__asm__("mov %%rsp, %0" : "=r"(sp));
	return sp;
}

/* The CPU that the thread is on, without a system call: what the vDSO's getcpu reads. False: it is not told. */
static inline bool arch_current_cpu(u32 *cpu)
{
	u32 limit;
	bool ok;

	/* x86-64 Linux keeps it in the limit of this segment. */
	__asm__("lsl %2, %1" : "=@ccz"(ok), "=r"(limit) : "r"(0x7b));
	*cpu = limit & 0xfff;
	return ok;
}

/* One instruction. */
static inline void arch_add(u64 *p, u64 n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*p) : "er"(n) : "cc");
}

/* One instruction, which the compiler does not see as a store to *p. */
static inline __attribute__((always_inline)) void arch_store(u64 *p, u64 value)
{
	__asm__ volatile("mov %1, %0" : "=m"(*p) : "r"(value));
}

/* Byte by byte from the lowest address on, as it seems; and the same byte n times. The fastest for many. */
static inline void arch_copy_up(u8 *d, const u8 *s, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}

static inline void arch_fill(u8 *d, u8 c, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
}

#endif
