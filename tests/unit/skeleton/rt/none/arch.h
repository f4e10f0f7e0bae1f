/* An architecture of which nothing is known: see tests/unit/porting.sh. */
#ifndef RT_NONE_ARCH_H
#define RT_NONE_ARCH_H

#include "abi/types.h"

#define ARCH_SAVED_REGS 1
#define ARCH_SYSCALL {0}
#define ARCH_AUDIT 0ul

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	__asm__ volatile("" : "+r"(nr) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f) : "memory");
	return nr;
}

static inline void arch_pause(void)
{
}

static inline u64 arch_ticks(void)
{
	return 0;
}

static inline u64 arch_stack_pointer(void)
{
	return (u64)__builtin_frame_address(0);
}

static inline bool arch_current_cpu(u32 *cpu)
{
	return false;
}

static inline void arch_add(u64 *p, u64 n)
{
	*p += n;
}

static inline void arch_store(u64 *p, u64 value)
{
	*p = value;
}

static inline void arch_copy_up(u8 *d, const u8 *s, size_t n)
{
	while (n--)
		*d++ = *s++;
}

static inline void arch_fill(u8 *d, u8 c, size_t n)
{
	while (n--)
		*d++ = c;
}

#endif
