/* See faults.h. */
#include <linux/mman.h>
#include "event/overflow.h"
#include "os/guest_insn.h"
#include "os/mm/vma.h"
#include "os/session/host.h"
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
	return cpu_knows_page(cpu, p->addr / PAGE_SIZE, p->write);
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
	struct thread *t = thread_current();
	struct range r = {start, end};

	own_faults_begin(t); /* of the tables, which are new after a fork */
	__atomic_fetch_add(&changes, 1, __ATOMIC_SEQ_CST);
	dbt_host_any_cpu(forget_range, &r);
	own_faults_end(t);
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

void faults_forget(struct thread *t)
{
	if (t->cpu->touching)
		memset(cpu_touched(t->cpu), 0, sizeof(struct cpu_touched));
	t->cpu->touching = 0;
	t->faults.counting = 0;
	t->faults.asked = 0;
}

/* ---- faults ---- */

static bool count_faults(const struct thread *t, struct fault_count *out)
{
	u64 host[2];

	if (!host_own_faults(host) || !own_faults_of_guest(t, out->guest))
		return false;
	out->host = host[0] + host[1];
	return true;
}

/* So many, and which kind the last was; the count goes on. Not more than the host has had. */
static u64 happened(const struct thread *t, struct fault_count *count, enum pmu_sw_source *kind)
{
	struct fault_count now;
	u64 n;

	if (!count_faults(t, &now))
		return 0;
	n = now.guest[0] + now.guest[1] - count->guest[0] - count->guest[1];
	n = MIN(n, now.host - count->host);
	*kind = now.guest[1] != count->guest[1] ? SW_FAULTS_MAJ : SW_FAULTS_MIN;
	*count = now;
	return n;
}

static void trace(struct thread *t, u32 source, const struct snapshot *snap)
{
	u32 kernels = SW_SEEN_KERNEL | source, users = snap->kernel ? kernels : SW_SEEN | source;
	struct overflow_result result = {0};

	event_trace_either(t->cpu->slot, users, kernels, snap, &result);
	sampling_result(t, &result, snap->kernel);
}

/* SW_NEVER: it is of no kind. */
static void trace_kinds(struct thread *t, enum pmu_sw_source kind, const struct snapshot *snap)
{
	trace(t, SW_FAULTS, snap);
	if (kind != SW_NEVER)
		trace(t, kind, snap);
}

static void report(struct thread *t, const struct fault_step *s, const struct touch *p, enum pmu_sw_source kind)
{
	struct snapshot_regs regs = s->before;
	struct snapshot snap;

	own_faults_begin(t); /* of the ring's pages, and others */
	rounds_advance(&s->in, s->access, p->round, &regs);
	snapshot_take(t, &regs, &snap);
	snapshot_set_address(t, p->addr, &snap);
	trace_kinds(t, kind, &snap);
	if (perf_traces_wanted(t->cpu->slot))
		perf_trace_page_fault(t, &snap, touch_error_code(p, s->present));
	own_faults_end(t);
}

/* Only a write finds a page that is there and has a fault all the same; or a fetch, and then there is a signal. */
static bool was_present(struct thread *t, const struct touch *p)
{
	bool present;

	if (!(p->write || p->fetch) || !perf_traces_wanted(t->cpu->slot))
		return false;
	own_faults_begin(t);
	present = proc_has_page(p->addr);
	own_faults_end(t);
	return present;
}

/*
 * The same, where the instruction itself is to have the fault. A signal may interrupt, and the thread comes here again.
 * The answer is kept: to ask takes longer than the shortest time between two overflows of a clock, so it would never
 * end.
 */
static bool was_present_before(struct thread *t, const struct touch *p, u32 changes_before)
{
	gva page = ALIGN_DOWN(p->addr, PAGE_SIZE) + 1;

	if (t->faults.asked != page || t->faults.asked_changes != changes_before)
		t->faults.was_present = was_present(t, p);
	t->faults.asked = page;
	t->faults.asked_changes = changes_before;
	return t->faults.was_present;
}

/* A filter of the guest's may take the question for a reason to kill. */
static bool can_ask(const struct thread *t)
{
	return !t->strict && !__atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED);
}

void faults_call_begins_slowly(struct thread *t)
{
	t->faults.counting = can_ask(t) && count_faults(t, &t->faults.count);
}

void faults_call_ends_slowly(struct thread *t)
{
	enum pmu_sw_source kind = SW_FAULTS_MIN;
	struct snapshot_regs regs;
	struct snapshot snap;
	u64 n;

	t->faults.counting = 0;
	n = can_ask(t) ? happened(t, &t->faults.count, &kind) : 0;
	if (!n)
		return;
	own_faults_begin(t);
	perf_regs(t->cpu, &regs);
	snapshot_take(t, &regs, &snap);
	snapshot_set_address(t, 0, &snap);
	snap.kernel = true;
	while (n--)
		trace_kinds(t, kind, &snap);
	own_faults_end(t);
}

void perf_fetch_fault_slowly(struct thread *t, gva addr)
{
	struct touch p = {.addr = addr, .fetch = true};
	struct fault_step s = {.present = was_present(t, &p)};

	perf_regs(t->cpu, &s.before);
	report(t, &s, &p, SW_NEVER);
}

static bool next_unknown(const struct cpu *cpu, struct touches *w, struct touch *out)
{
	while (touches_next(w, out))
		if (!is_known(cpu, out))
			return true;
	return false;
}

/* It may be a mapping of a device, where even a read that the guest does not make has an effect. */
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
	return addr < LAYOUT_GUEST_END;
}

