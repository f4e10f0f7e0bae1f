/* See snapshot.h. */
#include "cpu/bank.h"
#include "dbt/calls.h"
#include "os/guest_insn.h"
#include "os/mm/vma.h"
#include "os/session/scratch.h"
#include "perf/callchain.h"
#include "perf/cgroup.h"
#include "perf/faults.h"
#include "perf/perf.h"
#include "perf/snapshot.h"

#define CHAIN_MAX 65535u /* attr.sample_max_stack has 16 bits, and so has sample_stack_user */
#define STACK_MAX 65536u

/* Nothing is known of an access but what it is. */
#define DATA_SRC(op)                                                                                                   \
	(PERF_MEM_S(OP, op) | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) | PERF_MEM_S(LOCK, NA) |                     \
	 PERF_MEM_S(TLB, NA) | PERF_MEM_S(LVLNUM, NA))

struct sampler {
	u32 chain_room, stack_room; /* the most that any event of the task wants */
	u64 cgroup;
	struct snapshot_branch branch[SNAPSHOT_BRANCHES_MAX], call[SNAPSHOT_BRANCHES_MAX];
	u64 chain[CHAIN_MAX], frames[CHAIN_MAX];
	struct cpu_call frame[CHAIN_MAX];
	u8 stack[STACK_MAX];
};

void perf_regs(const struct cpu *cpu, struct snapshot_regs *out)
{
#pragma GCC unroll 32
	for (u32 r = 0; r < ARRAY_SIZE(out->gpr); r++)
		out->gpr[r] = cpu->gpr[r];
	out->gpr[STOLEN] = cpu->stolen;
	out->rip = cpu->rip;
	out->rflags = cpu->rflags;
}

static void sizes_for(struct thread *t, struct event_ctx *ctx)
{
	u32 chain = 0, stack = 0;
	struct event *e;

	if (!(ctx->needs & ~(SNAPSHOT_REGS | SNAPSHOT_CPU)))
		return;
	if (!t->sampler)
		t->sampler = scratch_alloc(sizeof(*t->sampler));
	if (!t->sampler)
		return;
	event_lock();
	for_each_in_ctx(e, ctx) {
		chain = MAX(chain, (u32)e->attr.sample_max_stack);
		if (e->attr.sample_type & PERF_SAMPLE_STACK_USER)
			stack = MAX(stack, e->attr.sample_stack_user);
	}
	event_unlock();
	t->sampler->chain_room = MIN(chain, CHAIN_MAX);
	t->sampler->stack_room = MIN(stack, STACK_MAX);
	if (ctx->needs & SNAPSHOT_CGROUP)
		t->sampler->cgroup = cgroup_id_of_self();
}

void snapshot_sizes(struct thread *t)
{
	sizes_for(t, event_ctx(t->cpu->slot));
}

void perf_free_buffers(struct thread *t)
{
	if (t->calls)
		scratch_free(t->calls, CALLS_BYTES);
	t->calls = NULL;
	if (t->sampler)
		scratch_free(t->sampler, sizeof(*t->sampler));
	t->sampler = NULL;
	if (t->cpu)
		faults_forget(t);
	facts_end(&t->facts);
}

static u64 page_size_of(u64 addr)
{
	struct vma vma;

	return addr && vma_lookup(addr, &vma) == 0 ? PAGE_SIZE : 0;
}

/* ---- the instruction ---- */

/* True if the count that was reached is one of stores: of an instruction that does both, the store is meant then. */
static bool store_is_meant(const struct cpu *cpu)
{
	return (cpu->limits.on >> CELL_STORES & 1) &&
	       cpu_read_cell(cpu_bank(cpu), CELL_STORES) >= cpu->limits.at[CELL_STORES];
}

/* That of the first access that is meant. A string instruction that repeats nothing has none. */
static void take_address(const struct cpu *cpu, const struct snapshot_regs *regs, struct snapshot *out)
{
	struct isa_access access[ISA_ACCESSES];
	bool store = store_is_meant(cpu);
	struct isa_regs ir;
	struct insn in;
	int n;

	if (!guest_insn_decode(regs->rip, &in))
		return;
	guest_insn_regs(regs, &in, &ir);
	n = isa_accesses(&in, regs->rip, &ir, access);
	for (int i = 0; i < n; i++) {
		if (!access[i].count || (store && !access[i].write))
			continue;
		out->addr = access[i].addr;
		out->data_src = store || !access[i].read ? DATA_SRC(STORE) : DATA_SRC(LOAD);
		return;
	}
}

void snapshot_set_address(const struct thread *t, u64 addr, struct snapshot *snap)
{
	snap->addr = addr;
	snap->data_src = 0;
	if (event_ctx(t->cpu->slot)->needs & SNAPSHOT_PAGES)
		snap->data_page_size = page_size_of(addr);
}

/* ---- branches ---- */

static u32 branch_kind(u64 from)
{
	struct insn in;

	if (!guest_insn_decode(from, &in))
		return PERF_BR_UNKNOWN;
	switch (in.kind) {
	case ISA_JCC:
	case ISA_LOOP:
		return PERF_BR_COND;
	case ISA_JMP:
		return PERF_BR_UNCOND;
	case ISA_JMP_IND:
		return PERF_BR_IND;
	case ISA_CALL:
		return PERF_BR_CALL;
	case ISA_CALL_IND:
		return PERF_BR_IND_CALL;
	case ISA_RET:
		return PERF_BR_RET;
	default:
		return PERF_BR_UNKNOWN;
	}
}

