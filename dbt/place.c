/* Where a block makes its increments: see dbt/trace.h. */
#include "dbt/polls.h"
#include "dbt/trace.h"
#include "dbt/translate.h"
#include "rt/log.h"

#define LOOKAHEAD 24 /* instructions */

static u32 live_before(const struct insn *in, u32 live)
{
	return ((live & ~in->fl_kills) | in->fl_reads) & ISA_STATUS;
}

/*
 * Which of the flags the code at pc may read before it sets them: a short look ahead, never wrong towards "dead". Code
 * that can change unnoticed may read all.
 */
static u32 live_at(u64 pc, u32 flags)
{
	u32 dead = 0;

	for (int i = 0; i < LOOKAHEAD && dead != flags; i++) {
		struct insn in;
		struct dbt_fault fault;
		const u8 *bytes;

		if (!plan_may_look(pc) || guest_code_insn(&tr.code, pc, &in, &bytes, &fault) <= 0)
			return flags;
		if (in.fl_reads & flags & ~dead)
			return flags;
		dead |= in.fl_kills & flags;
		if (in.kind == ISA_JMP || in.kind == ISA_CALL)
			pc = isa_target(&in, pc);
		else if (in.kind != ISA_PLAIN)
			break;
		else
			pc += in.len;
	}
	return tr.code.checked ? flags : flags & ~dead;
}

static u32 flags_live_at(u64 pc)
{
	return live_at(pc, ISA_STATUS);
}

bool flags_dead_at(u64 pc)
{
	return !flags_live_at(pc);
}

bool carry_dead_at(u64 pc)
{
	return dbt_options.landing == LANDING_ADCX && !dbt_options.no_liveness && !live_at(pc, ISA_CF);
}

static u32 flags_live_out(const struct guest_insn *last)
{
	u64 next = last->pc + last->in.len;

	switch (last->in.kind) {
	case ISA_JCC:
	case ISA_LOOP:
		return flags_live_at(next) | flags_live_at(isa_target(&last->in, last->pc));
	case ISA_JMP:
	case ISA_CALL:
		return flags_live_at(isa_target(&last->in, last->pc));
	case ISA_PLAIN:
		return flags_live_at(next);
	default:
		return ISA_STATUS;
	}
}

/*
 * Where in the block an add to memory does no harm: before instruction k <= last, or tr.b.n at its end; -1: nowhere.
 * Prefers a place from which nothing can fault until the flags are set again, so that even a signal frame shows them as
 * they should be.
 */
static int find_flag_dead_place(u32 last)
{
	int any = -1, best = -1;

	if (dbt_options.no_liveness)
		return -1;
	for (int pass = 0; pass < 2 && any < 0; pass++) {
		u32 live = pass ? flags_live_out(&tr.b.insn[tr.b.n - 1]) : ISA_STATUS;
		bool quiet = false;

		if (!live && tr.b.insn[tr.b.n - 1].in.kind == ISA_PLAIN && last == tr.b.n)
			any = (int)tr.b.n;
		for (int k = (int)tr.b.n - 1; k >= 0; k--) {
			const struct insn *in = &tr.b.insn[k].in;

			live = live_before(in, live);
			if (in->attr & (ISA_LOAD | ISA_STORE | ISA_DIV))
				quiet = false;
			else if ((in->fl_kills & ISA_STATUS) == ISA_STATUS)
				quiet = true;
			if (!live && (u32)k <= last) {
				any = k;
				if (quiet)
					best = k;
			}
		}
	}
	return best >= 0 ? best : any;
}

static bool flags_dead_at_start(void)
{
	for (int pass = 0; pass < 2 && !dbt_options.no_liveness; pass++) {
		u32 live = pass ? flags_live_out(&tr.b.insn[tr.b.n - 1]) : ISA_STATUS;

		for (u32 k = tr.b.n; k-- > 0;)
			live = live_before(&tr.b.insn[k].in, live);
		if (!live)
			return true;
	}
	return false;
}

/* A single step shows the flags as they are, also where the instruction faults. */
static bool flags_dead_for_one(const struct insn *in)
{
	return !live_before(in, ISA_STATUS) && !(in->attr & (ISA_LOAD | ISA_STORE | ISA_DIV));
}

bool is_loop(void)
{
	const struct guest_insn *last = &tr.b.insn[tr.b.n - 1];

	return last->in.kind == ISA_JCC && isa_target(&last->in, last->pc) == tr.b.insn[0].pc;
}

bool is_indirect_branch(u32 kind)
{
	return kind == ISA_JMP_IND || kind == ISA_CALL_IND || kind == ISA_RET;
}

bool can_count_late(void)
{
	return is_indirect_branch(tr.b.insn[tr.b.n - 1].in.kind) && tr.out != NO_VARIANT && !stops_at_limits();
}

/* An exit at that distance could be linked to what is at target only by way of a poll in front of that. */
static bool is_nearer(u64 target, u32 distance)
{
	u32 entry = distance ? find_entry(target) : 0;

	return entry && cache.entry[entry].distance < distance;
}

/*
 * The block at hand, at that distance at its end, leads to a place that is to have a smaller one: it is the block that
 * polls.
 */
static bool leads_nearer(u32 distance)
{
	const struct guest_insn *last = &tr.b.insn[tr.b.n - 1];
	u64 behind = last->pc + last->in.len;

	switch (last->in.kind) {
	case ISA_JCC:
	case ISA_LOOP:
		return is_nearer(isa_target(&last->in, last->pc), distance) || is_nearer(behind, distance);
	case ISA_JMP:
	case ISA_CALL:
		return is_nearer(isa_target(&last->in, last->pc), distance);
	case ISA_PLAIN:
		return is_nearer(behind, distance);
	default:
		return false;
	}
}

bool can_poll_cheaply(void)
{
	bool safe;

	find_here(true, &safe);
	return (tr.want & CPU_WANT_SPARSE) && safe;
}

bool find_poll(void)
{
	u32 kind = tr.b.insn[tr.b.n - 1].in.kind, distance = tr.distance + tr.b.units;

	if (!(tr.want & CPU_WANT_SPARSE))
		return false;
	if (is_indirect_branch(kind) || is_loop() || distance > POLL_MAX)
		return true;
	if (distance <= POLL_EVERY && !leads_nearer(distance))
		return false;
	return tr.b.can_poll;
}

/* The last instruction in front of which the block may poll. */
static u32 last_to_poll(void)
{
	u32 k = 0;

	for (u32 units = 0; k + 1 < tr.b.n; k++) {
		units += cpu_units(tr.want, tr.b.insn[k].in.weight);
		if (units > CPU_POLL_FRONT)
			break;
	}
	return k;
}

u32 find_here(bool polls, bool *safe)
{
	int place;

	check_slow(tr.b.n && tr.b.n <= CPU_BLOCK_INSNS);
	*safe = true;
	if (tr.want & CPU_WANT_ONE)
		*safe = flags_dead_for_one(&tr.b.insn[0].in);
	else if (stops_at_limits())
		*safe = flags_dead_at_start();
	else if ((place = find_flag_dead_place(polls ? last_to_poll() : tr.b.n)) >= 0)
		return (u32)place;
	else
		*safe = false;
	return 0;
}
