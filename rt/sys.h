/*
 * Raw Linux system calls. Each returns the result or -errno, never touches errno and uses no stack beyond the call.
 * Usable in freestanding and hosted code alike.
 */
#ifndef RT_SYS_H
#define RT_SYS_H

#include <asm/unistd.h>
#include "abi/types.h"
#include "rt/arch.h"

/* long sys6(long nr, long a, ... long f) is the architecture's. */
#define sys0(nr) sys6(nr, 0, 0, 0, 0, 0, 0)
#define sys1(nr, a) sys6(nr, (long)(a), 0, 0, 0, 0, 0)
#define sys2(nr, a, b) sys6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys3(nr, a, b, c) sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(nr, a, b, c, d) sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys5(nr, a, b, c, d, e) sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

static inline bool sys_is_error(long ret)
{
	return (unsigned long)ret >= (unsigned long)-4095L;
}

#endif
