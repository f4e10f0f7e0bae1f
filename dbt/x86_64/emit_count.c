/* A block's increments, and leaving in front of it when a word is used up: see dbt/trace.h. */
#include "dbt/polls.h"
#include "dbt/stop.h"
#include "dbt/trace.h"
#include "dbt/translate.h"
#include "dbt/x86_64/emit.h"
#include "rt/log.h"

static void add_in_rcx(struct emit *e, s32 disp, s32 n)
{
	emit_store_cpu(e, RCX, CPU_AT(spill[0]));
	emit_load_cpu(e, RCX, disp);
	emit_lea_self(e, RCX, n);
	emit_store_cpu(e, RCX, disp);
}

void emit_add_keeping_flags(struct emit *e, s32 disp, s32 n)
{
	add_in_rcx(e, disp, n);
	emit_load_cpu(e, RCX, CPU_AT(spill[0]));
}

u8 *emit_test_keeping_flags(struct emit *e, s32 disp, s32 n)
{
	u8 *out;

	add_in_rcx(e, disp, n);
	emit_load_top_byte_cpu(e, RCX, disp);
	emit8(e, 0x48), emit8(e, 0xf7), emit8(e, 0xd1); /* not %rcx */
	/* jrcxz over the jump */
	emit8(e, 0xe3), emit8(e, 5);
	emit8(e, 0xe9);
	out = e->p;
	emit32(e, 0);
	emit_load_cpu(e, RCX, CPU_AT(spill[0]));
	return out;
}

/*
 * Takes back the countdowns that have been made, in front of the block; spilled: by way of rcx, and flags are kept.
 */
static void emit_count_back(bool spilled)
{
	for (enum cell cell = CELL_INSTRUCTIONS; cell <= CELL_BRANCHES; cell++) {
		s32 disp = (s32)(CPU_AT(limits.countdown) + 8 * cell), n = counting_counted_down(&tr.count, cell);

		if (!n)
			continue;
		if (!spilled) {
			emit_add_cpu(&tr.e, disp, -n);
			continue;
		}
		emit_load_cpu(&tr.e, RCX, disp);
		emit_lea_self(&tr.e, RCX, -n);
		emit_store_cpu(&tr.e, RCX, disp);
	}
}

void limit_exit(u8 *patch, u64 pc, u32 rec, u8 undo, bool spilled)
{
	struct emit hot = cold_begin(patch);
	struct exit *x;

	if (spilled)
		emit_load_cpu(&tr.e, RCX, CPU_AT(spill[0]));
	x = emit_stop(EXIT_LIMIT, pc, rec);
	x->undo = undo;
	cold_end(hot);
}

/* A countdown is used up in front of pc: goes on one instruction at a time. The exit is as a branch's. */
static void fine_exit(u8 *patch, u64 pc, bool spilled)
{
	struct emit hot = cold_begin(patch);
	u32 id, to;

	emit_count_back(spilled);
	if (spilled)
		emit_load_cpu(&tr.e, RCX, CPU_AT(spill[0]));
	emit_align_rel32(&tr.e, 1);
	emit8(&tr.e, 0xe9);
	emit32(&tr.e, 0);
	id = cache_exit_new(EXIT_LIMIT, tr.frag, tr.fine, pc, tr.e.p - 4);
	cold_end(hot);
	to = dbt_options.no_links ? 0 : cache_find(&cache.variant[tr.fine], pc);
	if (to)
		cache_exit_link(id, to);
	else
		cache_exit_unlink(id);
}

bool stops_at_limits(void)
{
	return cpu_stops_at_limits(tr.want);
}

static void emit_add(s32 disp, s32 n, bool flags_dead)
{
	if (flags_dead)
		emit_add_cpu(&tr.e, disp, n);
	else
		emit_add_keeping_flags(&tr.e, disp, n);
}

/* Adds to the word, the status flags are dead. Returns the displacement of the jump that is made if it is used up. */
static u8 *emit_add_and_test(s32 disp, s32 n)
{
	emit_add_cpu(&tr.e, disp, n);
	/* jns */
	emit8(&tr.e, 0x0f), emit8(&tr.e, 0x89);
	emit32(&tr.e, 0);
	return tr.e.p - 4;
}

s32 poll_word(void)
{
	return cpu_poll_at(tr.want & CPU_WANT_IN_POLLS ? tr.count.turn : tr.turn);
}

/* Of a poll that counts nothing. */
static struct increment poll_of(u32 units)
{
	check(units <= POLL_MAX + CPU_BLOCK_UNITS);
	return (struct increment){.disp = poll_word(), .n = (s32)(units * CPU_POLL_UNIT)};
}
_Static_assert((POLL_MAX + CPU_BLOCK_UNITS + 1) * CPU_POLL_UNIT <= 1ul << 31, "poll_of()");

