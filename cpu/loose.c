/* See cpu/bank.h and cpu/loose.h. */
#include "cpu/loose.h"
#include "cpu/bank.h"

#define N CPU_BLOCK_INSNS

/* CPU_WANT_LOOSE code runs up to here: so much further than any look of late was from the next, or further than most are (dbt/looks.h). */
#define NEAR_MORE 8u
#define LOOSE_NEAR 80u
/* There are as many looks as ever for limits that are further away. */
#define LOOSE_FAR (1ul << 40)
#define LOOKS_WEIGHED 4096u
/* Where no block looked for so long, one is to. */
#define LOOK_FAR 256u
/* Unless so many ticks since the last such one found a look to be near. */
#define PROBES_NEAR 8u
/*
 * So near to a limit there are no more looks than cannot pass it, should each be as far from the next as any was of late: more of them would pass
 * it in the same places as a rule, and these would have too few samples. Further away there are none that would pass it at the pace of late. WIDE to
 * WIDEST is taken for that distance, and how soon it is forgotten.
 */
#define LOOSE_FEW 1024u
#define WIDE 16u
#define WIDEST 96u
#define WIDEST_SHIFT 9
#define WIDE_UNIT 1024u
/* So many looks make a pace; how soon the slowest pace of late is forgotten; and how many times the mean it may be. */
#define PACE_LOOKS 16u
#define PACE_SHIFT 5
#define PACE_TIMES 4
#define PACE_UNIT 16u
/* No more looks than LOOKS_FAR are reckoned with; and fewer than MORE_MIN are not worth being given by themselves. */
#define LOOKS_FAR (1ul << 20)
#define MORE_MIN 2048u
/* Looks that are further apart count as so far. */
#define APART_MAX 1024u
/*
 * Behind a limit that was passed, the next is within so many, or so many times as many as it was passed by. Up to WARY_NEAR code runs in which
 * each look stops; if it may be further away than WARY_MAX, or so many were passed, only such as cannot pass it.
 */
#define WARY_MIN 4096ul
#define WARY_TIMES 4
#define WARY_MAX 1048576ul
#define WARY_NEAR 256u
#define PASSES_MAX 4u
/* For the look behind which it was passed to come again there are so many besides; and so often the thread is led to where the limit was. */
#define AGAIN_WAIT 4096ul
#define TRIES_MAX 32u
/* Further away code made for it is cheaper than walking. */
#define WALK_MAX 50000u
/* Looks that a piece of code makes on a walk are fewer, and none is to stop. */
#define LOOKS_WALKED 1024u

/* By CPU_WANT_LOOSE code: the instruction that reached it is done, even if none came after it. */
static bool is_passed(struct cpu *cpu, enum cell c)
{
	return cpu_own_count(cpu, c) >= cpu->limit[c];
}

bool cpu_limit_passed(struct cpu *cpu)
{
	if (!(cpu->near & CPU_WANT_LOOSE))
		return false;
	for (u32 todo = cpu->limited; todo; todo &= todo - 1)
		if (is_passed(cpu, (enum cell)__builtin_ctz(todo)))
			return true;
	return false;
}

bool cpu_walks(const struct cpu *cpu)
{
	return cpu->movable && cpu->limited == 1u << CELL_INSTRUCTIONS;
}

void cpu_walk_no_more(struct cpu *cpu)
{
	cpu->tired = cpu->limits_stale = 1;
}

/* ---- looks ---- */

void loose_clear(struct cpu *cpu)
{
	cpu_bank(cpu)->looks = 2 * -CPU_LOOK;
	cpu->looks_given = 2;
	cpu->looks_more = cpu->looked = cpu->looked_by = 0;
	cpu->probe = cpu->probing = cpu->probed_far = cpu->look_at = cpu->look_behind = 0;
	cpu->walking = cpu->tired = 0;
	cpu->again = cpu->again_vain = cpu->seeking = 0;
	for (enum cell c = 0; c < CELL_NR; c++) {
		cpu->advanced[c] = cpu->slowest[c] = cpu->looked_at[c] = 0;
		cpu->widest[c] = WIDEST * WIDE_UNIT;
	}
}

