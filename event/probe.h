/*
 * Probes: places in files that events are hit at, whatever process executes them. A probe is a row of the session's
 * table, from 0 on. Those of the uprobe PMU are there while an event counts them; those with a name, which the guest
 * defines in uprobe_events, until it deletes them.
 *
 * event_source.source of a probe's events is PROBE_ID + its row: numbers that no other tracepoint has. Several rows can
 * have one name: they are one event, whose number is the first one's.
 *
 * Rows have no reference count, so members that die leave nothing behind. When the table is full, rows that no event
 * and no name needs are looked for and used again.
 */
#ifndef EVENT_PROBE_H
#define EVENT_PROBE_H

#include "abi/types.h"

#define PROBE_ROWS 16384u
#define PROBE_ID   2000u /* ids are 16 bits in records; those of system calls are below */
#define PROBE_TEXT 4096

enum probe_state { PROBE_FREE, PROBE_PLACE, PROBE_NAMED };

struct probe_place {
	u64 dev, ino;  /* the file, as /proc/PID/maps has it: major << 32 | minor */
	u64 offset;    /* in the file */
	u64 ref_ctr;   /* offset of the counter (u16) of those who use the probe; 0: there is none */
	u64 is_return; /* hit when the function that begins there returns */
};

struct probe {
	u32 state; /* enum probe_state */
	u32 event; /* the row whose number its events have: itself, or the first with the same name */
	struct probe_place place;
	u64 hits; /* [any] by whoever hits it; 1 more or less does not matter */
};

struct probe_table {
	u32 high;    /* [any, to look] rows ever used */
	u32 changes; /* [any] times that rows were taken, or a name lost one */
	struct probe probe[PROBE_ROWS];
	char text[PROBE_ROWS][PROBE_TEXT]; /* of named ones: their definitions, see pmu/probe_def.h */
};

/* Any number: memory of the table. */
struct probe *probe_row(u32 row);
char *probe_text(u32 row);

/* The row of a tracepoint's id: true if there is such a probe. */
bool probe_by_id(u64 id, u32 *row);

struct event;
/* With the event's context's lock: the same of what it counts. */
bool probe_of_event(const struct event *e, u32 *row);

/* With event_lock(): the row of the place, which may be new; -EINVAL: it has another counter; -ENOMEM. */
int probe_find_place(const struct probe_place *place);
/* The same: a free row; -ENOMEM. */
int probe_new_row(void);
/* The same: some event has the row's number. */
bool probe_is_used(u32 row);
/* The same: tasks with such events look again where the probes of that name are. */
void probe_changed(u32 row);

#endif
