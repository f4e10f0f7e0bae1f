/*
 * Whether a descriptor that the session's memory calls an event is one.
 *
 * That table is in the arena, and any member may have written there. If it were believed, its reads, mappings and
 * writes would be those of an event: a program would be handed what another one has made up in place of its file. So
 * this process asks the kernel, once for each descriptor, and remembers the answer until the descriptor is closed.
 *
 * Not seen: closes by another process that shares the descriptor table and not the memory.
 */
#ifndef OS_GENUINE_H
#define OS_GENUINE_H

#include "event/space.h"

/* Bit per descriptor: pcl made it. */
extern u64 genuine[EVENT_FDS / 64];

bool genuine_ask(u32 fd);

static inline bool genuine_is_known(u64 fd)
{
	return fd < EVENT_FDS && __atomic_load_n(&genuine[fd / 64], __ATOMIC_RELAXED) >> (fd % 64) & 1;
}

/* It is what pcl makes for an event. */
static inline bool genuine_is(u32 fd)
{
	return genuine_is_known(fd) || genuine_ask(fd);
}

static inline void genuine_note(u64 fd)
{
	if (fd < EVENT_FDS)
		__atomic_fetch_or(&genuine[fd / 64], 1ul << (fd % 64), __ATOMIC_RELAXED);
}

/* These are being closed. */
static inline void genuine_forget(u64 fd)
{
	if (unlikely(genuine_is_known(fd)))
		__atomic_fetch_and(&genuine[fd / 64], ~(1ul << (fd % 64)), __ATOMIC_RELAXED);
}
void genuine_forget_range(u64 first, u64 last);

#endif
