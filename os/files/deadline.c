/* See deadline.h. */
#include "os/files/deadline.h"

#include <asm-generic/errno.h>
#include "rt/guest.h"

int deadline_read(gva at, s64 unit, s64 *deadline)
{
	s64 ts[2], per_second = NS_PER_S / unit;

	*deadline = FOREVER;
	if (!at)
		return 0;
	if (guest_read(ts, at, sizeof(ts)))
		return -EFAULT;
	if (unit > 1) { /* Linux quirk: a struct timeval may have more than a second of microseconds, below 0 too */
		ts[0] = (s64)((u64)ts[0] + (u64)(ts[1] / per_second));
		ts[1] %= per_second;
	}
	if (ts[0] < 0 || ts[1] < 0 || ts[1] >= per_second)
		return -EINVAL;
	*deadline = deadline_in(ts[0], ts[1] * unit);
	return 0;
}

void deadline_write(gva at, s64 unit, s64 deadline)
{
	s64 left = deadline_left(deadline), ts[2] = {left / NS_PER_S, left % NS_PER_S / unit};

	if (at && deadline != FOREVER)
		guest_write(at, ts, sizeof(ts));
}
