/* See deadline.h. */
#include "os/files/deadline.h"

#include <asm-generic/errno.h>
#include "rt/guest.h"

int deadline_read(gva at, s64 unit, s64 *deadline)
{
	s64 ts[2];

	*deadline = FOREVER;
	if (!at)
		return 0;
	if (guest_read(ts, at, sizeof(ts)))
		return -EFAULT;
	if (ts[0] < 0 || ts[1] < 0 || (unit == 1 && ts[1] >= NS_PER_S))
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
