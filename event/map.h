/*
 * mmap(2) of events: the checks in Linux's order, which ring a mapping shows, and who maps what. os/ does the mapping itself.
 *
 * A mapping is a reference to its event, as a descriptor is. The ring goes with its last mapping; events that sent their records there
 * send them nowhere then.
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
	u32 page;	/* out: first page in the ring memory to be mapped, */
	u32 pages;	/* and how many */
};

/* Checks, makes or finds the ring, and enters the mapping. 0 or -errno as mmap(2) of Linux. */
int event_map_begin(task_id task, u64 fd, struct event_map_request *rq);
/* The host has mapped it at rq->addr. */
void event_map_commit(const struct event_map_request *rq);
/* The host could not. */
void event_map_undo(const struct event_map_request *rq);

/*
 * [start, end) of the task's address space is about to be unmapped (munmap, or another mapping in its place). 0: no event is mapped
 * there; 1: the mappings there are leaving, event_map_remove_end() follows; -EINVAL: it would cut one in two. Called before the host
 * unmaps, so that a mapping that another thread makes there afterwards is not meant.
 */
int event_map_remove_begin(task_id task, gva start, gva end);
/* The host has done so, and they go; or it could not, and they stay. */
void event_map_remove_end(task_id task, gva start, gva end, bool done);
/* mremap(2) has moved the mapping at `from` to `to`. */
void event_map_moved(task_id task, gva from, gva to);
/* True if some of it is an event's mapping. Takes no lock. */
bool event_map_any(task_id task, gva start, gva end);

/* The task's address space has a mapped event that rdpmc can read. Takes no lock. */
bool event_map_rdpmc(task_id task);

/* With the event lock, for event/task.c and the repair: a new address space; the mappings of one that no live task has go. */
u32 event_mm_new_locked(void);
void event_mm_gone_locked(u32 mm);
bool event_mm_alive_locked(u32 mm);

#endif
