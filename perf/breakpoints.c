/* See breakpoints.h. */
#include <linux/hw_breakpoint.h>
#include "event/event.h"
#include "event/overflow.h"
#include "os/guest_insn.h"
#include "os/session/scratch.h"
#include "perf/breakpoints.h"
#include "perf/perf.h"
#include "perf/rounds.h"
#include "perf/sampling.h"
#include "perf/snapshot.h"
#include "perf/uprobes.h"
#include "rt/string.h"

#define WIDEST 64u /* bytes of an access that the check in translated code looks at; see struct cpu */

struct breakpoint {
	gva addr;
	u64 id;	      /* of the event */
	u32 event;
	u8 type, len; /* HW_BREAKPOINT_* */
};

struct breakpoints {
	u32 n, room;
	struct breakpoint bp[];
};

static u64 bytes_for(u32 room)
{
	return sizeof(struct breakpoints) + room * sizeof(struct breakpoint);
}

/* ---- the list ---- */

static bool is_active(const struct event *e)
{
	return e->attr.type == PERF_TYPE_BREAKPOINT && e->source.units && event_tally(e)->state == PERF_STATE_ACTIVE;
}

/* Fills the list if there is room. Returns how many there are. */
static u32 collect(const struct thread *t, struct breakpoints *list)
{
	struct event *e;
	u32 n = 0;

	event_lock();
	for_each_in_ctx(e, event_ctx(t->cpu->slot)) {
		if (!is_active(e))
			continue;
		if (list && n < list->room)
			list->bp[n] = (struct breakpoint){
				.addr = e->attr.bp_addr,
				.id = e->id,
				.event = event_nr(e),
				.type = (u8)e->attr.bp_type,
				.len = (u8)e->attr.bp_len,
			};
		n++;
	}
	event_unlock();
	return n;
}

static void free_list(struct breakpoints *list)
{
	if (list)
		scratch_free(list, bytes_for(list->room));
}

/* NULL: there are none, or there is no memory. */
static struct breakpoints *make_list(const struct thread *t)
{
	struct breakpoints *list = NULL;
	u32 n = collect(t, NULL);

	while (n && (!list || n > list->room)) {
		free_list(list);
		list = scratch_alloc(bytes_for(n));
		if (!list)
			return NULL;
		list->room = n;
		n = collect(t, list);
	}
	if (list)
		list->n = n;
	if (list && !n) {
		free_list(list);
		list = NULL;
	}
	return list;
}

static void set_breaks(const struct breakpoints *list, bool on)
{
	for (u32 i = 0; list && i < list->n; i++)
		if (list->bp[i].type == HW_BREAKPOINT_X)
			dbt_break_set(list->bp[i].addr, on);
}

static void map_watch(struct cpu *cpu, const struct breakpoints *list)
{
	memset(cpu->watch_map, 0, sizeof(cpu->watch_map));
	for (u32 i = 0; list && i < list->n; i++) {
		const struct breakpoint *b = &list->bp[i];
		u64 first = b->addr - (WIDEST - 1) - cpu->watch_lo, last = b->addr + b->len - 1 - cpu->watch_lo;

		if (b->type == HW_BREAKPOINT_X)
			continue;
		for (u64 at = first / WIDEST; at <= last / WIDEST; at++)
			cpu->watch_map[at % CPU_WATCH_MAP] = 1;
	}
}

/* Where an access must begin to be of interest: one interval, and within it the map. */
static void set_watch(struct cpu *cpu, const struct breakpoints *list)
{
	gva lo = ~0ul, hi = 0;

	for (u32 i = 0; list && i < list->n; i++) {
		const struct breakpoint *b = &list->bp[i];

		if (b->type == HW_BREAKPOINT_X)
			continue;
		lo = MIN(lo, b->addr);
		hi = MAX(hi, b->addr + b->len);
	}
	cpu->watch_lo = hi ? lo - (WIDEST - 1) : 0;
	cpu->watch_len = hi ? hi - lo + WIDEST - 1 : 0;
	map_watch(cpu, list);
}

/* New ones come before old ones go, so that translations of what stays are kept. */
static void use_list(struct thread *t, struct breakpoints *list)
{
	struct breakpoints *old = t->breakpoints;

	set_breaks(list, true);
	set_watch(t->cpu, list);
	t->breakpoints = list;
	set_breaks(old, false);
	free_list(old);
}

void perf_load_breakpoints(struct thread *t)
{
	__atomic_store_n(&event_ctx(t->cpu->slot)->hits_changed, 0, __ATOMIC_SEQ_CST);
	use_list(t, make_list(t));
	uprobes_load(t);
}

void breakpoints_drop(struct thread *t)
{
	use_list(t, NULL);
}

void breakpoints_forked(struct thread *t)
{
	dbt_break_clear();
	free_list(t->breakpoints);
	t->breakpoints = NULL;
}

/* ---- hits ---- */

/* Those that one instruction has hit, in the order in which they were opened. */
struct hits {
	u32 n;
	struct event_hit hit[EVENT_HITS];
};

