/* See faults.h. */
#include "event/overflow.h"
#include "os/guest_insn.h"
#include "os/mm/vma.h"
#include "os/session/own_faults.h"
#include "os/session/process.h"
#include "perf/faults.h"
#include "perf/perf.h"
#include "perf/rounds.h"
#include "perf/sampling.h"
#include "perf/snapshot.h"
#include "perf/touched.h"
#include "pmu/events.h"
#include "rt/guest.h"
#include "rt/string.h"

/* How often pages were forgotten: rises before they are. Of this process. */
static u32 changes;
u32 perf_pages_watched;

/* ---- what was touched ---- */

static u32 *tag_of(const struct cpu *cpu, u64 page, bool write)
{
	return &cpu_touched(cpu)->tag[write][page % CPU_TOUCHED];
}

static bool is_known(const struct cpu *cpu, const struct touch *p)
{
	u64 page = p->addr / PAGE_SIZE;

	return __atomic_load_n(tag_of(cpu, page, p->write), __ATOMIC_RELAXED) == page >> CPU_TOUCHED_TAG;
}

/* Barrier A of perf_pages_changed(): the entry is written before `changes` is read. */
static void mark(struct cpu *cpu, const struct touch *p, u32 changes_before)
{
	u64 page = p->addr / PAGE_SIZE;

	for (int write = 0; write <= p->write; write++)
		__atomic_store_n(tag_of(cpu, page, write), page >> CPU_TOUCHED_TAG, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&changes, __ATOMIC_SEQ_CST) == changes_before)
		return;
	for (int write = 0; write <= p->write; write++)
		__atomic_store_n(tag_of(cpu, page, write), 0, __ATOMIC_RELAXED);
}

struct range {
	gva start, end;
};

static void forget_page(struct cpu *cpu, u64 page)
{
	for (int write = 0; write < 2; write++)
		if (*tag_of(cpu, page, write) == page >> CPU_TOUCHED_TAG)
			__atomic_store_n(tag_of(cpu, page, write), 0, __ATOMIC_RELAXED);
}

static bool forget_range(struct cpu *cpu, void *arg)
{
	const struct range *r = arg;

	if (!cpu->touching)
		return false;
	if (r->end - r->start >= CPU_TOUCHED * PAGE_SIZE)
		memset(cpu_touched(cpu), 0, sizeof(struct cpu_touched));
	else
		for (gva at = r->start; at < r->end; at += PAGE_SIZE)
			forget_page(cpu, at / PAGE_SIZE);
	return false;
}

/* Barrier A: `changes` is written before entries are. Whoever writes one later takes it back. */
void perf_pages_changed_slowly(gva start, gva end)
{
	struct range r = {start, end};

	__atomic_fetch_add(&changes, 1, __ATOMIC_SEQ_CST);
	dbt_host_any_cpu(forget_range, &r);
}

/* The table's pages are there before translated code looks: they are no pages of the guest's. */
void perf_touching(struct thread *t)
{
	own_faults_begin(t);
	memset(cpu_touched(t->cpu), 0, sizeof(struct cpu_touched));
	own_faults_end(t);
	t->cpu->touching = 1;
	__atomic_store_n(&perf_pages_watched, 1, __ATOMIC_RELAXED);
}

void faults_forget(struct cpu *cpu)
{
	if (cpu->touching)
		memset(cpu_touched(cpu), 0, sizeof(struct cpu_touched));
	cpu->touching = 0;
}

/* ---- faults ---- */

/* So many, and which kind the last was; the count goes on. */
static u64 happened(struct thread *t, struct fault_step *s, u32 *kind)
{
	u64 now[2], n;

	if (!own_faults_of_guest(t, now))
		return 0;
	n = now[0] + now[1] - s->count[0] - s->count[1];
	*kind = now[1] != s->count[1] ? SW_FAULTS_MAJ_SEEN : SW_FAULTS_MIN_SEEN;
	memcpy(s->count, now, sizeof(now));
	t->faults_seen = now[0] + now[1];
	return n;
}

/* False: nobody tells, or a filter of the guest's may take the question for a reason to kill. */
static bool ask_first(struct thread *t, struct fault_step *s)
{
	if (t->strict || __atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED) ||
	    !own_faults_of_guest(t, s->count))
		return false;
	if (s->count[0] + s->count[1] != t->faults_seen) /* others, of earlier */
		perf_poll_sources(t, false);
	return true;
}

