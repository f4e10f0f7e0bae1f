/*
 * Doubly linked lists of events in the session's memory, by slot number; 0 ends a list. With the lock of the list's
 * context, or event_lock() if it is of none.
 */
#ifndef EVENT_LIST_H
#define EVENT_LIST_H

#include "abi/types.h"
#include "rt/section.h"

struct event;

#define EVENT_SLOTS (8u << 20) /* number 0 is not used */

struct elist {
	u32 first, last;
};

struct elink {
	u32 next, prev;
};

/* `link` is the offset of the list's struct elink in struct event. */
void elist_add(struct elist *list, u32 nr, size_t link);
void elist_del(struct elist *list, u32 nr, size_t link);

/*
 * Iteration in which the present event may leave the list. It goes on only to an event that names the present one as
 * that before it, and begins with one that names none: so it ends, whatever others have written there. While they
 * write, it may come to a place that names itself before and behind, or be in a part that becomes a ring. So it
 * remembers the event of round 1, 2, 4, 8 and so on in `seen`, and ends when it is there again. Who writes on and on
 * may keep it for EVENT_SLOTS rounds.
 */
READS bool walk_goes_on(u32 nr, u32 *seen, u32 *rounds)
{
	if (nr == *seen || ++*rounds > EVENT_SLOTS)
		return false;
	if (!(*rounds & (*rounds - 1)))
		*seen = nr;
	return true;
}

#define LINKED_AFTER(prev_, nr, link) ((nr) != (prev_) && event_slot(nr)->link.prev == (prev_) ? (nr) : 0)
#define for_each_linked(e, nr, next_, list, link)                                                                      \
	for (u32 nr = LINKED_AFTER(0, (list).first, link), next_, nr##seen_ = 0, nr##rounds_ = 0;                      \
	     nr && walk_goes_on(nr, &nr##seen_, &nr##rounds_) &&                                                       \
	     ((e) = event_slot(nr), next_ = LINKED_AFTER(nr, (e)->link.next, link), true);                             \
	     nr = next_)
#define for_each_in_ctx(e, c) for_each_linked(e, nr_c_, next_c_, (c)->events, in_ctx)
/* The same from its end, which is how the kernel's list of a context's events goes. */
#define LINKED_BEFORE(next_, nr) ((nr) != (next_) && event_slot(nr)->in_ctx.next == (next_) ? (nr) : 0)
#define for_each_in_ctx_newest(e, c) for_each_newest(e, (c)->events)
#define for_each_newest(e, list)                                                                                       \
	for (u32 nr_c_ = LINKED_BEFORE(0, (list).last), prev_c_, nr_c_seen_ = 0, nr_c_rounds_ = 0;                     \
	     nr_c_ && walk_goes_on(nr_c_, &nr_c_seen_, &nr_c_rounds_) &&                                               \
	     ((e) = event_slot(nr_c_), prev_c_ = LINKED_BEFORE(nr_c_, (e)->in_ctx.prev), true);                        \
	     nr_c_ = prev_c_)
#define for_each_sibling(e, leader) for_each_linked(e, nr_s_, next_s_, (leader)->siblings, in_group)
#define for_each_feeder(e, ring_) for_each_linked(e, nr_r_, next_r_, (ring_)->feeders, in_ring)
#define for_each_opened(e) for_each_linked(e, nr_o_, next_o_, event_space->roots, in_family)
#define for_each_child(e, parent) for_each_linked(e, nr_f_, next_f_, (parent)->children, in_family)

#endif
