/* See dbt/translate.h. Blocks are decoded and put together here; dbt/trace.h says who emits what is in them. */
#include "dbt/translate.h"
#include <linux/signal.h>
#include "dbt/breaks.h"
#include "dbt/dump.h"
#include "dbt/ibl.h"
#include "dbt/polls.h"
#include "dbt/rseq_cs.h"
#include "dbt/trace.h"
#include "rt/log.h"
#include "rt/stats.h"

#define TRACE_INSNS 512u
#define LOOP_UNITS 64u
#define LOOP_COPIES 16u
_Static_assert(LOOP_UNITS < 128, "rec.d_insns is of all copies");

struct dbt_options dbt_options;
struct trace tr;

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

/* Handled by os/, which must find it alone at the start of a block, so that nothing is counted for it beforehand. */
static bool stands_alone(const struct insn *in)
{
	return in->kind == ISA_SYSENTER || in->kind == ISA_RDPMC || in->kind == ISA_CPUID || in->kind == ISA_XGETBV ||
	       in->kind == ISA_FAR || (in->kind == ISA_RDTSC && dbt_options.stop_at_tsc);
}

/* Far jumps and calls, which nobody has: lret and iret have opcodes of their own. */
static bool is_unknown(const struct insn *in)
{
	return in->kind == ISA_FAR && in->opcode == 0xff;
}

/* Fills tr.insn with the block at pc. Returns false, and *fault, if its first instruction cannot be had. */
static bool decode_block(u64 pc, struct dbt_fault *fault)
{
	u32 limit = dbt_options.one_insn || (tr.want & (CPU_WANT_ONE | CPU_WANT_FINE)) ? 1 : CPU_BLOCK_INSNS;

	tr.n = tr.units = tr.cycles = 0;
	tr.breaks = (tr.want & CPU_WANT_BREAK) && breaks_at(pc);
	tr.guarded = (tr.want & CPU_WANT_ONE) && rseq_cs_at(pc);
	tr.stops = !(tr.want & CPU_WANT_ONE) && rseq_cs_at(pc);
	if (tr.breaks | tr.stops)
		limit = 1;
	else if ((tr.want & CPU_WANT_RSEQ_CS) && !dbt_options.one_insn)
		limit = CPU_BLOCK_INSNS;
	while (tr.n < limit) {
		struct guest_insn *gi = &tr.insn[tr.n];
		const u8 *bytes;
		size_t avail = guest_code_at(&tr.code, pc, &bytes, fault);
		int len = avail ? isa_decode(bytes, avail, &gi->in) : -1;

		if (len <= 0 || is_unknown(&gi->in)) {
			/* len < 0: *fault is about the byte after the last that may be executed. */
			if (len >= 0)
				*fault = (struct dbt_fault){SIGILL, ILL_ILLOPN, pc};
			break;
		}
		tr.learned |= rseq_cs_learn(&gi->in, pc);
		if (tr.n && (stands_alone(&gi->in) || rseq_cs_at(pc) != tr.guarded ||
			     ((tr.want & CPU_WANT_BREAK) && breaks_at(pc))))
			break;
		/* Checked and other code do not mix. */
		if (tr.code.checked && !tr.checked) {
			if (tr.n || tr.blocks)
				break;
			tr.checked = true;
		}
		gi->pc = pc;
		memcpy(gi->bytes, bytes, (size_t)len);
		pc += (u64)len;
		tr.n++;
		tr.units += cpu_units(tr.want, gi->in.weight);
		tr.cycles += gi->in.weight;
		/* In checked code every store may be to the instructions that follow. */
		if (ends_block(&gi->in) || (tr.checked && (gi->in.attr & ISA_STORE)) ||
		    (tr.guarded && rseq_cs_ends_piece(&gi->in)) ||
		    ((tr.want & CPU_WANT_SPARSE) && tr.units >= CPU_BLOCK_INSNS))
			break;
	}
	return tr.n > 0;
}

/* ---- blocks and traces ---- */

static u64 emit_break(void)
{
	rec_add(tr.insn[0].pc);
	emit_stop(EXIT_BREAK, tr.insn[0].pc, 0);
	tr.insns++;
	tr.blocks++;
	return 0;
}

/*
 * A block that is a loop is there several times: it is counted, and polls, once for so many rounds. Not where it stops
 * in front of limits.
 */
static u32 copies(void)
{
	if (dbt_options.no_unroll || tr.checked || !is_loop() || stops_at_limits() ||
	    (tr.want & (CPU_WANT_KINDS | CPU_WANT_LBR | CPU_WANT_ONE | CPU_WANT_FINE)))
		return 1;
	return MAX(1, MIN(LOOP_COPIES, LOOP_UNITS / tr.units));
}

