/* Waking those who wait on an event's descriptors; see event/host.h. */
#include "event/host.h"

void host_wake(u32 root, u32 pending_kill)
{
}
