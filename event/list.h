/*
 * Doubly linked lists of events in the session's memory, by slot number; 0 ends a list. With the lock of the list's
 * context, or event_lock() if it is of none.
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

#endif
