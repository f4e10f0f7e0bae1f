/*
 * What a section under event_lock() or a context's lock puts off until it is committed (rt/section.h): what cannot be
 * taken back. Whoever takes a section over that was committed does these things instead of its owner; so they may
 * happen twice. None minds that but AFTER_FREE, if its owner has stood in the kernel's madvise(2) from before the
 * takeover until the pages are another ring's: that loses what it holds.
 */
#ifndef EVENT_AFTER_H
#define EVENT_AFTER_H

#include "event/host.h"
#include "rt/section.h"

enum event_after {
	/* arg: a ring with records; they become visible. In a section that was put back: unfinished ones are tidied */
	AFTER_RING = 1,
	AFTER_FREE,  /* arg: page of ring memory, value: how many are free from now on */
	AFTER_WAKE,  /* arg: root, value: pending_kill; see host_wake() */
	AFTER_KICK,  /* arg: task; see host_kick() */
};

static inline void wake_after(u32 root, u32 pending_kill)
{
	section_after(AFTER_WAKE, root, pending_kill);
}

static inline void kick_after(task_id task)
{
	section_after(AFTER_KICK, task, 0);
}

/* section_host.after */
void event_after(u32 kind, u32 arg, u64 value, bool committed);

#endif
