/*
 * mmap(2) of events: the checks in Linux's order, which ring a mapping shows, and who maps what. os/ does the mapping itself.
 *
 * Address spaces are numbers in event_ctx.mm: a fork without CLONE_VM and an exec begin a new one, and the mappings of one
 * that no live task has any more are gone. Mappings are not inherited by fork (VM_DONTCOPY).
 */
#ifndef EVENT_MAP_H
#define EVENT_MAP_H

#include "event/space.h"

struct event_map_request {
	gva addr;	/* where it will be; set before event_map_commit() */
	u64 len, offset;
	u32 prot, flags;
	u32 map;	/* out: its number */
	u32 page;	/* out: first page in the ring memory to be mapped, read-only if !writable */
	u32 pages;
	bool writable;
};

/* Checks, makes or finds the ring, and enters the mapping. 0 or -errno as mmap(2) of Linux. */
int event_map_begin(task_id task, u64 fd, struct event_map_request *rq);
/* The host has mapped it at rq->addr. */
void event_map_commit(const struct event_map_request *rq);
/* The host could not. */
void event_map_undo(const struct event_map_request *rq);
/* [start, end) of the task's address space is no longer mapped (munmap, or another mapping in its place). */
void event_map_removed(task_id task, gva start, gva end);
/* True if some of it is an event's mapping: takes no lock unless the address space has any. */
bool event_map_any(task_id task, gva start, gva end);

/* With the event lock, for event/task.c: a new address space; all mappings of spaces without tasks go. */
u32 event_mm_new_locked(void);
void event_mm_gone_locked(u32 mm);

#endif
