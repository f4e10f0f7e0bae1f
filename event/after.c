/* See after.h. */
#include "event/after.h"

#include "event/ring.h"

UNNOTED void event_after(u32 kind, u32 arg, u64 value, bool committed)
{
	if (likely(kind == AFTER_RING)) {
		if (arg && arg < EVENT_RINGS)
			ring_show(ring_slot(arg), committed);
		return;
	}
	if (!committed)
		return;
	if (kind == AFTER_FREE && arg < host_rings.pages && value <= host_rings.pages - arg)
		host_ring_free(arg, (u32)value);
	else if (kind == AFTER_WAKE && arg < EVENT_SLOTS)
		host_wake(arg, (u32)value);
	else if (kind == AFTER_KICK && arg < EVENT_TASKS)
		host_kick(arg);
}
