/* What a trace is made of: see dbt/trace.h. */
#include <linux/signal.h>
#include "dbt/breaks.h"
#include "dbt/polls.h"
#include "dbt/rseq_cs.h"
#include "dbt/trace.h"
#include "dbt/translate.h"
#include "rt/log.h"

/* ---- decoding a block ---- */

static bool ends_block(const struct insn *in)
{
	switch (in->kind) {
	case ISA_PLAIN:
	case ISA_PUSHF:
	case ISA_POPF:
	case ISA_FSGSBASE:
	case ISA_SEGLOAD:
		return false;
	case ISA_RDTSC:
		return dbt_options.stop_at_tsc;
	default:
		return true;
	}
}

bool stands_alone(const struct insn *in)
{
	return in->kind == ISA_SYSENTER || in->kind == ISA_RDPMC || in->kind == ISA_CPUID || in->kind == ISA_XGETBV ||
	       in->kind == ISA_FAR || (in->kind == ISA_RDTSC && dbt_options.stop_at_tsc);
}

/* Far jumps and calls, which nobody has: lret and iret have opcodes of their own. */
static bool is_unknown(const struct insn *in)
{
	return in->kind == ISA_FAR && in->opcode == 0xff;
}

bool plan_may_look(u64 pc)
{
	return !(tr.want & CPU_WANT_TOUCH) || (pc + ISA_MAX_LEN - 1) / PAGE_SIZE == tr.base / PAGE_SIZE;
}

/* Fills tr.b with the block at pc. Returns false, and *fault, if its first instruction cannot be had. */
static bool decode_block(u64 pc, struct dbt_fault *fault)
{
	u32 limit = dbt_options.one_insn || (tr.want & (CPU_WANT_ONE | CPU_WANT_FINE)) ? 1 : CPU_BLOCK_INSNS;

	tr.b = (struct block){.insn = &tr.insns_of[tr.insns], .distance = tr.distance};
	tr.b.breaks = (tr.want & CPU_WANT_BREAK) && breaks_at(pc);
	tr.b.guarded = (tr.want & CPU_WANT_ONE) && rseq_cs_at(pc);
	tr.b.stops = !(tr.want & CPU_WANT_ONE) && rseq_cs_at(pc);
	if (tr.b.breaks | tr.b.stops)
		limit = 1;
	else if ((tr.want & CPU_WANT_RSEQ_CS) && !dbt_options.one_insn)
		limit = CPU_BLOCK_INSNS;
	while (tr.b.n < limit) {
		struct guest_insn *gi = &tr.b.insn[tr.b.n];
		const u8 *bytes;
		int len;

		if (tr.b.n && !plan_may_look(pc))
			break;
		len = guest_code_insn(&tr.code, pc, &gi->in, &bytes, fault);
		if (len <= 0 || is_unknown(&gi->in)) {
			/* len < 0: *fault is about the byte after the last that may be executed. */
			if (len >= 0)
				*fault = (struct dbt_fault){SIGILL, ILL_ILLOPN, pc};
			break;
		}
		tr.learned |= rseq_cs_learn(&gi->in, pc);
		if (tr.b.n && (stands_alone(&gi->in) || rseq_cs_at(pc) != tr.b.guarded ||
			     ((tr.want & CPU_WANT_BREAK) && breaks_at(pc))))
			break;
		/* Checked and other code do not mix. */
		if (tr.code.checked && !tr.checked) {
			if (tr.b.n || tr.nblock)
				break;
			tr.checked = true;
		}
		gi->pc = pc;
		memcpy(gi->bytes, bytes, (size_t)len);
		pc += (u64)len;
		tr.b.n++;
		tr.b.units += cpu_units(tr.want, gi->in.weight);
		tr.b.cycles += gi->in.weight;
		/* In checked code every store may be to the instructions that follow. */
		if (ends_block(&gi->in) || (tr.checked && (gi->in.attr & ISA_STORE)) ||
		    (tr.b.guarded && rseq_cs_ends_piece(&gi->in)) ||
		    ((tr.want & CPU_WANT_SPARSE) && tr.b.units >= CPU_BLOCK_INSNS))
			break;
	}
	return tr.b.n > 0;
}