/* Fewer, if a look took back what cpu_probe() did. */
static u64 looks_made(const struct cpu *cpu)
{
	s64 made = (s64)cpu->looks_given + (cpu_bank(cpu)->looks >> CPU_LOOK_SHIFT);

	return made > 0 ? (u64)made : 0;
}

/* The blocks of so many more looks can be counted in cpu_bank(cpu)->looks, besides those that are. */
static u64 room(const struct cpu *cpu)
{
	const struct bank *bank = cpu_bank(cpu);

	return MIN((CPU_LOOK_BRANCH - 1 - bank_looked(bank, CELL_INSTRUCTIONS)) / N, CPU_LOOK / CPU_LOOK_BRANCH - 1 - bank_looked(bank, CELL_BRANCHES));
}

/* So many may be made from now on; the last one stops. */
static void allow_looks(struct cpu *cpu, u64 looks)
{
	u64 n = MIN(looks, CPU_LOOKS_MAX);
	s64 counted = cpu_bank(cpu)->looks & (CPU_LOOK - 1);

	if (room(cpu) < n) {
		bank_change_begin(cpu);
		for (enum cell c = CELL_INSTRUCTIONS; c <= CELL_BRANCHES; c++)
			__atomic_store_n(&cpu_bank(cpu)->cell[c], cpu_bank(cpu)->cell[c] + bank_looked(cpu_bank(cpu), c), __ATOMIC_RELAXED);
		counted = 0;
	}
	__atomic_store_n(&cpu_bank(cpu)->looks, (s64)n * -CPU_LOOK + counted, __ATOMIC_RELAXED);
	cpu->looks_given = n;
	cpu->looks_more = looks - n;
	cpu->summed = 0;
}

/* Those that were allowed are made, and others are to be before anything is worth adding up: as many of these as there is room for. */
static bool allow_more(struct cpu *cpu)
{
	u64 n = MIN(room(cpu), cpu->looks_more);

	if (n < MORE_MIN)
		return false;
	__atomic_store_n(&cpu_bank(cpu)->looks, (s64)n * -CPU_LOOK + (cpu_bank(cpu)->looks & (CPU_LOOK - 1)), __ATOMIC_RELAXED);
	cpu->looks_given += n;
	cpu->looks_more -= n;
	cpu->summed = 0;
	return true;
}

/* By how much one look advances c, at most. */
static u64 widest(const struct cpu *cpu, enum cell c)
{
	return MAX(cpu->widest[c] / WIDE_UNIT, WIDE);
}

/* CPU_WANT_LOOSE code runs up to here. */
static u64 near(const struct cpu *cpu, enum cell c)
{
	return MIN(widest(cpu, c) + NEAR_MORE, LOOSE_NEAR);
}

/* How many looks the next part of what is left is good for: at the pace of late, and at the slowest. */
static u64 looks_for(const struct cpu *cpu, enum cell c, u64 left)
{
	u64 part = (MIN(left, LOOSE_FAR) - LOOSE_NEAR / 2) / 2, looks, wide = widest(cpu, c);

	if (left < LOOSE_NEAR + 2 * wide)
		return 0;
	looks = MIN(part * cpu->looked / (cpu->advanced[c] + 1), part * PACE_UNIT / (cpu->slowest[c] + 1));
	return left < LOOSE_FEW ? MIN(looks, (left - LOOSE_NEAR) / wide - 1) : looks;
}

/* `looks` advanced c by so many. A stretch in which nobody looked for long is not to make the thread stop at each look for long. */
static void note_pace(struct cpu *cpu, enum cell c, u64 looks, u64 by)
{
	u64 mean;

	if (looks < PACE_LOOKS) {
		cpu->slowest[c] -= cpu->slowest[c] >> WIDEST_SHIFT;
		return;
	}
	mean = cpu->advanced[c] * PACE_UNIT / (cpu->looked + 1);
	cpu->slowest[c] -= cpu->slowest[c] >> PACE_SHIFT;
	cpu->slowest[c] = MAX(cpu->slowest[c], MIN(by * PACE_UNIT / looks, PACE_TIMES * mean));
}

