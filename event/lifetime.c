/* Events come and go; see event.h. */
#include "event/event.h"
#include "event/state.h"
#include "event/fold.h"
#include "event/lineage.h"
#include "event/order.h"
#include "event/ready.h"
#include "event/ring.h"
#include "event/sideband.h"
#include "event/watch.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/string.h"

static u32 new_slot(struct event_space *s)
{
	stat_inc(event_slots);
	return s->slots_high++;
}

struct event *event_alloc(void)
{
	struct event_space *s = event_space;
	struct event *e;
	u32 nr = s->free.last;

	check_slow(event_is_locked());
	if (nr)
		elist_del(&s->free, nr, LINK_CTX);
	else if (s->slots_high < s->limits.slots)
		nr = new_slot(s);
	else
		return NULL;
	e = event_slot(nr);
	(memset)(e, 0, sizeof(*e)); /* it means nothing until it is live */
	e->id = s->next_id++;
	e->pidns = host_pidns();
	e->leader = nr;
	e->leader_id = e->id;
	__atomic_store_n(&e->slot, SLOT_NEW, __ATOMIC_RELEASE);
	return e;
}

bool event_in_ctx(const struct event *e)
{
	return e->slot == SLOT_LIVE && (e->parent || event_tally(e)->state != PERF_STATE_EXIT);
}

static void join_group(struct event *e, struct event *leader)
{
	elist_add(&leader->siblings, event_nr(e), LINK_GROUP);
	leader->nr_siblings++;
	leader->group_generation++;
}

static void join_ctx(struct event *e)
{
	struct event_ctx *ctx = event_ctx(e->task);

	elist_add(e->task ? &ctx->events : &event_space->system, event_nr(e), LINK_CTX);
	if (e->task) {
		ctx->cpu_bound += e->cpu >= 0;
		ctx->measured += event_is_measured(e);
	}
	if (sideband_of(e))
		sideband_sync_locked(e->task);
}

/* Who has a probe's event sees the probe, disabled or not (ref_ctr_offset). */
static void probes_changed(const struct event *e)
{
	u32 row;

	if (probe_of_event(e, &row))
		event_hits_changed(e);
}

void event_attach(struct event *e)
{
	check_slow(event_is_locked());
	event_hold(e);
	order_new(e);
	__atomic_store_n(&e->slot, SLOT_LIVE, __ATOMIC_RELEASE);
	join_ctx(e);
	if (!event_is_leader(e))
		join_group(e, event_leader(e));
	elist_add(e->parent ? &event_slot(e->parent)->children : &event_space->roots, event_nr(e), LINK_FAMILY);
	probes_changed(e);
}

static void leave_ctx(struct event *e)
{
	struct event_ctx *ctx = event_ctx(e->task);

	event_hold(e);
	elist_del(e->task ? &ctx->events : &event_space->system, event_nr(e), LINK_CTX);
	probes_changed(e);
	if (e->task) {
		ctx->cpu_bound -= e->cpu >= 0;
		ctx->measured -= event_is_measured(e);
	}
	if (sideband_of(e))
		sideband_sync_locked(e->task);
}

/* The kernel's perf_group_detach(): siblings of a leader that goes become leaders of groups of one. */
static void leave_group(struct event *e, u64 now)
{
	struct event *s;

	event_hold(e);
	if (!event_is_leader(e)) {
		elist_del(&event_leader(e)->siblings, event_nr(e), LINK_GROUP);
		event_leader(e)->nr_siblings--;
		event_leader(e)->group_generation++;
		e->leader = event_nr(e);
		e->leader_id = e->id;
		return;
	}
	event_update_group(e, now);
	for_each_sibling(s, e) {
		elist_del(&e->siblings, event_nr(s), LINK_GROUP);
		s->leader = event_nr(s);
		s->leader_id = s->id;
		order_new_group(s);
		event_sched_group(s, now);
		if (!s->task)
			event_sched_system(s);
	}
	e->nr_siblings = 0;
}

static void free_slot(struct event *e)
{
	e->in_ctx = (struct elink){0, 0};
	__atomic_store_n(&e->slot, SLOT_FREE, __ATOMIC_RELEASE);
	elist_add(&event_space->free, event_nr(e), LINK_CTX);
}

/* A child that goes is added to its parent. */
static void fold(struct event *e)
{
	struct event *parent = event_slot(e->parent);
	struct event_tally *to = &parent->tally;
	const struct event_tally *from = event_tally(e);

	event_hold(parent);
	if (!event_counts_alone(parent))
		to->child_count += from->count;
	if (event_has_times_of_tasks(parent)) {
		to->child_enabled += from->enabled;
		to->child_running += from->running;
	}
}

void event_fold_pending(struct event *root, u64 enabled)
{
	check_slow(event_is_locked());
	event_hold(root);
	root->tally.child_enabled += enabled;
}

static void remove_child(struct event *e, bool counts)
{
	u64 now = event_clock(e);

	event_leader_changes(e, now);
	event_set_state(e, PERF_STATE_EXIT, now);
	leave_group(e, now);
	if (counts)
		fold(e);
	leave_ctx(e);
	elist_del(&event_slot(e->parent)->children, event_nr(e), LINK_FAMILY);
	free_slot(e);
}

static void exit_child(struct event *e)
{
	struct event *root = event_slot(e->parent);

	sideband_read_locked(e);
	remove_child(e, true);
	event_ready_at_exit(root);
}

static void exit_root(struct event *e, bool alone)
{
	u64 now = event_clock(e);

	event_leader_changes(e, now);
	event_set_state(e, PERF_STATE_EXIT, now);
	if (alone)
		leave_group(e, now);
	leave_ctx(e);
	event_ready_at_exit(e);
}

void event_exit(struct event *e, bool alone)
{
	check_slow(event_is_locked());
	if (e->parent)
		exit_child(e);
	else
		exit_root(e, alone);
}

void event_release(struct event *e)
{
	bool in_ctx = event_tally(e)->state != PERF_STATE_EXIT;
	u64 now = event_clock(e);
	struct event *c;

	check_slow(event_is_locked());
	lineage_close(e);
	event_watch_closed_locked(e);
	for_each_child(c, e)
		remove_child(c, false);
	ring_attach(e, NULL);
	if (in_ctx)
		event_set_state(e, PERF_STATE_EXIT, now);
	leave_group(e, now);
	if (in_ctx)
		leave_ctx(e);
	elist_del(&event_space->roots, event_nr(e), LINK_FAMILY);
	event_space->left -= e->left;
	free_slot(e);
}
