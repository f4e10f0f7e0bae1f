/* See os/session/clock.h. */
#include "os/session/clock.h"
#include <cpuid.h>

#define LEAF 0x80000007u
#define INVARIANT_TSC 0x100u /* in edx */

bool clock_tsc_constant(void)
{
	u32 a, b, c, d = 0;

	return __get_cpuid(LEAF, &a, &b, &c, &d) && (d & INVARIANT_TSC);
}
