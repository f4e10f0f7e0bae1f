/*
 * Finding order again after a member died inside event_lock(): see the rules in space.h.
 *
 * What a dead member can leave: slots that are neither free nor live; a child whose counts are on their way to its parent; a
 * leader reference half changed; derived data in any state; a group of which some events are scheduled as the
 * change wanted and some are not. Each event's own numbers are always whole.
 */
#include "event/event.h"
#include "event/files.h"
#include "event/fold.h"
#include "event/lineage.h"
#include "event/map.h"
#include "event/overflow.h"
#include "event/ready.h"
#include "event/ring.h"
#include "event/ring_memory.h"
#include "event/sideband.h"
#include "event/space.h"
#include "event/userpage.h"
#include "event/watch.h"
#include "rt/string.h"

static bool live(u32 nr, u64 id)
{
	return nr && nr < event_space->slots_high && event_slot(nr)->slot == SLOT_LIVE && event_slot(nr)->id == id;
}

static void free_slot(struct event *e)
{
	__atomic_store_n(&e->slot, SLOT_FREE, __ATOMIC_RELEASE);
}

/* Slots that are on their way in or out, and children whose parent is gone. */
static void finish_slots(void)
{
	for (u32 nr = 1; nr < event_space->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot == SLOT_NEW || e->slot == SLOT_DYING)
			free_slot(e);
		else if (e->slot != SLOT_FREE && e->parent && !live(e->parent, e->parent_id))
			free_slot(e);
		else if (e->slot == SLOT_FOLDING) {
			event_fold(e);
			free_slot(e);
		}
	}
}

static void fix_leaders(void)
{
	for (u32 nr = 1; nr < event_space->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot != SLOT_LIVE || live(e->leader, e->leader_id))
			continue;
		e->leader = nr;
		e->leader_id = e->id;
	}
}

static void count_files(void)
{
	struct event_space *s = event_space;

	for (u32 f = 0; f < s->files_high; f++)
		s->files[f].users = 0;
	for (u32 task = 1; task < s->ctx_high; task++)
		if (s->ctx[task].live)
			s->files[s->ctx[task].files].users++;
	for (u32 nr = 1; nr < s->slots_high; nr++)
		event_slot(nr)->refs = 0;
	for (u32 f = 1; f < s->files_high; f++) {
		for (u32 fd = 0; fd < s->files[f].high; fd++) {
			u32 *entry = event_fd_entry(f, fd), nr = *entry;

			if (!nr)
				continue;
			if (!s->files[f].users || nr >= s->slots_high || event_slot(nr)->slot != SLOT_LIVE || event_slot(nr)->parent)
				*entry = 0;
			else
				event_slot(nr)->refs++;
		}
		if (!s->files[f].users)
			s->files[f].high = 0;
	}
	event_files_rebuild_locked();
}

/* Mappings of address spaces that are gone; those that stay are references to their events and rings. */
static void count_maps(void)
{
	struct event_space *s = event_space;

	event_mm_rebuild_locked();
	for (u32 nr = 1; nr < s->rings_high; nr++)
		ring_slot(nr)->maps = 0;
	for (u32 i = 1; i < s->maps_high; i++) {
		struct event_map *m = &s->map[i];
		struct ring *r = ring_slot(m->ring);

		if (m->ring && (r->slot != SLOT_LIVE || r->id != m->ring_check || !live(m->event, m->event_id)))
			m->ring = 0;
		if (!event_map_rebuild_locked(m)) {
			m->ring = 0;
			continue;
		}
		r->maps++;
		event_slot(m->event)->refs++;
	}
}

/* Roots without a reference: their opener died before it had one, or their last owner before it had let go. */
static void drop_unreferenced(void)
{
	for (u32 nr = 1; nr < event_space->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot == SLOT_LIVE && !e->parent && !e->refs)
			free_slot(e);
	}
}

bool event_in_ctx(const struct event *e)
{
	return e->slot == SLOT_LIVE && (e->parent || event_tally(e)->state != PERF_STATE_EXIT);
}

