/* See dbt/counting.h. */
#include "dbt/counting.h"
#include "cpu/bank.h"
#include "dbt/dbt.h"
#include "dbt/mixes.h"
#include "rt/log.h"

void counting_begin(struct counting *c, u32 want, u32 turn)
{
	*c = (struct counting){.want = want, .times = 1, .turn = turn % CPU_POLL_WORDS};
	for (enum cell i = 0; i < CELL_NR; i++)
		if (cpu_wants(want, i))
			c->cells |= 1u << i;
	if (want & CPU_WANT_IN_POLLS)
		c->cells &= ~(1u << CELL_BRANCHES);
}

/* A conditional branch counts as taken until it is not. */
static bool expects_taken(u32 want, bool inner)
{
	return (want & CPU_WANT_EXPECT_TAKEN) || (cpu_counts_by_mix(want) && !inner);
}

/*
 * What one instruction adds to each cell when it completes. A conditional branch adds to CELL_TAKEN where it jumps,
 * unless it is expected to.
 */
static void earn(s32 *v, const struct insn *in, bool taken)
{
	v[CELL_INSTRUCTIONS]++;
	v[CELL_CYCLES] += in->weight;
	v[CELL_LOADS] += !!(in->attr & ISA_LOAD);
	v[CELL_STORES] += !!(in->attr & ISA_STORE);
	switch (in->kind) {
	case ISA_JCC:
	case ISA_LOOP:
		v[CELL_BRANCHES]++;
		v[CELL_COND]++;
		v[CELL_TAKEN] += taken;
		break;
	case ISA_CALL_IND:
		v[CELL_INDIRECT]++;
		/* fall through */
	case ISA_CALL:
		v[CELL_CALLS]++;
		v[CELL_BRANCHES]++;
		v[CELL_TAKEN]++;
		break;
	case ISA_RET:
	case ISA_FAR: /* of which there are only returns */
		v[CELL_RETURNS]++;
		v[CELL_BRANCHES]++;
		v[CELL_TAKEN]++;
		break;
	case ISA_JMP_IND:
		v[CELL_INDIRECT]++;
		/* fall through */
	case ISA_JMP:
		v[CELL_BRANCHES]++;
		v[CELL_TAKEN]++;
		break;
	case ISA_SYSCALL:
		v[CELL_SYSCALLS]++;
		break;
	default:
		break;
	}
}

void dbt_count_emulated(struct cpu *cpu, const struct insn *in)
{
	s32 v[CELL_NR] = {0};

	earn(v, in, false);
	for (enum cell c = 0; c < CELL_NR; c++)
		if (cpu_wants(cpu->variant, c))
			cpu_count_besides(cpu, c, v[c]);
}

void counting_total(struct counting *c, const struct insn *in, bool inner)
{
	if (c->cells)
		earn(c->total, in, expects_taken(c->want, inner));
}

void counting_passed(struct counting *c, const struct insn *in, bool inner)
{
	if (c->cells)
		earn(c->passed, in, expects_taken(c->want, inner));
}

void counting_not_taken(struct counting *c)
{
	if (expects_taken(c->want, false))
		c->passed[CELL_TAKEN]--;
}

static s32 delta(const struct counting *c, enum cell cell)
{
	if (!(c->cells >> cell & 1))
		return 0;
	return c->passed[cell] - (c->made >> cell & 1 ? c->total[cell] : 0);
}

/* What lies at k may be of a fragment that was here when this half of the cache was filled before. */
void counting_delta(const struct counting *c, struct rec *r, struct rec_kinds *k)
{
	if (k)
		*k = (struct rec_kinds){0};
	if (!c->cells)
		return;
	check_slow(fits_s8(delta(c, CELL_INSTRUCTIONS)) && fits_s8(delta(c, CELL_BRANCHES)));
	check_slow(delta(c, CELL_CYCLES) == (s16)delta(c, CELL_CYCLES));
	r->d_insns = (s8)delta(c, CELL_INSTRUCTIONS);
	r->d_branches = (s8)delta(c, CELL_BRANCHES);
	r->d_cycles = (s16)delta(c, CELL_CYCLES);
	if (k)
		for (enum cell i = CELL_COND; i < CELL_NR; i++)
			k->d[i - CELL_COND] = (s8)delta(c, i);
}

static void add_deltas(struct cpu *cpu, u32 variant, u32 rec, s64 times)
{
	const struct rec *r = &cache.rec[rec];

	check_slow(rec && variant < 2 * VARIANTS);
	cpu_bank(cpu)->cell[CELL_INSTRUCTIONS] += (u64)(times * r->d_insns);
	cpu_bank(cpu)->cell[CELL_BRANCHES] += (u64)(times * r->d_branches);
	cpu_bank(cpu)->cell[CELL_CYCLES] += (u64)(times * r->d_cycles);
	if (cache.variant[variant].want & CPU_WANT_KINDS)
		for (enum cell c = CELL_COND; c < CELL_NR; c++)
			cpu_bank(cpu)->cell[c] += (u64)(times * cache.kinds[rec].d[c - CELL_COND]);
	cpu->limits.stale = 1;
}