/* Code that looks is slower, so it takes more than one rare way to ask for it. */
static void note_probe(struct cpu *cpu, bool far)
{
	if (!far) {
		cpu->probed_far -= !!cpu->probed_far;
		return;
	}
	cpu->probed_far += PROBES_NEAR;
	if (cpu->probed_far > PROBES_NEAR)
		cpu->look_at = cpu->probe;
}

/*
 * Adds the looks since the last stop, and how far the cells advanced meanwhile, to averages in which the last LOOKS_WEIGHED weigh most. If this
 * was the first look after cpu->probe and is far from it, code there is to look.
 */
static void add_looked(struct cpu *cpu)
{
	u64 looks = looks_made(cpu);
	bool far = false;

	cpu->looked += looks;
	for (u32 todo = cpu->limited; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);
		s64 moved = (s64)(cpu_own_count(cpu, c) - cpu->looked_at[c]);
		/* With what is left of a block that was counted then, it may be less. */
		u64 by = moved > 0 ? MIN((u64)moved, (looks + 1) * APART_MAX) : 0;

		far |= by > LOOK_FAR;
		if (looks == 1)
			cpu->widest[c] = MAX(MIN(by, WIDEST) * WIDE_UNIT, cpu->widest[c] - (cpu->widest[c] >> WIDEST_SHIFT));
		note_pace(cpu, c, looks, by);
		cpu->advanced[c] += by;
		if (cpu->looked > LOOKS_WEIGHED)
			cpu->advanced[c] /= 2;
	}
	if (cpu->looked > LOOKS_WEIGHED)
		cpu->looked /= 2;
	if (cpu->probing && cpu_bank(cpu)->looks >= 0)
		note_probe(cpu, far);
}

/* inside: by a look whose block is counted. */
static void note_counts(struct cpu *cpu, bool inside)
{
	cpu->looked_by = cpu_bank(cpu)->looks >= 0 ? cpu->look_id : 0;
	cpu->looked_inside = inside;
	for (u32 todo = cpu->limited; todo; todo &= todo - 1)
		cpu->looked_at[__builtin_ctz(todo)] = cpu_own_count(cpu, (enum cell)__builtin_ctz(todo));
}

/* How many looks there are to be before the next stop: so many that even if they are further apart than of late the limit is hardly passed. */
void loose_begin(struct cpu *cpu, bool inside)
{
	u64 most = LOOKS_FAR;

	note_counts(cpu, inside);
	for (u32 todo = cpu->limited; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		most = MIN(most, looks_for(cpu, c, bank_left(cpu, c)));
	}
	if (cpu->strict)
		most = 0;
	if (cpu->walking)
		most = CPU_LOOKS_MAX - 1;
	if (cpu->probing)
		cpu->probe = cpu->probing = 0;
	if (cpu->probe && !cpu->walking) {
		cpu->probing = 1;
		most = 0;
	}
	allow_looks(cpu, most + 1);
}

/* ---- limits that were passed ---- */

/* A place below n that has nothing to do with the code at hand. */
static u64 anywhere(u64 count, u64 n)
{
	return (u64)((__uint128_t)(count * 0x9e3779b97f4a7c15) * n >> 64);
}

/*
 * The limit of c was passed behind a look, before there was another: as far behind that look as the limit was, the sample is due when that look
 * comes again and no other before that place.
 */
static void wait_for_look(struct cpu *cpu, enum cell c)
{
	cpu->again = cpu->looked_by;
	cpu->again_cell = c;
	cpu->again_left = cpu->limit[c] - cpu->looked_at[c];
	cpu->again_inside = cpu->looked_inside;
	cpu->again_skip = 0;
}

/* The look that is waited for has come, and stopped. */
static bool looks_again(const struct cpu *cpu)
{
	return cpu->again && !cpu->seeking && cpu_bank(cpu)->looks >= 0 && cpu->look_id == cpu->again;
}

/* As looks_again(), but that it was vain so often: a look in a loop may come many times before the one that leads out. */
static bool seeks(struct cpu *cpu)
{
	if (!looks_again(cpu) || cpu->tries == TRIES_MAX)
		return false;
	if (!cpu->again_skip)
		return true;
	cpu->again_skip--;
	return false;
}