static void clear_lists(void)
{
	struct event_space *s = event_space;

	s->free = s->system = s->roots = (struct elist){0, 0};
	for (u32 task = 0; task < s->ctx_high; task++) {
		s->ctx[task].events = (struct elist){0, 0};
		s->ctx[task].cpu_bound = s->ctx[task].measured = 0;
		s->ctx[task].hits_changed = 1;
		s->ctx[task].quiet = 0;
		memset(s->ctx[task].unit_users, 0, sizeof(s->ctx[task].unit_users));
	}
	for (u32 nr = 1; nr < s->slots_high; nr++) {
		event_slot(nr)->siblings = event_slot(nr)->children = (struct elist){0, 0};
		event_slot(nr)->nr_siblings = 0;
	}
}

static void link_event(struct event *e)
{
	struct event_space *s = event_space;
	u32 nr = event_nr(e);

	if (event_in_ctx(e)) {
		elist_add_by_id(e->task ? &s->ctx[e->task].events : &s->system, nr, LINK_CTX);
		if (e->task) {
			s->ctx[e->task].cpu_bound += e->cpu >= 0;
			s->ctx[e->task].measured += event_is_measured(e);
		}
	}
	elist_add(e->parent ? &event_slot(e->parent)->children : &s->roots, nr, LINK_FAMILY); /* there are many; their order is no matter */
	if (e->leader != nr) {
		elist_add_by_id(&event_slot(e->leader)->siblings, nr, LINK_GROUP);
		event_slot(e->leader)->nr_siblings++;
	}
	if (!e->task || event_tally(e)->state != PERF_STATE_ACTIVE)
		return;
	for (u32 units = event_units(e); units; units &= units - 1)
		s->ctx[e->task].unit_users[__builtin_ctz(units)]++;
}

static void rebuild_lists(void)
{
	clear_lists();
	for (u32 nr = 1; nr < event_space->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot == SLOT_LIVE)
			link_event(e);
		else
			elist_add(&event_space->free, nr, LINK_CTX);
	}
	lineage_rebuild();
	for (u32 task = 0; task < event_space->ctx_high; task++)
		sideband_sync_locked(task);
}

static bool has_ring(const struct event *e)
{
	const struct ring *r = ring_slot(e->ring);

	return e->ring && e->ring < event_space->rings_high && r->slot == SLOT_LIVE && r->id == e->ring_check && r->maps;
}

/* Rings that nobody maps go, and so does what was written to them. */
static void rebuild_rings(void)
{
	struct event_space *s = event_space;

	ring_memory_rebuild();
	for (u32 nr = 1; nr < s->rings_high; nr++)
		ring_slot(nr)->feeders = (struct elist){0, 0};
	for (u32 nr = 1; nr < s->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot != SLOT_LIVE || !has_ring(e))
			e->ring = 0;
		else
			elist_add_by_id(&ring_slot(e->ring)->feeders, nr, LINK_RING);
	}
	for (u32 nr = s->rings_high - 1; nr; nr--) {
		struct ring *r = ring_slot(nr);

		if (r->slot == SLOT_FREE)
			continue;
		if (r->slot == SLOT_LIVE && r->maps) {
			ring_repair(r);
			userpage_update(event_slot(r->event));
		} else {
			ring_put(r);
		}
	}
}

static void tell_drivers(void)
{
	for (u32 task = 1; task < event_space->ctx_high; task++) {
		if (!event_ctx(task)->live)
			continue;
		overflow_sync(task);
		event_ctx(task)->units = ~0u; /* unlike anything wanted: the dead may or may not have told them */
		event_sync_units(task);
	}
}

static void reschedule(void)
{
	for (u32 nr = 1; nr < event_space->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot == SLOT_LIVE && event_is_leader(e))
			event_sched_group(e, event_clock(e));
	}
	for (u32 nr = 1; nr < event_space->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot == SLOT_LIVE && !e->task)
			event_sched_system(e);
	}
}

void event_repair(void)
{
	finish_slots();
	count_files();
	count_maps();
	drop_unreferenced();
	finish_slots(); /* the children of those */
	fix_leaders();
	rebuild_lists();
	rebuild_rings();
	event_watch_rebuild_locked();
	tell_drivers();
	reschedule();
	lineage_finish();
	event_ready_repair();
}