static bool may_read(gva addr)
{
	struct vma vma;

	return !vma_lookup(addr, &vma) && vma.prot;
}

/* As the guest itself, in the middle of own work. */
static int touch(struct thread *t, gva at, bool write)
{
	int ret;

	own_faults_end(t);
	ret = guest_touch(at, write);
	own_faults_begin(t);
	return ret;
}

/*
 * Up to a signal, which comes first: false; or to a page where the instruction will have one: it is executed, for both.
 */
static bool touch_all(struct thread *t, struct fault_step *s)
{
	struct touches w = touches_of(s->access, s->accesses, ~0ul);
	struct touch p;
	enum pmu_sw_source kind;

	while (!t->attention && next_unknown(t->cpu, &w, &p)) {
		s->present = was_present(t, &p);
		if (touch(t, p.addr, p.write)) {
			s->present = s->present && may_read(p.addr);
			if (ends_in_signal(p.addr))
				report(t, s, &p, SW_NEVER);
			return true;
		}
		if (happened(t, &s->count, &kind))
			report(t, s, &p, kind);
		mark(t->cpu, &p, s->changes);
	}
	return !t->attention;
}

static bool may_execute(gva addr)
{
	struct vma vma;

	return !vma_lookup(addr, &vma) && (vma.prot & PROT_EXEC);
}

/* Nothing can be recorded: it need not stop there again. */
static void know_code(struct thread *t, const struct fault_step *s)
{
	gva pc = s->before.rip;

	mark(t->cpu, &(struct touch){.addr = pc}, s->changes);
	mark(t->cpu, &(struct touch){.addr = pc + ISA_MAX_LEN - 1}, s->changes);
}

/* A page of the instruction itself. False: it cannot be executed. */
static bool fetch_page(struct thread *t, struct fault_step *s, gva addr)
{
	struct touch p = {.addr = addr, .fetch = true};
	enum pmu_sw_source kind;

	if (is_known(t->cpu, &p))
		return true;
	if (!may_execute(addr) || touch(t, addr, false))
		return false;
	if (happened(t, &s->count, &kind))
		report(t, s, &p, kind);
	mark(t->cpu, &p, s->changes);
	return true;
}

/* False: it will have a signal instead. */
static bool fetch(struct thread *t, struct fault_step *s)
{
	gva pc = s->before.rip, last;
	bool across = pc % PAGE_SIZE > PAGE_SIZE - ISA_MAX_LEN;
	int len;

	if (!fetch_page(t, s, pc))
		return false;
	if (across) /* the next page's fault is the guest's */
		own_faults_end(t);
	len = guest_insn_decode(pc, &s->in);
	if (across)
		own_faults_begin(t);
	last = pc + (u64)len - !!len;
	return len && (last / PAGE_SIZE == pc / PAGE_SIZE || fetch_page(t, s, ALIGN_DOWN(last, PAGE_SIZE)));
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

static bool knows_accesses(const struct cpu *cpu, struct fault_step *s)
{
	struct touches w;
	struct touch p;

	find_accesses(s);
	w = touches_of(s->access, s->accesses, ~0ul);
	return s->accesses >= 0 && !next_unknown(cpu, &w, &p);
}

/*
 * In front of an instruction: touches what it will touch (doc/sampling.md), or, where that could do more than the
 * instruction does, sets s->on: faults are counted around it. False: a signal comes first.
 */
static bool begin(struct thread *t, struct fault_step *s)
{
	struct touches w;
	struct touch p;
	bool code;

	s->present = false;
	perf_regs(t->cpu, &s->before);
	s->changes = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
	code = cpu_knows_code(t->cpu, s->before.rip, ISA_MAX_LEN);
	if (code && knows_accesses(t->cpu, s))
		return true; /* all pages were touched before */
	if (!can_ask(t) || !count_faults(t, &s->count)) {
		know_code(t, s);
		return true;
	}
	if (!code && (!fetch(t, s) || t->attention || knows_accesses(t->cpu, s)))
		return !t->attention;
	s->on = !s->whole || !can_touch_all(t->cpu, s);
	if (!s->on)
		return touch_all(t, s);
	w = touches_of(s->access, s->accesses, ~0ul);
	s->present = next_unknown(t->cpu, &w, &p) && was_present_before(t, &p, s->changes);
	return true;
}

/* Own work, but for what the instruction would do itself. */
bool faults_begin_slowly(struct thread *t, struct fault_step *s)
{
	bool ret;

	own_faults_begin(t);
	ret = begin(t, s);
	own_faults_end(t);
	return ret;
}

/* The first pages of those that it did not know, one for each fault. */
void faults_end_slowly(struct thread *t, struct fault_step *s)
{
	struct snapshot_regs after;
	struct touch p = {0};
	struct touches w;
	enum pmu_sw_source kind = SW_NEVER;
	u64 n = happened(t, &s->count, &kind);

	own_faults_begin(t);
	perf_regs(t->cpu, &after);
	w = touches_of(s->access, s->accesses, s->accesses > 0 ? rounds_done(s->access, &s->before, &after) : 0);
	while (next_unknown(t->cpu, &w, &p)) {
		t->faults.asked = 0;
		if (n || s->whole)
			mark(t->cpu, &p, s->changes);
		if (n) {
			report(t, s, &p, kind);
			n--;
		}
	}
	for (; n && s->accesses < 0; n--)
		report(t, s, &(struct touch){0}, kind);
	own_faults_end(t);
}
