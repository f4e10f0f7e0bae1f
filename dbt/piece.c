/*
 * See dbt/piece.h. Threads have parts of a half's copies in which they write one copy after the other, so that a
 * processor seldom has in its instruction cache what is overwritten.
 *
 * A poll stops no copy: its words are far from 0 while pieces run. Other members may write them all the same, so its
 * jump leads to the next instruction.
 */
#include "dbt/piece.h"
#include "rt/log.h"

#define PART_SIZE 0x10000u
#define PARTS (COPIES_SIZE / PART_SIZE)
/*
 * Between a copy and the next: what a processor fetches ahead of the one that runs, or has as instructions, costs it a
 * flush when it is written.
 */
#define APART 448u
#define PIECE_MAX 4096u /* bytes, but for the last instruction */
#define STUB_SIZE 20u
#define PREFETCHED 256u /* bytes */
#define COPY_USUAL 192u
_Static_assert(PIECE_MAX + EMIT_INSN_MAX + STUB_SIZE * (FRAG_MAX_EXITS + 1) + APART < PART_SIZE, "one fits");

/* owner: slot + 1 of the cpu. In the child of a fork those of other threads stay taken. */
static struct part {
	u32 owner, used;
} part[PARTS];

static struct part *take_part(struct cpu *cpu)
{
	for (u32 i = 0; i < PARTS; i++) {
		struct part *p = &part[(cpu->slot + i) % PARTS];
		u32 none = 0;

		if (__atomic_compare_exchange_n(&p->owner, &none, cpu->slot + 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return p;
	}
	return NULL;
}

void piece_done(struct cpu *cpu)
{
	check(cpu->copy.part < PARTS);
	cpu->copy.at = 0;
	__atomic_store_n(&part[cpu->copy.part].owner, 0, __ATOMIC_RELEASE);
}

/*
 * The record at which so many instructions from `rec` on are done; or the end of the fragment's records. `rec` may lie
 * inside its instruction (behind a poll, for instance): that one is the first of them.
 */
static u32 find_end(const struct frag *f, u32 rec, u64 insns)
{
	u32 most = cache.rec[rec].host + PIECE_MAX, end = f->rec + f->nrec;

	insns -= !cache.rec[rec].first;
	for (; rec < end; rec++)
		if (cache.rec[rec].first && (!insns-- || cache.rec[rec].host > most))
			break;
	return rec;
}

/*
 * The same for so many quarter cycles. From record to record d_cycles grows by what was executed, and where all of it
 * is added it falls to what is still to come, less than 0. What the fragment's last instruction takes it says only in
 * the second case.
 */
static u32 find_end_of_cycles(const struct frag *f, u32 rec, u64 most)
{
	u32 far = cache.rec[rec].host + PIECE_MAX, end = f->rec + f->nrec, stop = 0;
	u64 passed = 0;

	while (++rec < end) {
		const struct rec *r = &cache.rec[rec];

		passed += (u64)MAX(r->d_cycles - r[-1].d_cycles, 0);
		if (!r->first)
			continue;
		if (stop && passed > most)
			return stop;
		stop = rec;
		if (r->host > far)
			return stop;
	}
	passed += cache.rec[end - 1].d_cycles < 0 ? (u64)-cache.rec[end - 1].d_cycles : CPU_WEIGHT_MOST;
	return stop && passed > most ? stop : end;
}

/* Operands relative to rip. */
static bool fix_operands(u32 rec, u32 end, u8 *to, s64 moved)
{
	const u32 start = cache.rec[rec].host;

	for (; rec < end; rec++) {
		const struct rec *r = &cache.rec[rec];
		s32 disp;

		if (!r->fix)
			continue;
		memcpy(&disp, to + (r->host - start) + r->fix, 4);
		if (!fits_s32(disp - moved))
			return false;
		disp = (s32)(disp - moved);
		memcpy(to + (r->host - start) + r->fix, &disp, 4);
	}
	return true;
}

static void emit_exit(struct emit *e, u32 id, u8 *patch)
{
	if (cache.exit[id].kind == EXIT_POLL) {
		emit_patch(patch, patch + 4);
		return;
	}
	__builtin_prefetch(&cache.entry[cache.exit[id].linked]);
	emit_patch(patch, e->p);
	cache_emit_stub(e, id);
}

/* Those of the fragment's exits from number i on that are in [from, end). */
static void emit_exits(struct emit *e, const struct frag *f, u32 i, u32 from, u32 end, u8 *to)
{
	for (; i < f->exit + f->nexit; i++) {
		const struct exit *x = &cache.exit[i];

		/* or it has none, or in the cold part, and EXIT_AHEAD is in front of it */
		if (x->patch < from || x->patch >= f->host_end)
			continue;
		if (x->patch >= end)
			break;
		emit_exit(e, i, to + (x->patch - from));
	}
}

/* What is needed of a fragment is seldom in the processor's caches: all of it is asked for at once. */
static void prefetch(const struct cpu *cpu, u32 from)
{
	for (u32 i = 0; i < PREFETCHED; i += 64) {
		__builtin_prefetch((void *)(uintptr_t)(from + i));
		__builtin_prefetch((u8 *)&cache.exit[cpu->here.exit] + i);
	}
}

/* Where the next copy is to be. */
static void prefetch_next(const u8 *to)
{
	for (u32 i = 0; i < COPY_USUAL; i += 64)
		__builtin_prefetch(to + i, 1);
}

/*
 * All that is left of the fragment is no more than so many instructions. For this and what follows no record need be
 * read, which is a good part of the cost.
 */
static bool is_whole(const struct cpu *cpu, const struct frag *f, u64 insns)
{
	const struct entry *e = &cache.entry[cpu->here.entry];

	return cpu->here.entry && e->insns != ENTRY_LONG && e->insns <= insns && f->host_end - e->host <= PIECE_MAX;
}

bool piece_make(struct cpu *cpu, enum cell cell, u64 most)
{
	const struct frag *f = &cache.frag[cpu->here.frag];
	u32 rec = cpu->here.rec, stop = f->rec + f->nrec, from, end;
	struct part *p = f->stays ? NULL : take_part(cpu);
	u8 *copies = cache.place[cache.half].copies;
	struct emit e;
	bool whole;
	u8 *to;

	check_slow(!cpu->copy.at && rec - f->rec < f->nrec);
	if (!p)
		return false;
	from = cpu->here.entry ? cache.entry[cpu->here.entry].host : f->host + cache.rec[rec].host;
	prefetch(cpu, from);
	if (cell == CELL_CYCLES)
		stop = find_end_of_cycles(f, rec, most);
	else if (!is_whole(cpu, f, most))
		stop = find_end(f, rec, MAX(most, 1));
	whole = stop == f->rec + f->nrec;
	cpu->copy.part = (u32)(p - part);
	if (p->used + PIECE_MAX + EMIT_INSN_MAX + STUB_SIZE * (f->nexit + 1) > PART_SIZE)
		p->used = 0;
	to = copies + cpu->copy.part * PART_SIZE + p->used;
	end = !whole ? f->host + cache.rec[stop].host : f->lookup ? f->lookup : f->host_end;
	memcpy(to, (void *)(uintptr_t)from, end - from);
	e.p = to + (end - from);
	if (f->fixes && !fix_operands(rec, stop, to, (s64)code_host(to) - from)) {
		piece_done(cpu);
		return false;
	}
	if (!whole)
		cache_emit_stub(&e, 0);
	else if (f->lookup)
		emit_jmp(&e, cache.miss);
	emit_exits(&e, f, cpu->here.exit, from, end, to);
	check((u64)(e.p - copies) <= (cpu->copy.part + 1ul) * PART_SIZE);
	p->used = (u32)ALIGN_UP((u64)(e.p - copies) % PART_SIZE, 64) + APART;
	prefetch_next(copies + cpu->copy.part * PART_SIZE + p->used);
	cpu->copy.end = whole ? 0 : stop;
	cpu->copy.from = from;
	/* Behind the last instruction, where it leaves or looks up its target, it is as the fragment is there. */
	cpu->copy.len = end - from + (!whole || f->lookup);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	code_written();
	cpu->copy.at = code_host(to);
	return true;
}

u64 piece_origin(const struct cpu *cpu, u64 host)
{
	if (cpu->copy.at && host - cpu->copy.at < cpu->copy.len)
		return host - cpu->copy.at + cpu->copy.from;
	return host;
}