/*
 * One copy of the block in tr.insn, which `more` follow; returns where the trace may go on, or 0 if the block ends it.
 * Where that can be done the copy that polls counts all of them: then who leaves earlier takes back the others.
 */
static u64 emit_copy(u32 more)
{
	u32 place = tr.n + 1, ahead, units;
	bool safe = true;
	u8 *out = NULL;
	u64 next = 0;

	counting_begin(&tr.count, tr.want);
	for (u32 k = 0; k < tr.n; k++)
		if (!stands_alone(&tr.insn[k].in))
			counting_total(&tr.count, &tr.insn[k].in);
	tr.count.polls = tr.polls && (tr.want & CPU_WANT_ONE_WORD);
	ahead = counting_can_be_ahead(&tr.count) ? more : 0;
	if (tr.copied && counting_can_be_ahead(&tr.count))
		counting_ahead(&tr.count, more);
	if (tr.polls || counting_any(&tr.count))
		place = find_here(&safe);
	if (tr.polls && place == tr.n) {
		place = 0;
		safe = false;
	}
	units = tr.distance + tr.units * (more + 1);
	if (tr.want & CPU_WANT_SPARSE)
		tr.distance = tr.polls || tr.copied ? 0 : units;
	for (u32 k = 0; k < tr.n; k++) {
		struct guest_insn *gi = &tr.insn[k];

		tr.first = true;
		if (k == place)
			emit_counting(gi->pc, safe);
		if (k == place && tr.polls)
			emit_poll(gi->pc, units, safe);
		if (k == place && ahead && !tr.copied) {
			emit_ahead((s32)ahead, safe);
			counting_ahead(&tr.count, ahead);
		}
		emit_watch(gi);
		if (tr.guarded && !k)
			rseq_cs_emit_guard(gi);
		if (tr.guarded && k == tr.n - 1)
			rseq_cs_emit_last();
		if (k == tr.n - 1 && more)
			out = emit_loop_on(gi);
		else
			next = emit_insn(gi);
		if (tr.guarded && k == tr.n - 1)
			rseq_cs_emitted(gi);
		if (tr.first) /* it needs no code of its own */
			rec_add(gi->pc);
		if (!stands_alone(&gi->in))
			counting_passed(&tr.count, &gi->in);
		if (out)
			emit_loop_end(gi, out, ahead);
		emit_not_taken(gi);
	}
	if (place == tr.n)
		emit_counting(next, safe);
	tr.insns += tr.n;
	return next;
}

/* Emits the block in tr.insn; returns as emit_copy(). */
static u64 emit_block(void)
{
	u64 next = 0;
	u32 left;

	counting_begin(&tr.count, tr.want);
	tr.polls = find_poll();
	tr.late = tr.polls && is_indirect_branch(tr.insn[tr.n - 1].in.kind);
	if (!tr.blocks || !(tr.want & CPU_WANT_FINE))
		entry_add(tr.insn[0].pc);
	if (tr.stops)
		return rseq_cs_emit_stop();
	if (tr.breaks)
		return emit_break();
	if (tr.checked)
		emit_check();
	tr.copied = false;
	left = copies();
	tr.dead_behind = left > 1 && flags_dead_at(tr.insn[tr.n - 1].pc + tr.insn[tr.n - 1].in.len);
	for (; left; left--) {
		next = emit_copy(left - 1);
		tr.polls = false;
		tr.copied = true;
	}
	tr.blocks++;
	return next;
}

/* A conditional branch's own not-taken side, a jump and a call may go on in the same trace. */
static bool trace_goes_on(u64 next)
{
	u32 limit = dbt_options.no_traces || dbt_options.one_insn || tr.checked ? 1 : TRACE_BLOCKS;
	s64 distance = (s64)(next - tr.base);

	if ((tr.want & CPU_WANT_ONE) || rseq_cs_at(next))
		return false;
	/*
	 * A trap is reported behind its instruction: the place is to be no other's, as it is of a jump that needs no
	 * code.
	 */
	if (tr.insn[tr.n - 1].in.kind == ISA_INT)
		return false;
	if (tr.want & CPU_WANT_FINE)
		return tr.blocks < CPU_BLOCK_INSNS && !tr.checked && !ends_block(&tr.insn[0].in) &&
		       fits_s32(distance * 2);
	return tr.blocks < limit && tr.insns < TRACE_INSNS && fits_s32(distance * 2) && !find_entry(next);
}

/* The variant that the exits of one lead to; NO_VARIANT: to the dispatcher, always. */
static u32 out_of(u32 want, u32 variant)
{
	if (want & CPU_WANT_ONE)
		return NO_VARIANT;
	return want & CPU_WANT_FINE ? cache_variant_get(want & ~CPU_WANT_FINE) : variant;
}