static void take_branches(const struct cpu *cpu, struct sampler *s, struct snapshot *out)
{
	u8 at = cpu->lbr_pos;
	u32 n;

	for (n = 0; n < SNAPSHOT_BRANCHES_MAX; n++) {
		at--;
		if (!cpu->lbr_from[at])
			break;
		s->branch[n] = (struct snapshot_branch){
			cpu->lbr_from[at], cpu->lbr_to[at], branch_kind(cpu->lbr_from[at]), 0};
	}
	out->branch = s->branch;
	out->nr_branch = n;
}

/* ---- the exact call stack ---- */

void perf_prepare_slowly(struct thread *t)
{
	t->cpu->calls_pos = 0;
	t->cpu->calls = t->calls = scratch_alloc(CALLS_BYTES);
}

/* The calls that regs' instruction, which is done, was inside of, innermost first. */
static u32 read_calls(struct thread *t, const struct snapshot_regs *regs, struct cpu_call *out, u32 max)
{
	u64 sp = snapshot_sp(regs);
	struct insn in;
	bool returned;

	if (!t->cpu->calls)
		return 0;
	returned = cpu_get_gpr(t->cpu, REG_SP) > sp && guest_insn_decode(regs->rip, &in) && in.kind == ISA_RET;
	return calls_read(t->cpu, sp, returned, out, max);
}

/*
 * Calls that are older than the event can be known by frame pointers only. These are believed if they lead to the
 * outermost call that is known; the innermost function may have no frame.
 */
static void add_older(struct sampler *s, struct snapshot *out)
{
	u32 known = out->nr_chain, n = callchain_frames(out->regs, s->frames, s->chain_room), at = known;

	if (known && (at > n || s->frames[at - 1] != s->chain[known - 1]))
		at--;
	if (known && (!at || at > n || s->frames[at - 1] != s->chain[known - 1]))
		return;
	while (at < n && out->nr_chain < s->chain_room)
		s->chain[out->nr_chain++] = s->frames[at++];
}

static void take_calls(struct thread *t, struct sampler *s, struct snapshot *out)
{
	out->nr_chain = read_calls(t, out->regs, s->frame, s->chain_room);
	for (u32 i = 0; i < out->nr_chain; i++)
		s->chain[i] = s->frame[i].ret;
	add_older(s, out);
	out->chain = s->chain;
}

/* A signal is no branch. */
static void take_branch_calls(struct thread *t, struct sampler *s, struct snapshot *out)
{
	u32 n = read_calls(t, out->regs, s->frame, SNAPSHOT_BRANCHES_MAX);

	for (u32 i = 0; i < n; i++) {
		const struct cpu_call *c = &s->frame[i];

		if (c->len)
			s->call[out->nr_call++] =
				(struct snapshot_branch){c->ret - c->len, c->to, branch_kind(c->ret - c->len), 0};
	}
	out->call = s->call;
}

/* ---- all of it ---- */

static void take_parts(struct thread *t, u32 needs, struct snapshot *out)
{
	struct sampler *s = t->sampler;

	if (needs & SNAPSHOT_ADDR)
		take_address(t->cpu, out->regs, out);
	if (needs & SNAPSHOT_PAGES) {
		out->code_page_size = page_size_of(out->ip);
		out->data_page_size = page_size_of(out->addr);
	}
	if (!s)
		return;
	if (needs & SNAPSHOT_CHAIN) {
		out->chain = s->chain;
		out->nr_chain = callchain_frames(out->regs, s->chain, s->chain_room);
	}
	if (needs & SNAPSHOT_CALLS)
		take_calls(t, s, out);
	if (needs & SNAPSHOT_BRANCH_CALLS)
		take_branch_calls(t, s, out);
	if (needs & SNAPSHOT_STACK) {
		out->stack = s->stack;
		out->stack_size = callchain_stack(out->regs, s->stack, s->stack_room);
	}
	if (needs & SNAPSHOT_BRANCHES)
		take_branches(t->cpu, s, out);
	out->cgroup = s->cgroup;
}

void snapshot_take(struct thread *t, const struct snapshot_regs *regs, struct snapshot *out)
{
	u32 needs = event_ctx(t->cpu->slot)->needs;

	*out = (struct snapshot){.task = t->cpu->slot, .ip = regs->rip, .regs = regs};
	if (needs & SNAPSHOT_CPU)
		out->cpu = host_task_cpu(out->task);
	if (unlikely(needs & ~(SNAPSHOT_REGS | SNAPSHOT_CPU)))
		take_parts(t, needs, out);
}

/* Without the parts that the other task's own thread keeps: exact calls and branches. */
void snapshot_take_for(struct thread *t, u32 task, const struct snapshot_regs *regs, struct snapshot *out)
{
	u32 needs = event_ctx(task)->needs & ~(SNAPSHOT_CALLS | SNAPSHOT_BRANCH_CALLS | SNAPSHOT_BRANCHES);

	*out = (struct snapshot){.task = task, .ip = regs->rip, .regs = regs};
	if (unlikely(needs & ~(SNAPSHOT_REGS | SNAPSHOT_CPU))) {
		sizes_for(t, event_ctx(task));
		take_parts(t, needs, out);
		__atomic_store_n(&event_ctx(t->cpu->slot)->rearm, 1, __ATOMIC_RELAXED); /* t's own sizes again */
	}
}