void emit_poll(u64 pc, u32 units, bool flags_dead)
{
	struct increment inc = tr.count.polls ? counting_poll(&tr.count) : poll_of(units);
	struct emit hot;
	u32 id, back;
	u8 *patch;

	check(inc.n > 0);
	rec_add(pc);
	counting_made(&tr.count, &inc);
	if (flags_dead)
		patch = emit_add_and_test(inc.disp, inc.n);
	else
		patch = emit_test_keeping_flags(&tr.e, inc.disp, inc.n);
	rec_add(pc); /* where it goes on after a stop */
	back = (u32)host_here();
	id = cache_exit_new(EXIT_POLL, tr.frag, tr.variant, pc, patch);
	cache.exit[id].rec = cache.nrec - 1;
	hot = cold_begin(patch);
	if (!flags_dead)
		emit_load_cpu(&tr.e, RCX, CPU_AT(spill[0]));
	emit_set_cpu(&tr.e, CPU_AT(poll_back), back);
	emit_set_cpu(&tr.e, CPU_AT(exit_id), id);
	emit_jmp_cpu(&tr.e, CPU_AT(rt_fn) + 8 * RT_LEAVE_POLL);
	cold_end(hot);
}

void emit_increments(const struct increment *inc, u32 n, bool flags_dead)
{
	for (u32 i = 0; i < n; i++)
		emit_add(inc[i].disp, inc[i].n, flags_dead);
}

u32 emit_take_back(u32 exit)
{
	const struct exit *ahead = &cache.exit[exit - 1];
	struct increment back[COUNTING_BACK];
	u32 at = (u32)host_here(), n;

	if (!exit || ahead->kind != EXIT_AHEAD || ahead->frag != cache.exit[exit].frag || !ahead->dead)
		return 0;
	n = counting_back_at(tr.want, ahead->rec, ahead->turn, back);
	if (!n)
		return 0;
	emit_increments(back, n, true);
	return at;
}

static void emit_increment(u64 pc, const struct increment *inc, bool flags_dead)
{
	u8 *patch;

	rec_add(pc);
	if (!inc->tested || !stops_at_limits()) {
		emit_add(inc->disp, inc->n, flags_dead);
		counting_made(&tr.count, inc);
		return;
	}
	if (flags_dead)
		patch = emit_add_and_test(inc->disp, inc->n);
	else
		patch = emit_test_keeping_flags(&tr.e, inc->disp, inc->n);
	counting_made(&tr.count, inc);
	rec_add(pc);
	if (inc->down && tr.fine != NO_VARIANT)
		fine_exit(patch, pc, !flags_dead);
	else
		limit_exit(patch, pc, cache.nrec - 1, counting_exit_undo(&tr.count), !flags_dead);
}

void emit_counting(u64 pc, bool flags_dead)
{
	struct increment inc;

	while (counting_next(&tr.count, &inc))
		emit_increment(pc, &inc, flags_dead);
}

static void add_in_rdx(const struct increment *inc)
{
	emit_load_cpu(&tr.e, RDX, inc->disp);
	emit_lea_self(&tr.e, RDX, inc->n);
	emit_store_cpu(&tr.e, RDX, inc->disp);
	counting_made(&tr.count, inc);
}

bool emit_late(void)
{
	bool polls_alone = tr.b.late && !(tr.want & CPU_WANT_IN_POLLS), in_rdx = false;
	struct increment inc;

	check(!tr.b.late || tr.b.distance + tr.b.units <= POLL_MAX + CPU_POLL_FRONT);
	while (tr.b.counts_late && counting_next(&tr.count, &inc)) {
		add_in_rdx(&inc);
		in_rdx = tr.want & CPU_WANT_IN_POLLS;
	}
	if (!polls_alone)
		return in_rdx;
	inc = poll_of(tr.b.distance + tr.b.units);
	add_in_rdx(&inc);
	return true;
}

void emit_not_taken(const struct guest_insn *gi)
{
	u64 next = gi->pc + gi->in.len;

	if (gi->in.kind != ISA_JCC && gi->in.kind != ISA_LOOP)
		return;
	if (!(tr.want & CPU_WANT_EXPECT_TAKEN) && !(cpu_counts_by_mix(tr.want) && (tr.want & CPU_WANT_TAKEN)))
		return;
	counting_not_taken(&tr.count);
	rec_add(next);
	if (tr.want & CPU_WANT_EXPECT_TAKEN)
		emit_add_keeping_flags(&tr.e, cpu_cell_at(CELL_TAKEN), -1);
	else
		emit_add(BANK_AT(not_taken) + (s32)(8 * (tr.turn++ % CPU_TURNS)), 1, flags_dead_at(next));
}
