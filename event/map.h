/*
 * mmap(2) of events: the checks in Linux's order, which ring a mapping shows, and who maps what. os/ does the mapping
 * itself.
 *
 * A mapping is a reference to its event, as a descriptor is. The ring goes with its last mapping; events that sent
 * their records there send them nowhere then.
 *
 * An entry may outlive its memory: if the memory is unmapped before event_map_commit() names it, or if the task is
 * killed between unmapping and saying so. It then keeps its event and its ring, no more than that, until something else
 * is unmapped at its address or the address space ends. Only os/ knows what is mapped.
 *
 * Address spaces are numbers in event_ctx.mm: a fork without CLONE_VM and an exec begin a new one, and the mappings of
 * one that no live task has any more are gone. Mappings are not inherited by fork (VM_DONTCOPY).
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
 * [start, end) of the task's address space is about to be unmapped (munmap, or another mapping in its place), which
 * cuts no event's mapping in two: those there are leaving, event_map_remove_end() follows. Called before the host
 * unmaps, so that a mapping that another thread makes there afterwards is not meant.
 */
void event_map_remove_begin(task_id task, gva start, gva end);
/* The host has done so, and they go; or it could not, and they stay. As they do if the task has ended in between. */
void event_map_remove_end(task_id task, gva start, gva end, bool done);
/* mremap(2) has moved the mapping at `from` to `to`. */
void event_map_moved(task_id task, gva from, gva to);
/* True if some of it may be an event's mapping, and the memory map (os/mm/vma.h) has to be asked. Takes no lock. */
bool event_map_any(task_id task, gva start, gva end);

/* The event with that number if the task's address space maps it; NULL: it does not. With the event lock. */
struct event *event_map_find_locked(task_id task, u32 nr);

/* The task's address space has a mapped event that rdpmc can read. Takes no lock. */
bool event_map_rdpmc(task_id task);

/*
 * With the event lock, for event/task.c: the task has the address space mm, 0: a new one. It has it no more: the
 * mappings go with the last task that has it; and what the task was unmapping when it ended stays.
 */
void event_mm_join_locked(task_id task, u32 mm);
void event_mm_leave_locked(task_id task);

#endif
