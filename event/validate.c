/* Does everything derived agree with the slot tables? For debug builds and tests; see event_validate() in space.h. */
#include "event/counters.h"
#include "event/event.h"
#include "event/fold.h"
#include "event/lineage.h"
#include "event/overflow.h"
#include "event/sideband.h"
#include "event/space.h"

static const char *check_slot(const struct event *e)
{
	if (e->slot == SLOT_FREE)
		return NULL;
	if (e->slot != SLOT_LIVE)
		return "a slot is neither free nor live";
	if (e->leader != event_nr(e) && event_leader(e)->slot != SLOT_LIVE)
		return "an event's leader is not live";
	if (event_leader(e)->id != e->leader_id)
		return "an event's leader is another one than it thinks";
	if (!event_is_leader(event_leader(e)))
		return "a leader has a leader";
	if (e->parent && (event_slot(e->parent)->slot != SLOT_LIVE || event_slot(e->parent)->id != e->parent_id))
		return "a child has no parent";
	if (e->filter.n && (e->parent || e->filter.at + e->filter.n > EVENT_FILTER_NODES))
		return "a filter is not where filters are kept";
	if (!e->parent && !e->refs)
		return "an open event has no descriptor";
	if (event_tally(e)->state == PERF_STATE_ACTIVE && event_tally(event_leader(e))->state < PERF_STATE_INACTIVE)
		return "an event counts while its leader is off";
	return NULL;
}

/* Walks a list and adds up its members; ~0: the links are wrong. */
static u32 list_length(const struct elist *list, size_t link)
{
	u32 n = 0, prev = 0;

	for (u32 nr = list->first; nr; n++) {
		const struct elink *l = (const struct elink *)((const char *)event_slot(nr) + link);

		if (nr >= event_space->slots_high || l->prev != prev || n > EVENT_SLOTS)
			return ~0u;
		prev = nr;
		nr = l->next;
	}
	return prev == list->last ? n : ~0u;
}

static const char *check_ctx(u32 task, u32 *members)
{
	struct event_ctx *ctx = event_ctx(task);
	u32 users[EVENT_UNITS] = {0};
	struct overflow_wants wants;
	u32 n = list_length(&ctx->events, LINK_CTX), bound = 0, measured = 0, units = 0;
	struct event *e;

	if (n == ~0u)
		return "a context's list is broken";
	*members += n;
	for_each_in_ctx(e, ctx) {
		if (e->slot != SLOT_LIVE || e->task != task)
			return "a context has an event that is not its own";
		bound += e->cpu >= 0;
		measured += event_is_measured(e);
		for (u32 u = event_tally(e)->state == PERF_STATE_ACTIVE ? event_units(e) : 0; u; u &= u - 1)
			users[__builtin_ctz(u)]++;
	}
	for (u32 u = 0; u < EVENT_UNITS; u++) {
		if (users[u] != ctx->unit_users[u])
			return "a unit's users are miscounted";
		units |= (u32)!!users[u] << u;
	}
	if (ctx->live && ctx->sideband != sideband_of_ctx(task))
		return "side-band records are wanted that are not told, or not wanted that are";
	overflow_wants(task, &wants);
	if (ctx->live &&
	    (wants.sampling != ctx->sampling || wants.polling != ctx->polling || wants.needs != ctx->needs))
		return "sampling events are miscounted";
	if (ctx->live && units != ctx->units)
		return "the drivers were told of other units than are used";
	if (bound != ctx->cpu_bound || measured != ctx->measured)
		return "a context's events of a kind are miscounted";
	return counters_validate(task);
}

static const char *check_members(void)
{
	u32 in_ctx = 0, siblings = 0, children = 0, n_ctx, n_siblings = 0, n_children = 0;
	const char *why = NULL;

	n_children = list_length(&event_space->roots, LINK_FAMILY);
	n_ctx = list_length(&event_space->system, LINK_CTX);
	for (u32 task = 1; task < event_space->ctx_high && !why; task++)
		why = check_ctx(task, &n_ctx);
	for (u32 nr = 1; nr < event_space->slots_high && !why; nr++) {
		const struct event *e = event_slot(nr);

		why = check_slot(e);
		if (why || e->slot != SLOT_LIVE)
			continue;
		in_ctx += event_in_ctx(e);
		siblings += !event_is_leader(e);
		children++; /* roots are in a list like that */
		n_siblings += list_length(&e->siblings, LINK_GROUP);
		n_children += list_length(&e->children, LINK_FAMILY);
		if (list_length(&e->siblings, LINK_GROUP) != e->nr_siblings)
			why = "a leader's siblings are miscounted";
	}
	if (why)
		return why;
	if (in_ctx != n_ctx)
		return "an event is on no context, or on too many";
	if (siblings != n_siblings)
		return "an event is in no group, or in too many";
	return children == n_children ? NULL : "a child is in no family, or in too many";
}

