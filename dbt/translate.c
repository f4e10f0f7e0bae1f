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

#define LOOP_UNITS 64u
#define LOOP_COPIES 16u
_Static_assert(LOOP_UNITS < 128, "rec.d_insns is of all copies");

struct dbt_options dbt_options;
struct trace tr;

/* ---- blocks and traces ---- */

/* The block behind the one at hand is of the same span. */
static bool span_goes_on(void)
{
	return tr.at + 1 < tr.nblock && tr.block[tr.at + 1].joins;
}

/* What the span that begins with the block at hand, which `more` copies follow, counts. */
static void begin_span(u32 more)
{
	u32 i = tr.at, units = tr.distance + tr.b.units * more;
	bool polls = false;

	counting_begin(&tr.count, tr.want, tr.turn);
	do {
		const struct block *b = &tr.block[i];
		bool inner = i + 1 < tr.nblock && b[1].joins;

		polls |= b->polls;
		units += b->units;
		for (u32 k = 0; k < b->n; k++)
			if (!stands_alone(&b->insn[k].in))
				counting_total(&tr.count, &b->insn[k].in, inner);
	} while (++i < tr.nblock && tr.block[i].joins);
	tr.count.units = polls ? units : 0;
	tr.count.polls = tr.b.polls && !tr.b.late && (tr.want & CPU_WANT_IN_POLLS);
}

static u64 emit_break(void)
{
	rec_add(tr.b.insn[0].pc);
	emit_stop(EXIT_BREAK, tr.b.insn[0].pc, 0);
	tr.insns++;
	return 0;
}

/*
 * A block that is a loop is there several times: it is counted, and polls, once for so many rounds. Not where it stops
 * in front of limits.
 */
static u32 copies(void)
{
	if (dbt_options.no_unroll || tr.checked || !is_loop() || stops_at_limits() ||
	    (tr.want & (CPU_WANT_LBR | CPU_WANT_ONE | CPU_WANT_FINE | CPU_WANT_TOUCH)))
		return 1;
	return MAX(1, MIN(LOOP_COPIES, LOOP_UNITS / tr.b.units));
}

/*
 * One copy of the block at hand, which `more` follow; returns where the trace may go on, or 0 if the block ends it.
 * Where that can be done the copy that polls counts all of them: then who leaves earlier takes back the others.
 */
static u64 emit_copy(u32 more)
{
	u32 place = tr.b.n + 1, ahead, units;
	bool safe = true, polls;
	u64 next = 0, begins;
	u8 *out = NULL;

	if (!tr.b.joins)
		begin_span(more);
	ahead = counting_can_be_ahead(&tr.count) ? more : 0;
	if (tr.copied && counting_can_be_ahead(&tr.count))
		counting_was_ahead(&tr.count, more);
	else if (ahead)
		counting_ahead(&tr.count, ahead);
	polls = tr.b.polls && !tr.b.late;
	if (polls || (counting_any(&tr.count) && !tr.b.joins))
		place = find_here(polls, &safe);
	tr.b.counts_late = !safe && !polls && can_count_late();
	if (tr.b.counts_late)
		place = tr.b.n + 1;
	units = tr.distance + tr.b.units * (more + 1);
	if (tr.want & CPU_WANT_SPARSE)
		tr.distance = tr.b.polls || tr.b.head_polls || tr.copied ? 0 : units;
	for (u32 k = 0; k < tr.b.n; k++) {
		struct guest_insn *gi = &tr.b.insn[k];

		tr.first = true;
		if (k == place)
			emit_counting(gi->pc, safe);
		if (k == place && polls)
			emit_poll(gi->pc, units, safe);
		emit_watch(gi);
		begins = host_here();
		if (tr.b.guarded && !k)
			rseq_cs_emit_guard(gi);
		if (tr.b.guarded && k == tr.b.n - 1)
			rseq_cs_emit_last();
		if (k == tr.b.n - 1 && more)
			out = emit_loop_on(gi);
		else
			next = emit_insn(gi);
		if (tr.b.guarded && k == tr.b.n - 1)
			rseq_cs_emitted(gi);
		/* It needs no code of its own: behind the increments is a boundary, too (dbt/piece.c). */
		if (tr.first || (k == place && host_here() == begins))
			rec_add(gi->pc);
		if (!stands_alone(&gi->in))
			counting_passed(&tr.count, &gi->in, span_goes_on());
		if (out)
			emit_loop_end(gi, out, ahead);
		else if (tr.taken)
			emit_taken(gi);
		if (!more && !span_goes_on())
			emit_not_taken(gi);
	}
	if (place == tr.b.n)
		emit_counting(next, safe);
	check_slow(more || next == tr.b.next);
	tr.insns += tr.b.n;
	return next;
}