static u32 fine_of(u32 want)
{
	if (!(want & (CPU_WANT_COUNTDOWN | CPU_WANT_COUNTDOWN_BRANCHES)) || (want & (CPU_WANT_FINE | CPU_WANT_RARE)))
		return NO_VARIANT;
	return cache_variant_get(want | CPU_WANT_FINE);
}

/* The trace at hand is to be of that variant, of the code at pc. */
static void begin(u32 variant, u64 pc)
{
	check_slow(lock_held(RANK_DBT) && variant / VARIANTS == cache.half);
	guest_code_begin(&tr.code);
	tr.variant = variant;
	tr.want = cache.variant[variant].want;
	tr.out = out_of(tr.want, variant);
	tr.fine = fine_of(tr.want);
	tr.insns = tr.blocks = 0;
	tr.distance = 0;
	tr.checked = tr.first = tr.learned = false;
	tr.base = pc;
	tr.frag = cache.nfrag;
	tr.first_entry = cache.nentry;
	tr.e.p = cache.hot;
}

/* What is emitted next are its blocks. */
static void begin_frag(void)
{
	cache.frag[tr.frag] = (struct frag){.pc = tr.base,
					    .host = (u32)host_here(),
					    .rec = cache.nrec,
					    .entry = cache.nentry,
					    .exit = cache.nexit,
					    .variant = (u8)tr.variant};
}

static void end_frag(void)
{
	struct frag *f = &cache.frag[tr.frag];

	for (u32 i = tr.first_entry; i < cache.nentry; i++)
		cache.entry[i].insns = MIN(tr.insns - tr.before[i - tr.first_entry], ENTRY_LONG) & ENTRY_LONG;
	check(host_here() - f->host < FRAG_MAX_BYTES && cache.nexit - f->exit <= FRAG_MAX_EXITS);
	check_slow(f->nrec && (tr.insns || f->poll));
	f->host_end = (u32)host_here();
	f->nentry = cache.nentry - f->entry;
	f->nexit = cache.nexit - f->exit;
	f->stays |= tr.checked;
	cache.hot = tr.e.p;
	stat_add(blocks, tr.blocks);
	stat_add(block_insns, tr.insns);
	stat_add(block_bytes, f->host_end - f->host);
	__atomic_store_n(&cache.nfrag, tr.frag + 1, __ATOMIC_RELEASE);
	guest_code_commit(&tr.code, tr.frag);
}

u32 translate(u32 variant, u64 pc, u32 distance, bool indirect, struct dbt_fault *fault)
{
	struct dbt_fault ignored;
	struct landing landing = {0};
	u64 next;

	begin(variant, pc);
	if (tr.want & CPU_WANT_SPARSE)
		tr.distance = MAX(distance, indirect ? POLL_ENTRY_INDIRECT : POLL_ENTRY);
	if (!decode_block(pc, fault))
		return 0;
	emit_nops(&tr.e, -(uintptr_t)tr.e.p & 31);
	if (indirect)
		landing = ibl_emit_landing(&tr.e, tr.first_entry, pc);
	begin_frag();
	for (;;) {
		next = emit_block();
		if (!next)
			break;
		counting_begin(&tr.count, 0); /* between blocks nothing is due */
		if (trace_goes_on(next) && decode_block(next, &ignored))
			continue;
		if (tr.want & CPU_WANT_ONE) {
			rec_add(next);
			emit_stop(EXIT_BRANCH, next, 0);
		} else {
			emit_exit_jmp(next);
		}
		break;
	}
	cache.entry[tr.first_entry].landing = landing.at;
	cache.entry[tr.first_entry].landing_miss = landing.miss;
	end_frag();
	for (u32 i = tr.first_entry; i < cache.nentry; i++)
		cache_publish(&cache.variant[variant], i);
	if (unlikely(dbt_options.dump))
		dump_frag(tr.frag);
	if (unlikely(tr.learned))
		rseq_cs_forget_code();
	return tr.first_entry;
}

u32 translate_poll(u32 variant, u32 entry, u32 distance)
{
	u64 pc = cache.entry[entry].pc;
	bool dead;

	check(distance && distance <= POLL_MAX);
	begin(variant, pc);
	counting_begin(&tr.count, 0);
	tr.late = false;
	tr.distance = distance;
	dead = flags_dead_at(pc);
	begin_frag();
	cache.frag[tr.frag].poll = true;
	entry_add(pc);
	emit_poll(pc, distance, dead);
	emit_entry_jmp(entry);
	end_frag();
	cache.entry[tr.first_entry].poll = cache.entry[entry].poll;
	cache.entry[entry].poll = tr.first_entry;
	return tr.first_entry;
}
