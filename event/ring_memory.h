/*
 * Slots of ring buffers and the pages of ring memory behind them. A slot that is free keeps its pages for the next ring
 * of the same size; when no room is left that way, all free pages are looked through. With the event lock.
 */
#ifndef EVENT_RING_MEMORY_H
#define EVENT_RING_MEMORY_H

#include "event/space.h"

/*
 * A free slot with ring.page for 1 + pages pages; it stays free until the caller takes it. NULL: no slot, or no room.
 */
struct ring *ring_memory_find(u32 pages);
/* The caller has taken it. */
void ring_memory_taken(struct ring *r);
/* The slot is free now. */
void ring_memory_give(struct ring *r);
#endif
