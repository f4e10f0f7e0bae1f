/*
 * The interface of 2009 (pcl --abi=2009): struct perf_event_hw_event and what else was otherwise in the system calls,
 * see doc/abi-2009.md. What its rings have is in event/records_2009.h.
 *
 * An attr of today is made of the structure, and the rest is as for any event. Both structures may be given in one
 * session: today's has its size where the older one has bits that are set in no number of an event.
 */
#ifndef PERF_ABI_2009_H
#define PERF_ABI_2009_H

#include "event/open.h"
#include "os/session/thread.h"

/* The session has the interface, and what is at the address is not a structure of today. */
bool abi_2009_is(gva structure);

/*
 * perf_event_open(2) with such a structure, up to where event_open_commit() goes on: 0, -EINVAL, -EFAULT, -EACCES.
 */
long abi_2009_open_begin(const u64 *a, struct event_request *out);
/* What the call returns for that error of event_open_commit(). */
long abi_2009_open_error(long err);

/* The descriptor is an event of this interface; ioctl(2) of one. */
bool abi_2009_is_event(const struct thread *t, u64 fd);
long abi_2009_ioctl(struct thread *t, const u64 *a);

/* PR_TASK_PERF_EVENTS_ENABLE and _DISABLE, for events of this interface. */
void abi_2009_switch_attached(const struct thread *t, bool enable);

#endif