void counting_correct(struct cpu *cpu, u32 variant, u32 rec)
{
	add_deltas(cpu, variant, rec, 1);
}

void counting_resume(struct cpu *cpu, u32 variant, u32 rec)
{
	add_deltas(cpu, variant, rec, -1);
}

/* The cells that blocks[] stands for. */
#define BLOCK_CELLS (1u << CELL_INSTRUCTIONS | 1u << CELL_BRANCHES)
/* Those that several copies of a block may count at once. */
#define AHEAD_CELLS (BLOCK_CELLS | 1u << CELL_CYCLES)
/* Besides the cells, in counting.made. */
#define COUNTDOWN_BIT(c) (1u << (CELL_NR + (c)))
/* exit.undo: instructions, and with this a branch. */
#define UNDO_BRANCH 64u
_Static_assert(CPU_BLOCK_INSNS < UNDO_BRANCH, "exit.undo");

s32 counting_counted_down(const struct counting *c, enum cell cell)
{
	return c->made & COUNTDOWN_BIT(cell) ? c->total[cell] : 0;
}

/* Where code counts down, each block is counted alone: it has no more than one branch. */
u8 counting_exit_undo(const struct counting *c)
{
	s32 insns = counting_counted_down(c, CELL_INSTRUCTIONS), branches = counting_counted_down(c, CELL_BRANCHES);

	check(insns >= 0 && insns < (s32)UNDO_BRANCH && branches >= 0 && branches <= 1);
	return (u8)(insns | (branches ? UNDO_BRANCH : 0));
}

/* The countdowns stay good. */
void counting_undo(struct cpu *cpu, const struct exit *x)
{
	u32 stale = cpu->limits.stale;

	check_slow(x->kind == EXIT_LIMIT);
	if (x->rec)
		counting_correct(cpu, x->variant, x->rec);
	cpu->limits.countdown[CELL_INSTRUCTIONS] -= x->undo & (UNDO_BRANCH - 1);
	cpu->limits.countdown[CELL_BRANCHES] -= !!(x->undo & UNDO_BRANCH);
	cpu->limits.stale = stale;
}

static bool next_countdown(const struct counting *c, enum cell cell, u32 bit, struct increment *out)
{
	if (!(c->want & bit) || (c->made & COUNTDOWN_BIT(cell)) || !c->total[cell])
		return false;
	*out = (struct increment){
		.cells = COUNTDOWN_BIT(cell),
		.disp = (s32)(CPU_AT(limits.countdown) + 8 * cell),
		.n = c->total[cell],
		.tested = true,
		.down = true,
	};
	return true;
}

s32 counting_cycles_at(u32 want)
{
	static u32 turn;

	if ((want & CPU_WANT_ONE) || cpu_stops_at_limits(want))
		return cpu_cell_at(CELL_CYCLES);
	return BANK_AT(cycles) + (s32)(8 * (turn++ % CPU_TURNS));
}

#define PART_CELLS (1u << CELL_CYCLES | 1u << CELL_LOADS | 1u << CELL_STORES)

/*
 * The increment, by n, of one word for cells of `todo`. Where there are too many mixes, these have a word, and all else
 * another one. False: there is none of these, the cells have words of their own.
 */
static bool by_mix(u32 todo, bool all, const s32 *amount, s32 n, struct increment *out)
{
	const u32 parts[] = {all ? todo : 0, todo & PART_CELLS, todo & ~PART_CELLS};

	for (u32 i = 0; i < ARRAY_SIZE(parts); i++) {
		s32 word = mixes_word(amount, parts[i], i);

		if (!word)
			continue;
		*out = (struct increment){.cells = parts[i], .disp = word, .n = n};
		return true;
	}
	return false;
}

/* Those that mixes have. */
static u32 mix_cells(const struct counting *c)
{
	if (!cpu_counts_by_mix(c->want))
		return 0;
	return c->want & CPU_WANT_KINDS ? c->cells & ~(1u << CELL_CYCLES) : c->cells;
}

static bool next_by_mix(const struct counting *c, struct increment *out)
{
	u32 all = mix_cells(c), todo = all & ~c->made;
	s32 one[CELL_NR];

	for (enum cell cell = 0; todo && cell < CELL_NR; cell++)
		one[cell] = c->total[cell] / (s32)c->times;
	return todo && by_mix(todo, todo == all, one, (s32)c->times, out);
}

/* CPU_WANT_IN_POLLS: the only one that is counted. */
static enum cell cell_in_polls(const struct counting *c)
{
	return c->want & CPU_WANT_CYCLES ? CELL_CYCLES : CELL_INSTRUCTIONS;
}

struct increment counting_poll(const struct counting *c)
{
	check_slow(!(c->cells & c->made));
	return (struct increment){
		.cells = c->cells,
		.disp = cpu_poll_at(c->turn),
		.n = (s32)(c->total[cell_in_polls(c)] + c->units * CPU_POLL_UNIT),
	};
}