/* Linux gives the breakpoint's own address, not that of the access, and calls nothing exact. */
static void report(struct thread *t, struct hits *h, const struct snapshot_regs *regs)
{
	struct overflow_result result = {0};
	struct snapshot snap;

	snapshot_take(t, regs, &snap);
	for (u32 i = 0; i < h->n; i++) {
		snapshot_set_address(t, h->hit[i].addr, &snap);
		h->hit[i].page_size = snap.data_page_size;
	}
	event_hit(t->cpu->slot, h->hit, h->n, &snap, &result);
	sampling_result(t, &result, false);
	h->n = 0;
}

static void add(struct thread *t, struct hits *h, const struct breakpoint *b, const struct snapshot_regs *regs)
{
	if (h->n == EVENT_HITS)
		report(t, h, regs);
	h->hit[h->n++] = (struct event_hit){.event = b->event, .id = b->id, .addr = b->addr};
}

bool perf_must_step(const struct thread *t)
{
	return (t->breakpoints || uprobes_wanted) && (t->cpu->rflags & FLAGS_RESUME);
}

static bool hit_execution(struct thread *t, const struct snapshot_regs *regs)
{
	const struct breakpoints *list = t->breakpoints;
	struct hits h;

	h.n = 0;
	for (u32 i = 0; list && i < list->n; i++)
		if (list->bp[i].type == HW_BREAKPOINT_X && list->bp[i].addr == regs->rip)
			add(t, &h, &list->bp[i], regs);
	if (!h.n)
		return false;
	report(t, &h, regs);
	return true;
}

static void find_accesses(const struct thread *t, struct breakpoint_step *s)
{
	struct isa_regs regs;
	struct insn in;

	s->accesses = 0;
	if (!t->cpu->watch_len || !guest_insn_decode(s->before.rip, &in))
		return;
	guest_insn_regs(&s->before, &in, &regs);
	s->accesses = isa_accesses(&in, s->before.rip, &regs, s->access);
}

/*
 * A signal that comes from a probe waits for the instruction, as in Linux, and one that is there already comes first.
 */
bool breakpoints_begin_slowly(struct thread *t, struct breakpoint_step *s)
{
	bool stopped = false;

	perf_regs(t->cpu, &s->before);
	uprobes_returned(t, &s->before);
	if (t->attention)
		return false;
	s->hit = t->cpu->rflags & FLAGS_RESUME;
	if (!s->hit) {
		s->hit = uprobes_hit(t, &s->before);
		stopped = hit_execution(t, &s->before);
	}
	if (stopped) {
		s->hit = true;
		t->cpu->rflags |= FLAGS_RESUME;
	}
	find_accesses(t, s);
	return !stopped || !t->attention;
}

/* The first iteration of an access, from a given one on, that touches the breakpoint; `end`: none before that. */
static u64 next_touching(const struct isa_access *a, const struct breakpoint *b, u64 from, u64 end)
{
	s64 below = (s64)(b->addr - a->addr - a->size), above = (s64)(a->addr - b->addr - b->len);
	s64 i = (s64)from;
	gva at;

	if (b->type == HW_BREAKPOINT_W && !a->write)
		return end;
	/* It comes from below, or from above. */
	if (a->step > 0 && below >= 0)
		i = MAX(i, below / a->step + 1);
	else if (a->step < 0 && above >= 0)
		i = MAX(i, above / -a->step + 1);
	at = a->addr + (u64)(i * a->step);
	return (u64)i < end && at < b->addr + b->len && at + a->size > b->addr ? (u64)i : end;
}

static u64 next_hit(const struct breakpoint_step *s, const struct breakpoint *b, u64 from, u64 end)
{
	u64 next = end;

	if (b->type == HW_BREAKPOINT_X)
		return end;
	for (int i = 0; i < s->accesses; i++)
		next = MIN(next, next_touching(&s->access[i], b, from, end));
	return next;
}

static void hit_data(struct thread *t, const struct breakpoint_step *s, const struct snapshot_regs *after)
{
	const struct breakpoints *list = t->breakpoints;
	u64 done = rounds_done(s->access, &s->before, after), at = 0, next;
	struct snapshot_regs regs;
	struct hits h;

	h.n = 0;
	for (; at < done; at++) {
		next = done;
		for (u32 i = 0; i < list->n; i++)
			next = MIN(next, next_hit(s, &list->bp[i], at, done));
		at = next;
		if (at == done)
			return;
		breakpoints_regs_between(s, after, at, done, &regs);
		for (u32 i = 0; i < list->n; i++)
			if (next_hit(s, &list->bp[i], at, at + 1) == at)
				add(t, &h, &list->bp[i], &regs);
		report(t, &h, &regs);
	}
}

void breakpoints_end_slowly(struct thread *t, const struct breakpoint_step *s, enum dbt_stop stop)
{
	struct snapshot_regs after;

	perf_regs(t->cpu, &after);
	if (s->hit && stop == DBT_INTERRUPT && after.rip == s->before.rip)
		t->cpu->rflags |= FLAGS_RESUME;
	if (s->accesses > 0)
		hit_data(t, s, &after);
}