static void seek(struct cpu *cpu)
{
	enum cell c = (enum cell)cpu->again_cell;

	cpu->again_else = cpu->limit[c];
	bank_set_limit(cpu, c, cpu->again_left);
	cpu->strict = CPU_LOST;
	cpu->seeking = 1;
	cpu->tries++;
}

/*
 * A limit was passed unseen, and the blocks that look are not to have what belongs to others. It is looked for in the same place the next time.
 * Should that not come, or not be known, the next limit is anywhere within several times as much as was passed.
 */
static void move_on(struct cpu *cpu)
{
	for (u32 todo = cpu->limited; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);
		u64 count = cpu_own_count(cpu, c), within;

		if (!is_passed(cpu, c))
			continue;
		within = MAX(WARY_MIN, WARY_TIMES * (count - cpu->limit[c]));
		cpu->strict = ++cpu->passes > PASSES_MAX || within > WARY_MAX ? CPU_STRICT : CPU_WARY;
		within = 1 + anywhere(count, within);
		cpu->again = cpu->seeking = 0;
		if (cpu->strict == CPU_WARY && cpu->looks_given == 1 && cpu->looked_by) {
			wait_for_look(cpu, c);
			within += AGAIN_WAIT;
		}
		bank_set_limit(cpu, c, within);
	}
}

void loose_end(struct cpu *cpu)
{
	if (!cpu->walking)
		add_looked(cpu);
	if (looks_again(cpu) && !cpu->again_skip && cpu->tries < TRIES_MAX)
		seek(cpu);
	move_on(cpu);
}

/* ---- */

bool loose_may_run(struct cpu *cpu)
{
	if (cpu->strict > CPU_WARY)
		return false;
	for (u32 todo = cpu->limited; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		if (bank_left(cpu, c) < (cpu->strict ? WARY_NEAR : near(cpu, c)))
			return false;
	}
	return true;
}

/* Walking to the limit is cheaper than making code for it. */
bool loose_walks(struct cpu *cpu)
{
	return cpu->can_walk && !cpu->tired && cpu_walks(cpu) && bank_left(cpu, CELL_INSTRUCTIONS) < WALK_MAX;
}

void cpu_probe(struct cpu *cpu, u64 pc)
{
	cpu->summed = 0;
	add_looked(cpu);
	note_counts(cpu, false);
	cpu->looked_by = 0;
	cpu->summed = 0;
	cpu->probe = pc;
	cpu->probing = 1;
	cpu->looks_given = 1;
	cpu->looks_more = 0;
	__atomic_fetch_or(&cpu_bank(cpu)->looks, -CPU_LOOK, __ATOMIC_RELAXED);
}

bool cpu_look_on(struct cpu *cpu)
{
	if (cpu->limits_new || cpu->probe || cpu->walking)
		return false;
	if (allow_more(cpu))
		return true;
	if (seeks(cpu)) {
		if (cpu->again_inside)
			seek(cpu);
		return false;
	}
	if (!loose_may_run(cpu))
		return false;
	add_looked(cpu);
	loose_begin(cpu, true);
	bank_change_end(cpu);
	return true;
}

bool cpu_walks_astray(struct cpu *cpu)
{
	if (!cpu->seeking || !looks_made(cpu))
		return false;
	cpu->limit[cpu->again_cell] = cpu->again_else;
	cpu->strict = CPU_WARY;
	if (cpu->tries == TRIES_MAX) {
		if (cpu->again_vain == cpu->again)
			cpu->look_behind = cpu->again;
		cpu->again_vain = cpu->again;
	}
	cpu->again_skip = anywhere(cpu_own_count(cpu, CELL_INSTRUCTIONS), 1ul << cpu->tries / 4);
	cpu->seeking = 0;
	cpu->limits_stale = 1;
	return true;
}

u64 cpu_walk_left(struct cpu *cpu)
{
	if (cpu_bank(cpu)->looks > (s64)LOOKS_WALKED * -CPU_LOOK) {
		allow_looks(cpu, CPU_LOOKS_MAX);
		bank_change_end(cpu);
	}
	return bank_left(cpu, CELL_INSTRUCTIONS);
}
