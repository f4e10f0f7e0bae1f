/*
 * Ring buffers: the writing side, and the buffers themselves. Layout, order of accesses and rules for the reader are
 * the man page's "MMAP layout".
 *
 *   producer                            reader, any process
 *   reserve: tail = data_tail     (A)   head = data_head
 *   write the record                    rmb                      (B)
 *   wmb                           (B)   read records
 *   data_head = head                    mb                       (A)
 *                                       data_tail = tail
 *
 * Records become visible by the one store of data_head, after the section that wrote them is committed (AFTER_RING): a
 * producer that is stopped or killed before that has written nothing. Backward rings (attr.write_backward) grow
 * downwards from 0. Nobody reads the tail of an overwritten ring, so a record that is not finished there may have
 * destroyed the oldest ones: whoever takes the section over turns it into a LOST_SAMPLES record of the same size,
 * before any PERF_EVENT_IOC_PAUSE_OUTPUT returns.
 *
 * The first page is the guest's to write: nothing in it is believed, a wrong data_tail makes records lost or
 * overwritten.
 *
 * Rules: producers hold the ring's lock, ring_hold(); whoever makes, frees or attaches rings has event_lock() besides.
 * Never touches guest memory: data is written through the session's own mapping.
 */
#ifndef EVENT_RING_H
#define EVENT_RING_H

#include "event/space.h"

/*
 * A new ring with pages data pages (0 or a power of 2), its first page filled in; NULL: no slot or no memory. Freed by
 * ring_put().
 */
struct ring *ring_new(u32 pages, bool overwrite, u64 watermark);
/* Frees the ring if nothing is attached to it and nobody maps it. */
void ring_put(struct ring *r);

/* The ring of an event's records (of its root's, for a child); NULL: none. */
READS struct ring *ring_of(const struct event *e)
{
	u32 nr = event_root(e)->ring;

	return nr ? ring_slot(nr) : NULL;
}

/* The event's own ring: it is the one that is mapped, others may send their records there. r may be NULL. */
READS bool ring_is_own(const struct ring *r, const struct event *e)
{
	return r && r->event_id == e->id && event_slot(r->event) == e;
}

/* Sends a root's records to r (NULL: nowhere), away from where they went. */
void ring_attach(struct event *root, struct ring *r);
/* Every event's records that went there go nowhere. */
void ring_detach_all(struct ring *r);
/*
 * PERF_EVENT_IOC_SET_OUTPUT and PERF_FLAG_FD_OUTPUT: a root's records go where another's go; to NULL: nowhere. 0 or
 * -EINVAL.
 */
int ring_redirect(struct event *root, struct event *to);
/* Whether it may; root may be an event that is only about to be. 0 or -EINVAL. */
int ring_check_redirect(const struct event *root, const struct event *to);
/* PERF_EVENT_IOC_PAUSE_OUTPUT. 0 or -EINVAL. */
int ring_pause(struct event *root, bool pause);

/*
 * What was written becomes visible, by the section's end (AFTER_RING). If it was put back instead (not committed), a
 * record that had been begun in an overwritten ring is made a LOST_SAMPLES record.
 */
void ring_show(struct ring *r, bool committed);

READS struct perf_event_mmap_page *ring_page(const struct ring *r)
{
	return host_ring_page(r->page);
}

READS u64 ring_size(const struct ring *r)
{
	return r->pages * PAGE_SIZE;
}

/* One record on its way. */
struct ring_out {
	struct ring *ring;
	struct event *event; /* whose record it is */
	char *data;
	u64 mask;	     /* size of the data - 1 */
	u64 at;		     /* offset in the data of the next byte */
	u64 head;	     /* that publishes it */
	bool has_lost;  /* there is a LOST record in front of it */
};

/*
 * Reserves size bytes (a multiple of 8, header included) in e's ring, in front of it a LOST record if some are due.
 * False: no ring, paused, or no room (counted in ring.lost and event.lost): nothing to write, nothing to end. On true,
 * write exactly size bytes, then ring_end().
 */
bool ring_begin(struct ring_out *o, struct event *e, u32 size);
void ring_write(struct ring_out *o, const void *p, u32 n);
/* Where a record's bytes so far are a multiple of 8: sizes are, so the word does not wrap. */
static inline void ring_u64(struct ring_out *o, u64 v)
{
	section_store((u64 *)(o->data + (o->at & o->mask)), v);
	o->at += 8;
}
/*
 * Publishes it. kill: of a sample, POLL_IN or POLL_HUP; 0: another record. True: it wakes those who wait, by watermark,
 * or if it is a sample, by attr.wakeup_events.
 */
bool ring_end(struct ring_out *o, u32 kill);

/* All who wait on the descriptors of the ring's events look again. */
void ring_wake(struct ring *r, u32 pending_kill);

#endif