/* ---- how it goes on ---- */

/* Where the trace may go on behind the block at hand; 0: nowhere. */
static u64 next_of(void)
{
	const struct guest_insn *last = &tr.b.insn[tr.b.n - 1];

	if (tr.b.breaks | tr.b.stops)
		return 0;
	switch (last->in.kind) {
	case ISA_JMP:
	case ISA_CALL:
	case ISA_XBEGIN:
		return isa_target(&last->in, last->pc);
	case ISA_JMP_IND:
	case ISA_CALL_IND:
	case ISA_RET:
	case ISA_SYSCALL:
		return 0;
	default:
		return stands_alone(&last->in) ? 0 : last->pc + last->in.len;
	}
}

#define DISPATCH_INSNS 8

/*
 * A few instructions at pc lead to an indirect jump: an interpreter's dispatch. Each jump there gets a copy, since an
 * indirect jump of its own is predicted better.
 */
static bool dispatches(u64 pc)
{
	for (u32 i = 0; i < DISPATCH_INSNS; i++) {
		struct insn in;
		struct dbt_fault fault;
		const u8 *bytes;

		if (guest_code_insn(&tr.code, pc, &in, &bytes, &fault) <= 0)
			return false;
		if (in.kind != ISA_PLAIN && in.kind != ISA_JCC)
			return in.kind == ISA_JMP_IND;
		pc += in.len;
	}
	return false;
}

static bool ends_in_jump(const struct block *b)
{
	return b->insn[b->n - 1].in.kind == ISA_JMP;
}

/*
 * Whether next lies in a shared dispatch that this trace has jumped to, with its newest block or the one before: the
 * blocks from there to the indirect jump are copied into the trace.
 */
static bool is_copied(u64 next)
{
	return (ends_in_jump(&tr.b) || (tr.nblock > 1 && ends_in_jump(&tr.block[tr.nblock - 2]))) && dispatches(next);
}

/* A conditional branch's own not-taken side, a jump and a call may go on in the same trace. */
static bool trace_goes_on(u64 next)
{
	/* The checks of CPU_WANT_TOUCH are long: a fragment with them is one block. */
	bool alone = dbt_options.no_traces || dbt_options.one_insn || tr.checked || (tr.want & CPU_WANT_TOUCH);
	u32 limit = alone ? 1 : TRACE_BLOCKS;
	s64 distance = (s64)(next - tr.base);

	if ((tr.want & CPU_WANT_ONE) || rseq_cs_at(next))
		return false;
	/*
	 * A trap is reported behind its instruction: the place is to be no other's, as it is of a jump that needs no
	 * code.
	 */
	if (tr.b.insn[tr.b.n - 1].in.kind == ISA_INT)
		return false;
	if (tr.want & CPU_WANT_FINE)
		return tr.nblock < TRACE_BLOCKS_MAX && !tr.checked && !ends_block(&tr.b.insn[0].in) &&
		       fits_s32(distance * 2);
	return tr.nblock < limit && tr.insns < TRACE_INSNS && fits_s32(distance * 2) &&
	       (!find_entry(next) || is_copied(next));
}

/* ---- spans ---- */

/*
 * So many bytes ahead or more compilers put what is seldom needed. Other conditional branches are taken often, those
 * back mostly: what follows them is not counted before them.
 */
#define SELDOM_TAKEN 96

/*
 * Taken branches, too, are counted by the span's mix: then a branch that leaves the middle of a span makes one addition
 * for all that it changes, and at the end of a span one that is not taken would make another one.
 */
static u64 least_jump(void)
{
	return cpu_counts_by_mix(tr.want) && (tr.want & CPU_WANT_TAKEN) ? 0 : SELDOM_TAKEN;
}

static bool goes_on_behind(const struct block *b)
{
	const struct guest_insn *last = &b->insn[b->n - 1];

	switch (last->in.kind) {
	case ISA_JCC:
		return isa_target(&last->in, last->pc) > last->pc + least_jump();
	case ISA_JMP:
	case ISA_CALL:
	case ISA_PLAIN:
		return true;
	default:
		return false;
	}
}

