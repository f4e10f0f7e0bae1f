/* See probe.h. */
#include "event/probe.h"

#include <asm-generic/errno.h>
#include "event/space.h"
#include "event/state.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

struct probe *probe_row(u32 row)
{
	return &event_space->probes.probe[row % PROBE_ROWS];
}

char *probe_text(u32 row)
{
	return event_space->probes.text[row % PROBE_ROWS];
}

bool probe_by_id(u64 id, u32 *row)
{
	*row = (u32)(id - PROBE_ID);
	return id - PROBE_ID < MIN(event_space->probes.high, PROBE_ROWS) && probe_row(*row)->state != PROBE_FREE;
}

bool probe_of_event(const struct event *e, u32 *row)
{
	return e->source.hits && probe_by_id(e->source.source, row);
}

bool probe_is_used(u32 row)
{
	const struct event *e;
	u32 its;

	for_each_opened(e) {
		if (probe_of_event(e, &its) && its == row)
			return true;
	}
	return false;
}

void probe_changed(u32 row)
{
	const struct event *e, *child;
	u32 its;

	event_space->probes.changes++;
	for_each_opened(e) {
		if (!probe_of_event(e, &its) || its != row)
			continue;
		event_hits_changed(e);
		for_each_child(child, e)
			event_hits_changed(child);
	}
}

/* Places that no event needs any more. */
static void free_places(void)
{
	u64 used[PROBE_ROWS / 64] = {0};
	const struct event *e;
	u32 row;

	for_each_opened(e) {
		if (probe_of_event(e, &row))
			used[row / 64] |= 1ul << row % 64;
	}
	for (row = 0; row < PROBE_ROWS; row++)
		if (probe_row(row)->state == PROBE_PLACE && !(used[row / 64] >> row % 64 & 1))
			probe_row(row)->state = PROBE_FREE;
}

static int find_free(void)
{
	u32 row;

	if (event_space->probes.high < PROBE_ROWS)
		return (int)event_space->probes.high++;
	for (row = 0; row < PROBE_ROWS; row++)
		if (probe_row(row)->state == PROBE_FREE)
			return (int)row;
	return -1;
}

int probe_new_row(void)
{
	int row = find_free();

	check_slow(event_is_locked());
	if (row < 0) {
		free_places();
		row = find_free();
	}
	event_space->probes.changes++;
	return row < 0 ? refuse(ENOMEM, "all probes of the session are taken") : row;
}

static bool is_same(const struct probe_place *a, const struct probe_place *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->offset == b->offset;
}

int probe_find_place(const struct probe_place *place)
{
	int row;

	check_slow(event_is_locked());
	for (u32 i = 0; i < MIN(event_space->probes.high, PROBE_ROWS); i++) {
		const struct probe *p = probe_row(i);

		if (p->state == PROBE_FREE || !is_same(&p->place, place))
			continue;
		if (p->place.ref_ctr != place->ref_ctr && probe_is_used(p->event))
			return refuse(EINVAL, "this place has a probe with another ref_ctr_offset");
		if (p->state == PROBE_PLACE && p->place.ref_ctr == place->ref_ctr &&
		    p->place.is_return == place->is_return)
			return (int)i;
	}
	row = probe_new_row();
	if (row >= 0)
		*probe_row((u32)row) = (struct probe){.state = PROBE_PLACE, .event = (u32)row, .place = *place};
	return row;
}
