/* Records, entries and exits of the trace at hand: see dbt/trace.h. */
#include "dbt/polls.h"
#include "dbt/trace.h"
#include "dbt/translate.h"
#include "rt/log.h"

struct rec *rec_add(u64 pc)
{
	struct frag *f = &cache.frag[tr.frag];
	struct rec *r = &cache.rec[cache.nrec];

	check(f->nrec < FRAG_MAX_RECS && host_here() - f->host <= 0xffff && fits_s32((s64)(pc - tr.base)));
	check_slow(!f->nrec || r[-1].host <= host_here() - f->host); /* searched by halves */
	*r = (struct rec){
		.guest = (s32)(pc - tr.base),
		.host = (u16)(host_here() - f->host),
		.first = tr.first,
		.spills = SPILLS_NONE,
	};
	tr.first = false;
	counting_delta(&tr.count, r, tr.want & CPU_WANT_KINDS ? &cache.kinds[cache.nrec] : NULL);
	cache.nrec++;
	f->nrec++;
	return r;
}

u32 find_entry(u64 pc)
{
	if (tr.out == NO_VARIANT)
		return 0;
	for (u32 i = tr.first_entry; i < cache.nentry && tr.out == tr.variant; i++)
		if (cache.entry[i].pc == pc)
			return i;
	return cache_find(&cache.variant[tr.out], pc);
}

u32 entry_add(u64 pc)
{
	check(cache.nentry - tr.first_entry < TRACE_BLOCKS && tr.distance <= POLL_MAX);
	cache.entry[cache.nentry] = (struct entry){.pc = pc, .frag = tr.frag, .distance = tr.distance};
	return cache.nentry++;
}

void entry_place(u32 entry)
{
	struct entry *e = &cache.entry[entry];

	tr.before[entry - tr.first_entry] = tr.insns;
	e->host = (u32)host_here();
	e->rec = cache.nrec;
	e->exit = cache.nexit;
}

void exit_add(u64 target, u8 *patch)
{
	u32 id = cache_exit_new(EXIT_BRANCH, tr.frag, tr.out, target, patch);
	u32 to = dbt_options.no_links ? 0 : find_entry(target);

	/* One further on in this trace has no place yet. */
	if (to && !cache.entry[to].host)
		to = 0;
	check(tr.distance <= POLL_MAX);
	cache.exit[id].distance = (u8)tr.distance;
	if (to && polls_link(id, to))
		cache_exit_link(id, to);
	else
		cache_exit_unlink(id);
}

/* Returns the address of the displacement. */
static u8 *emit_jmp_to(u64 target)
{
	/* A trap is reported where its instruction ends, in front of what aligns the jump. */
	bool behind_trap = tr.b.n && tr.b.insn[tr.b.n - 1].in.kind == ISA_INT;

	if (behind_trap)
		rec_add(target);
	emit_align_jmp(&tr.e);
	if (!behind_trap)
		rec_add(target);
	return emit_jmp(&tr.e, tr.e.p);
}

void emit_exit_jmp(u64 target)
{
	exit_add(target, emit_jmp_to(target));
}

void emit_entry_jmp(u32 entry)
{
	u64 pc = cache.entry[entry].pc;

	cache_exit_link(cache_exit_new(EXIT_BRANCH, tr.frag, tr.out, pc, emit_jmp_to(pc)), entry);
}

struct exit *emit_stop(enum exit_kind kind, u64 pc, u32 rec)
{
	u32 id = cache_exit_new(kind, tr.frag, tr.variant, pc, NULL);

	cache.exit[id].rec = rec;
	cache_emit_stub(&tr.e, id);
	return &cache.exit[id];
}

struct emit cold_begin(u8 *patch)
{
	struct emit hot = tr.e;

	tr.e.p = cache.cold;
	emit_patch(patch, tr.e.p);
	return hot;
}

void cold_end(struct emit hot)
{
	cache.cold = tr.e.p;
	tr.e = hot;
}
