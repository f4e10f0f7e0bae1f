/* Time limits of system calls that wait in several steps: points in time on host_clock_mono(), in ns. */
#ifndef OS_DEADLINE_H
#define OS_DEADLINE_H

#include "event/host.h"

#define NS_PER_S 1000000000l
#define FOREVER (-1l) /* no limit, and no end of what is left */

static inline s64 deadline_in(s64 sec, s64 ns)
{
	return sec > NS_PER_S ? FOREVER : (s64)host_clock_mono() + sec * NS_PER_S + ns;
}

/* A negative number of milliseconds: no limit. */
static inline s64 deadline_in_ms(s32 ms)
{
	return ms < 0 ? FOREVER : deadline_in(ms / 1000, ms % 1000 * 1000000l);
}

static inline s64 deadline_left(s64 deadline)
{
	s64 now = deadline == FOREVER ? 0 : (s64)host_clock_mono();

	return deadline == FOREVER ? FOREVER : now < deadline ? deadline - now : 0;
}

/*
 * The guest's time limit at that address, seconds and parts of a second of `unit` ns each; 0: no limit. 0, -EFAULT or
 * -EINVAL.
 */
int deadline_read(gva at, s64 unit, s64 *deadline);
/* As the kernel: what is left is written back, and nobody minds if it cannot be. */
void deadline_write(gva at, s64 unit, s64 deadline);

#endif
