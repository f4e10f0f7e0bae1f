/*
 * Ring buffers: the writing side, and the buffers themselves. Layout, order of accesses and rules for the reader are the man page's
 * "MMAP layout".
 *
 *   producer                            reader, any process
 *   reserve: tail = data_tail     (A)   head = data_head
 *   write the record                    rmb                      (B)
 *   wmb                           (B)   read records
 *   data_head = head                    mb                       (A)
 *                                       data_tail = tail
 *
 * A record becomes visible by the one store of data_head, under the ring's lock: a producer that dies before it has written
 * nothing, and whoever takes the lock over from it finds nothing to repair. Backward rings (attr.write_backward) grow
 * downwards from 0 and are never full.
 *
 * Rules: event_lock() is held by producers and by whoever makes, frees or attaches rings. Never touches guest memory: data is
 * written through the session's own mapping.
 */
#ifndef EVENT_RING_H
#define EVENT_RING_H

#include "event/space.h"

/* A new ring with pages data pages (0 or a power of 2), its first page filled in; NULL: no slot or no memory. Freed by ring_put(). */
struct ring *ring_new(u32 pages, bool overwrite, u64 watermark);
/* Frees the ring if nothing is attached to it and nobody maps it. */
void ring_put(struct ring *r);

/* The ring of an event's records (of its root's, for a child); NULL: none. */
struct ring *ring_of(const struct event *e);
/* Sends a root's records to r (NULL: nowhere), away from where they went. */
void ring_attach(struct event *root, struct ring *r);

struct perf_event_mmap_page *ring_page(const struct ring *r);

/* One record on its way. */
struct ring_out {
	struct ring *ring;
	struct event *event; /* whose record it is */
	u64 at;		     /* offset in the data of the next byte */
	u64 end, head;	     /* of the record; head that publishes it */
	bool wake;
};

/*
 * Reserves size bytes (a multiple of 8, header included) in e's ring, in front of it a LOST record if some are due. False: no ring, paused,
 * or no room (counted in ring.lost and event.lost): nothing to write, nothing to end. On true, ring_put*() exactly size bytes, then ring_end().
 */
bool ring_begin(struct ring_out *o, struct event *e, u32 size);
void ring_write(struct ring_out *o, const void *p, u32 n);
static inline void ring_u64(struct ring_out *o, u64 v)
{
	ring_write(o, &v, 8);
}
/* Publishes it and wakes who is to be woken: by watermark, or if `sample`, by attr.wakeup_events. */
void ring_end(struct ring_out *o, bool sample);

/* All who wait on the descriptors of the ring's events look again. */
void ring_wake(struct ring *r, u32 pending_kill);

#endif