static u32 count_maps(void)
{
	const struct event_space *s = event_space;
	u32 n = 0;

	for (u32 i = 0; i < EVENT_MM_BUCKETS && s->maps; i++)
		for (u32 nr = s->mm[i].maps; nr && n <= EVENT_MAPS; nr = s->map[EVENT_WITHIN(nr, map)].next)
			n += s->map[EVENT_WITHIN(nr, map)].ring != 0;
	return n;
}

static const char *check_rings(u64 *maps)
{
	struct event_space *s = event_space;
	u64 feeders = 0, attached = 0, mapped = 0;

	for (u32 i = 1; i < s->maps_high; i++) {
		const struct event_map *m = &s->map[i];

		*maps += !!m->ring;
		if (m->ring && (ring_slot(m->ring)->id != m->ring_check || event_slot(m->event)->id != m->event_id))
			return "a mapping is of a ring or an event that is gone";
	}
	if (*maps != s->maps || count_maps() != s->maps)
		return "mappings of address spaces are miscounted";
	for (u32 nr = 1; nr < s->rings_high; nr++) {
		const struct ring *r = ring_slot(nr);

		if (r->slot == SLOT_FREE)
			continue;
		if (r->slot != SLOT_LIVE || list_length(&r->feeders, LINK_RING) == ~0u)
			return "a ring is neither free nor live, or its list is broken";
		mapped += r->maps;
		feeders += list_length(&r->feeders, LINK_RING);
	}
	for (u32 nr = 1; nr < s->slots_high; nr++) {
		const struct event *e = event_slot(nr);

		if (e->slot != SLOT_LIVE || !e->ring)
			continue;
		attached++;
		if (ring_slot(e->ring)->slot != SLOT_LIVE || ring_slot(e->ring)->id != e->ring_check)
			return "an event's ring is gone";
	}
	if (mapped != *maps)
		return "mappings of rings are miscounted";
	return feeders == attached ? NULL : "an event feeds no ring, or too many";
}

static const char *check_files(u64 maps)
{
	struct event_space *s = event_space;
	u64 refs = 0, entries = 0, messages = 0, users = 0, tasks = 0;

	for (u32 f = 1; f < s->files_high; f++) {
		users += s->files[f].users;
		for (u32 fd = 0; fd < MIN(s->files[f].high, EVENT_FDS); fd++) {
			u32 nr = *event_fd_entry(f, fd);

			entries += !!nr;
			if (nr && (event_slot(nr)->slot != SLOT_LIVE || !s->files[f].users))
				return "a descriptor is of an event that is gone";
		}
	}
	for (u32 task = 1; task < s->ctx_high; task++)
		tasks += !!s->ctx[task].live;
	for (u32 nr = 1; nr < s->slots_high; nr++) {
		if (event_slot(nr)->slot != SLOT_LIVE)
			continue;
		refs += event_slot(nr)->refs;
		messages += event_slot(nr)->in_messages;
	}
	if (users != tasks)
		return "users of descriptor tables are miscounted";
	return refs == entries + messages + maps ? NULL : "descriptors of events are miscounted";
}

static const char *check_sizes(void)
{
	const struct event_space *s = event_space;
	bool fits = s->slots_high <= EVENT_SLOTS && s->ctx_high <= EVENT_TASKS && s->files_high <= EVENT_FILES &&
		    s->rings_high <= EVENT_RINGS && s->maps_high <= EVENT_MAPS && s->lineages_high <= EVENT_LINEAGES &&
		    s->watches_high <= EVENT_WATCHES;

	return fits ? NULL : "more of a table is in use than there is";
}

const char *event_validate(void)
{
	const char *why = check_sizes();
	u64 maps = 0;

	why = why ? why : check_members();
	if (!why && list_length(&event_space->free, LINK_CTX) == ~0u)
		why = "the free list is broken";
	why = why ? why : lineage_validate();
	why = why ? why : check_rings(&maps);
	return why ? why : check_files(maps);
}