static bool next_in_polls(const struct counting *c, struct increment *out)
{
	if (c->polls || (c->cells & c->made))
		return false;
	*out = counting_poll(c);
	return out->n;
}

bool counting_next(const struct counting *c, struct increment *out)
{
	if (c->want & CPU_WANT_IN_POLLS)
		return next_in_polls(c, out);
	if (next_countdown(c, CELL_INSTRUCTIONS, CPU_WANT_COUNTDOWN, out) ||
	    next_countdown(c, CELL_BRANCHES, CPU_WANT_COUNTDOWN_BRANCHES, out))
		return true;
	if (next_by_mix(c, out))
		return true;
	for (enum cell cell = 0; cell < CELL_NR; cell++) {
		u32 bit = 1u << cell;

		if (!(c->cells & bit) || (c->made & bit) || !c->total[cell])
			continue;
		*out = (struct increment){.cells = bit, .n = c->total[cell]};
		out->disp = cell == CELL_CYCLES ? counting_cycles_at(c->want) : cpu_cell_at(cell);
		out->tested = cell > CELL_BRANCHES;
		if ((bit & BLOCK_CELLS) && !(c->want & CPU_WANT_ONE)) {
			*out = (struct increment){.cells = BLOCK_CELLS, .n = (s32)c->times};
			out->disp = cpu_blocks_at((u32)c->total[CELL_BRANCHES] / c->times,
						  (u32)c->total[CELL_INSTRUCTIONS] / c->times);
		}
		return true;
	}
	return false;
}

/* Of `times` blocks or spans of one[], each. */
static u32 back(const struct counting *c, const s32 *one, s32 times, struct increment *out)
{
	u32 all = mix_cells(c), todo = all, n = 0;

	if (c->want & CPU_WANT_IN_POLLS) {
		*out = (struct increment){.disp = cpu_poll_at(c->turn), .n = -times * one[cell_in_polls(c)]};
		return 1;
	}
	while (todo && by_mix(todo, todo == all, one, -times, &out[n]))
		todo &= ~out[n++].cells;
	if (!all) {
		u32 branches = (u32)one[CELL_BRANCHES], insns = (u32)one[CELL_INSTRUCTIONS];

		out[n++] = (struct increment){.disp = cpu_blocks_at(branches, insns), .n = -times};
	}
	for (todo |= c->cells & ~all & 1u << CELL_CYCLES; todo; todo &= todo - 1) {
		enum cell cell = (enum cell)__builtin_ctz(todo);
		s32 disp = cell == CELL_CYCLES ? counting_cycles_at(c->want) : cpu_cell_at(cell);

		if (one[cell])
			out[n++] = (struct increment){.disp = disp, .n = -times * one[cell]};
	}
	check_slow(n < COUNTING_BACK); /* counting_back() adds one */
	return n;
}

u32 counting_back(const struct counting *c, u32 copies, struct increment out[COUNTING_BACK])
{
	s32 one[CELL_NR], times = (s32)MAX(copies, 1);
	bool was_taken = copies && (mix_cells(c) & 1u << CELL_TAKEN);
	u32 n;

	for (enum cell cell = 0; cell < CELL_NR; cell++)
		one[cell] = counting_rest(c, cell) / times;
	if (was_taken)
		one[CELL_TAKEN] = 1;
	n = back(c, one, times, out);
	if (was_taken)
		out[n++] = (struct increment){.disp = BANK_AT(not_taken), .n = 1};
	return n;
}

u32 counting_back_at(u32 want, u32 rec, u32 turn, struct increment out[COUNTING_BACK])
{
	const struct rec *r = &cache.rec[rec];
	s32 one[CELL_NR] = {-r->d_insns, -r->d_branches, -r->d_cycles};
	struct counting c;

	if (one[CELL_INSTRUCTIONS] > CPU_BLOCK_INSNS || one[CELL_BRANCHES] > CPU_SPAN_BRANCHES)
		return 0;
	counting_begin(&c, want, turn);
	for (enum cell cell = CELL_COND; (want & CPU_WANT_KINDS) && cell < CELL_NR; cell++)
		one[cell] = -cache.kinds[rec].d[cell - CELL_COND];
	return back(&c, one, 1, out);
}

bool counting_can_be_ahead(const struct counting *c)
{
	if (cpu_counts_by_mix(c->want) || (c->want & CPU_WANT_IN_POLLS))
		return true;
	return (c->want & CPU_WANT_BLOCKS) && !(c->cells & ~AHEAD_CELLS);
}

void counting_ahead(struct counting *c, u32 more)
{
	check_slow(counting_can_be_ahead(c));
	for (enum cell cell = 0; cell < CELL_NR; cell++)
		c->total[cell] *= (s32)(more + 1);
	c->times = more + 1;
}

void counting_was_ahead(struct counting *c, u32 more)
{
	counting_ahead(c, more);
	c->made |= c->cells;
}
