/*
 * Doubly linked lists of events in the session's memory, by slot number; 0 ends a list. A member may die in the middle of a
 * change: nothing but the repair, which rebuilds them from the slot table, may then look at them.
 */
#ifndef EVENT_LIST_H
#define EVENT_LIST_H

#include "abi/types.h"

struct event;

struct elist {
	u32 first, last;
};

struct elink {
	u32 next, prev;
};

/* `link` is the offset of the list's struct elink in struct event. */
void elist_add(struct elist *list, u32 nr, size_t link);
void elist_del(struct elist *list, u32 nr, size_t link);
/* As elist_add, but keeps the list in order of event ids whatever the order of the calls. */
void elist_add_by_id(struct elist *list, u32 nr, size_t link);

#endif