static void trace(struct thread *t, u32 source, const struct snapshot *snap)
{
	struct overflow_result result = {0};

	event_trace(t->cpu->slot, source, snap, &result);
	sampling_result(t, &result, false);
}

/*
 * Events that exclude the kernel are hit, others find it in the host's count. kind: besides SW_FAULTS_SEEN, which kind
 * it is; SW_NEVER: of none, it ends in a signal.
 */
static void tell(struct thread *t, const struct fault_step *s, const struct touch *p, u32 kind)
{
	struct overflow_result result = {0};
	struct snapshot_regs regs = s->before;
	struct snapshot snap;

	rounds_advance(&s->in, s->access, p->round, &regs);
	snapshot_take(t, &regs, &snap);
	snapshot_set_address(t, p->addr, &snap);
	trace(t, SW_FAULTS_SEEN, &snap);
	if (kind == SW_NEVER)
		return;
	trace(t, kind, &snap);
	event_poll(t->cpu->slot, &snap, &result);
	sampling_result(t, &result, false);
}

static bool next_unknown(const struct cpu *cpu, struct touches *w, struct touch *out)
{
	while (touches_next(w, out))
		if (!is_known(cpu, out))
			return true;
	return false;
}

/* It may be: there an access without effect has one. */
static bool is_of_device(const struct vma *vma)
{
	return (vma->flags & VMA_SHARED) && (vma->flags & VMA_FILE);
}

/* Up to where the instruction will have a signal. */
static bool can_touch_all(const struct cpu *cpu, const struct fault_step *s)
{
	struct touches w = touches_of(s->access, s->accesses, ~0ul);
	struct touch p;
	struct vma vma;

	while (next_unknown(cpu, &w, &p) && !vma_lookup(p.addr, &vma))
		if (is_of_device(&vma))
			return false;
	return true;
}

/* An address that the processor finds no page for, not one that is none, nor the kernel's. */
static bool ends_in_signal(gva addr)
{
	return addr < LAYOUT_GUEST_STACK_TOP;
}

/*
 * Up to a signal, which comes first: false; or to a page where the instruction will have one: it is executed, for both.
 */
static bool touch_all(struct thread *t, struct fault_step *s)
{
	struct touches w = touches_of(s->access, s->accesses, ~0ul);
	struct touch p;
	u32 kind;

	while (!t->attention && next_unknown(t->cpu, &w, &p)) {
		if (guest_touch(p.addr, p.write)) {
			if (ends_in_signal(p.addr))
				tell(t, s, &p, SW_NEVER);
			return true;
		}
		if (happened(t, s, &kind))
			tell(t, s, &p, kind);
		mark(t->cpu, &p, s->changes);
	}
	return !t->attention;
}

/* Its accesses, and whether all of them happen. */
static void find_accesses(struct fault_step *s)
{
	struct isa_regs regs;

	s->accesses = 0;
	s->whole = true;
	if (!guest_insn_decode(s->before.rip, &s->in))
		return;
	guest_insn_regs(&s->before, &s->in, &regs);
	s->accesses = isa_accesses(&s->in, s->before.rip, &regs, s->access);
	s->whole = s->accesses >= 0 && rounds_are_whole(&s->in, s->before.rip);
}

bool faults_begin_slowly(struct thread *t, struct fault_step *s)
{
	struct touches w;
	struct touch p;

	perf_regs(t->cpu, &s->before);
	s->changes = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
	find_accesses(s);
	w = touches_of(s->access, s->accesses, ~0ul);
	if ((s->accesses >= 0 && !next_unknown(t->cpu, &w, &p)) || !ask_first(t, s))
		return true;
	s->on = !s->whole || !can_touch_all(t->cpu, s);
	return s->on || touch_all(t, s);
}

/* The first pages of those that it did not know, one for each fault. */
void faults_end_slowly(struct thread *t, struct fault_step *s)
{
	struct snapshot_regs after;
	struct touch p = {0};
	struct touches w;
	u32 kind = SW_NEVER;
	u64 n = happened(t, s, &kind);

	perf_regs(t->cpu, &after);
	w = touches_of(s->access, s->accesses, s->accesses > 0 ? rounds_done(s->access, &s->before, &after) : 0);
	while (next_unknown(t->cpu, &w, &p)) {
		if (n || s->whole)
			mark(t->cpu, &p, s->changes);
		if (n) {
			tell(t, s, &p, kind);
			n--;
		}
	}
	for (; n && s->accesses < 0; n--)
		tell(t, s, &(struct touch){0}, kind);
}