static bool is_branch(u32 kind)
{
	return kind >= ISA_JCC && kind <= ISA_RET;
}

struct span {
	u32 insns, units, branches;
};

/* What the span at the trace's end amounts to. */
static void add_up_span(struct span *sum)
{
	*sum = (struct span){0};
	for (u32 i = tr.nblock; i-- > 0;) {
		const struct block *b = &tr.block[i];

		sum->insns += b->n;
		sum->units += b->units;
		sum->branches += is_branch(b->insn[b->n - 1].in.kind);
		if (!b->joins)
			break;
	}
}

/*
 * The block at hand is counted together with the one before it. It has no entry: what leads there gets a trace of its
 * own.
 */
static bool joins_span(void)
{
	const u32 cycles = CPU_WANT_IN_POLLS | CPU_WANT_CYCLES;
	u32 units = (tr.want & cycles) == cycles ? CPU_BLOCK_UNITS : CPU_BLOCK_INSNS;
	struct span sum;

	if (!tr.nblock || !tr.spans || !goes_on_behind(&tr.block[tr.nblock - 1]))
		return false;
	if (tr.b.breaks | tr.b.stops || is_loop() || stands_alone(&tr.b.insn[0].in))
		return false;
	add_up_span(&sum);
	if (sum.insns + tr.b.n > CPU_BLOCK_INSNS || sum.units + tr.b.units > units)
		return false;
	return sum.branches < CPU_SPAN_BRANCHES;
}

/* ---- all of it ---- */

/* The lookup behind the block at hand may poll: no more has passed then than in front of another poll. */
static bool can_poll_late(void)
{
	return is_indirect_branch(tr.b.insn[tr.b.n - 1].in.kind) &&
	       tr.distance + tr.b.units <= POLL_MAX + CPU_POLL_FRONT;
}

static struct block *head_of_span(void)
{
	struct block *b = &tr.block[tr.nblock - 1];

	while (b->joins)
		b--;
	return b;
}

/*
 * CPU_WANT_IN_POLLS: the block at hand joins a span. The span is counted by its head, and a poll there knows of all
 * that is counted: so one that this block is to have is the head's. If it can have none this block begins a span of its
 * own, or, before an indirect branch, the lookup polls.
 */
static void poll_with_head(void)
{
	struct block *head = head_of_span();

	if (tr.b.polls && !head->polls && head->can_poll) {
		head->polls = true;
		for (struct block *b = head + 1; b < &tr.block[tr.nblock]; b++)
			b->head_polls = true;
	}
	tr.b.head_polls = head->polls;
	if (tr.b.head_polls)
		tr.b.polls = tr.b.late = false;
	else if (tr.b.polls && can_poll_late())
		tr.b.late = true;
	else if (tr.b.polls)
		tr.b.joins = false;
}

static void add_block(void)
{
	tr.b.can_poll = can_poll_cheaply();
	tr.b.polls = find_poll();
	/* Where the flags are dead a poll in the block is shorter. */
	tr.b.late = tr.b.polls && !tr.b.can_poll && can_poll_late();
	tr.b.joins = joins_span();
	if (tr.b.joins && (tr.want & CPU_WANT_IN_POLLS))
		poll_with_head();
	if (!tr.nblock || (!tr.b.joins && !(tr.want & CPU_WANT_FINE) && !find_entry(tr.b.insn[0].pc)))
		tr.b.entry = entry_add(tr.b.insn[0].pc);
	if (tr.want & CPU_WANT_SPARSE)
		tr.distance = tr.b.polls || tr.b.head_polls ? 0 : tr.distance + tr.b.units;
	tr.block[tr.nblock++] = tr.b;
	tr.insns += tr.b.n;
}

bool plan_trace(u64 pc, struct dbt_fault *fault)
{
	struct dbt_fault ignored;

	tr.nblock = tr.insns = 0;
	if (!decode_block(pc, fault))
		return false;
	do {
		add_block();
		tr.block[tr.nblock - 1].next = pc = next_of();
	} while (pc && trace_goes_on(pc) && decode_block(pc, &ignored));
	return true;
}