/* Emits the block at hand; returns as emit_copy(). */
static u64 emit_block(void)
{
	u64 next = 0;
	u32 left;

	if (tr.b.entry)
		entry_place(tr.b.entry);
	if (tr.b.stops)
		return rseq_cs_emit_stop();
	if (tr.b.breaks)
		return emit_break();
	if (tr.checked)
		emit_check();
	tr.copied = false;
	tr.turn += tr.b.polls || !tr.b.joins;
	left = copies();
	tr.dead_behind = left > 1 && flags_dead_at(tr.b.insn[tr.b.n - 1].pc + tr.b.insn[tr.b.n - 1].in.len);
	for (; left; left--) {
		next = emit_copy(left - 1);
		tr.b.polls = false;
		tr.copied = true;
	}
	return next;
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

static bool counts_by_span(void)
{
	bool counts = (tr.want & (CPU_WANT_BLOCKS | CPU_WANT_IN_POLLS)) || cpu_counts_by_mix(tr.want);

	return counts && !dbt_options.no_spans && !stops_at_limits() &&
	       !(tr.want & (CPU_WANT_LBR | CPU_WANT_ONE | CPU_WANT_FINE));
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
	tr.spans = counts_by_span();
	tr.insns = tr.nblock = 0;
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
					    .entry = tr.first_entry,
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
	stat_add(blocks, tr.nblock);
	stat_add(block_insns, tr.insns);
	stat_add(block_bytes, f->host_end - f->host);
	cache_frags_are(tr.frag + 1);
	guest_code_commit(&tr.code, tr.frag);
}

/* Leaves the trace where it does not go on. */
static void emit_end(u64 next)
{
	if (!next)
		return;
	if (!(tr.want & CPU_WANT_ONE)) {
		emit_exit_jmp(next);
		return;
	}
	rec_add(next);
	emit_stop(EXIT_BRANCH, next, 0);
}

u32 translate(u32 variant, u64 pc, u32 exit, bool indirect, struct dbt_fault *fault)
{
	struct landing landing = {0};
	u64 next = 0;

	begin(variant, pc);
	if ((tr.want & CPU_WANT_SPARSE) && exit)
		tr.distance = cache.exit[exit].distance;
	if (!plan_trace(pc, fault))
		return 0;
	emit_nops(&tr.e, -(uintptr_t)tr.e.p & 31);
	if (indirect)
		landing = ibl_emit_landing(&tr.e, tr.first_entry, pc, carry_dead_at(pc));
	tr.take_back = exit ? emit_take_back(exit) : 0;
	begin_frag();
	for (tr.at = 0; tr.at < tr.nblock; tr.at++) {
		tr.b = tr.block[tr.at];
		tr.distance = tr.b.distance;
		next = emit_block();
		if (!span_goes_on())
			counting_begin(&tr.count, 0, 0); /* nothing is due */
	}
	emit_end(next);
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

bool translate_carry_dead(u32 entry)
{
	u32 frag = cache.entry[entry].frag;
	u64 pc = cache.entry[entry].pc;
	bool dead;

	begin(cache.frag[frag].variant, pc);
	dead = carry_dead_at(pc);
	if (dead)
		guest_code_commit(&tr.code, frag);
	return dead;
}

void translate_shorten(u32 exit)
{
	if (tr.take_back)
		cache_exit_shorten(exit, tr.take_back);
}

u32 translate_poll(u32 variant, u32 entry, u32 distance)
{
	u64 pc = cache.entry[entry].pc;
	bool dead;

	check(distance && distance <= POLL_MAX);
	begin(variant, pc);
	counting_begin(&tr.count, 0, tr.turn);
	tr.b = (struct block){0};
	tr.distance = distance;
	dead = flags_dead_at(pc);
	begin_frag();
	cache.frag[tr.frag].poll = true;
	entry_place(entry_add(pc));
	emit_poll(pc, distance, dead);
	emit_entry_jmp(entry);
	end_frag();
	cache.entry[tr.first_entry].poll = cache.entry[entry].poll;
	cache.entry[entry].poll = tr.first_entry;
	return tr.first_entry;
}
