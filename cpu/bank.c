/* See cpu/bank.h. */
#include "cpu/bank.h"

#define N CPU_BLOCK_INSNS

/* Words without a limit: the top byte of a word that is not used up is 0xff. */
#define UNLIMITED (1ul << 55)
/* No more is shared out at a time. */
#define FAR (1ul << 40)
/* Countdowns begin here: shorter means more quotas, longer more code in the variants for it. Enough that every word may have a quota of 2. */
#define NEAR 2200u
_Static_assert((NEAR - 2 * N) / 2 > N * (N + 1), "set_quotas()");
/* Limits that are further apart are rare. */
#define RARE 50000u
/* cell TAKEN's word is used up so much early, and counted exactly from twice as much on. */
#define TAKEN_MARGIN 32u
/* use[][] amounts to at most 2^USE_BITS instructions. */
#define USE_BITS 20
#define RATIO_BITS 20
/* CPU_WANT_LOOSE code runs up to here: a few times the distance of the blocks that look at limits. */
#define LOOSE_NEAR 80u
#define LOOKS_WEIGHED 4096u
/* Where no block looked for so long, one is to. */
#define LOOK_FAR 256u
/* So near to a limit each look stops, or twice as near as looks of late were apart at most; and how soon that is forgotten. */
#define LOOSE_FEW 1024u
#define WIDE 32u
#define WIDE_PART 2u
#define WIDE_UNIT 1024u
#define WIDEST 192u
#define WIDEST_SHIFT 9
/* So many looks make a pace; how soon the slowest pace of late is forgotten; and how many times the mean it may be. */
#define PACE_LOOKS 16u
#define PACE_SHIFT 5
#define PACE_TIMES 4
#define PACE_UNIT 16u
/*
 * Behind a limit that was passed, the next is within so many, or so many times as many as it was passed by. Up to WARY_NEAR code runs in which
 * each look stops; if it may be further away than WARY_MAX, or so many were passed, only such as cannot pass it.
 */
#define WARY_MIN 8192ul
#define WARY_TIMES 4
#define WARY_MAX 1048576ul
#define WARY_NEAR 256u
#define PASSES_MAX 4u
/* For the look behind which it was passed to come again there are so many besides; and so often the thread is led to where the limit was. */
#define AGAIN_WAIT 8192ul
#define TRIES_MAX 32u
/* Further away code made for it is cheaper than walking. */
#define WALK_MAX 50000u
/* Looks that a piece of code makes on a walk are fewer, and none is to stop. */
#define LOOKS_WALKED 1024u

void cpu_clear_bank(struct cpu *cpu)
{
	for (u32 n = 0; n < N; n++)
		for (u32 row = 0; row < 2; row++)
			cpu->blocks[row][n] = cpu->quota[row][n] = cpu->use[row][n] = 0;
	for (enum cell c = 0; c < CELL_NR; c++) {
		cpu->cell[c] = cpu->bias[c] = 0;
		cpu->limit[c] = CPU_NO_LIMIT;
	}
	cpu->seq = cpu->near = cpu->summed = cpu->limited = cpu->running_up = cpu->fine = cpu->movable = cpu->rare = cpu->strict = 0;
	cpu->looks = 2 * -CPU_LOOK;
	cpu->looks_given = 2;
	cpu->looked = 0;
	cpu->probe = cpu->probing = cpu->look_at = cpu->look_behind = 0;
	cpu->walking = cpu->tired = 0;
	cpu->again = cpu->seeking = cpu->looked_by = 0;
	for (enum cell c = 0; c < CELL_NR; c++)
		cpu->advanced[c] = cpu->slowest[c] = cpu->widest[c] = cpu->looked_at[c] = 0;
	cpu->limits_stale = 1;
}

static u64 load(const u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(u64 *word, u64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* What the blocks that looked amount to. */
static u64 sum_of_looks(const struct cpu *cpu, enum cell c)
{
	u64 looks = (u64)__atomic_load_n(&cpu->looks, __ATOMIC_RELAXED) & (CPU_LOOK - 1);

	return c == CELL_BRANCHES ? looks / CPU_LOOK_BRANCH : looks % CPU_LOOK_BRANCH;
}

static u64 sum_of(const struct cpu *cpu, enum cell c)
{
	u64 sum = sum_of_looks(cpu, c);

	if (c == CELL_BRANCHES) {
		for (u32 n = 0; n < N; n++)
			sum += load(&cpu->blocks[0][n]);
	} else {
		for (u32 n = 0; n < N; n++)
			sum += (n + 1) * (load(&cpu->blocks[0][n]) + load(&cpu->blocks[1][n]));
	}
	return sum;
}

u64 cpu_read_cell(const struct cpu *cpu, enum cell c)
{
	u64 count;
	u32 seq;

	do {
		seq = __atomic_load_n(&cpu->seq, __ATOMIC_ACQUIRE); /* A */
		if (seq & 1) {
			count = load(&cpu->frozen[c]);
		} else {
			count = load(&cpu->cell[c]) - load(&cpu->bias[c]);
			if (c <= CELL_BRANCHES)
				count += sum_of(cpu, c);
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE); /* B */
	} while (__atomic_load_n(&cpu->seq, __ATOMIC_RELAXED) != seq);
	return count;
}

/* The countdown of c is in force and right. */
static bool counts_down(const struct cpu *cpu, enum cell c)
{
	return (cpu->near & CPU_WANT_COUNTDOWN << c) && !cpu->limits_stale;
}

/* As sum_of() both, by the owner: each word is added as often as it has instructions. */
static void sum_up(struct cpu *cpu)
{
	u64 insns = sum_of_looks(cpu, CELL_INSTRUCTIONS), branches = sum_of_looks(cpu, CELL_BRANCHES), longer = 0;

	for (u32 n = N; n-- > 0;) {
		longer += cpu->blocks[0][n] + cpu->blocks[1][n];
		insns += longer;
		branches += cpu->blocks[0][n];
	}
	cpu->sum[CELL_INSTRUCTIONS] = insns;
	cpu->sum[CELL_BRANCHES] = branches;
	cpu->summed = 1;
}

static u64 add_up(struct cpu *cpu, enum cell c)
{
	if (!cpu->summed)
		sum_up(cpu);
	return cpu->cell[c] - cpu->bias[c] + cpu->sum[c];
}

u64 cpu_own_count(struct cpu *cpu, enum cell c)
{
	if (c > CELL_BRANCHES)
		return cpu->cell[c] - cpu->bias[c];
	if (counts_down(cpu, c))
		return cpu->limit[c] + (u64)cpu->countdown[c];
	return add_up(cpu, c);
}

static u64 left_of(struct cpu *cpu, enum cell c)
{
	u64 count;

	if (!(cpu->limited >> c & 1))
		return CPU_NO_LIMIT;
	count = cpu_own_count(cpu, c);
	return cpu->limit[c] > count ? cpu->limit[c] - count : 0;
}

static void clear_limit(struct cpu *cpu, enum cell c)
{
	if (c <= CELL_BRANCHES)
		cpu->near &= ~(CPU_WANT_COUNTDOWN << c);
	cpu->limit[c] = CPU_NO_LIMIT;
}

static void set_limit(struct cpu *cpu, enum cell c, u64 left)
{
	cpu->limit[c] = cpu_own_count(cpu, c) + left;
	if (c <= CELL_BRANCHES)
		cpu->countdown[c] = -(s64)left;
}

void cpu_set_limits(struct cpu *cpu, u32 limited, bool movable, const u64 left[CELL_NR])
{
	bool rare = limited;

	for (u32 gone = cpu->limited & ~limited; gone; gone &= gone - 1)
		clear_limit(cpu, (enum cell)__builtin_ctz(gone));
	for (u32 todo = limited; todo; todo &= todo - 1)
		set_limit(cpu, (enum cell)__builtin_ctz(todo), left[__builtin_ctz(todo)]);
	for (u32 todo = limited; todo; todo &= todo - 1)
		rare &= left[__builtin_ctz(todo)] >= RARE;
	cpu->limited = limited;
	cpu->movable = movable;
	cpu->rare = rare;
	cpu->strict = cpu->tired = 0;
	cpu->again = cpu->seeking = cpu->passes = cpu->tries = 0;
	cpu->near &= ~CPU_WANT_LOOSE; /* none of these is passed yet */
	cpu->limits_new = 1;
}

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

bool cpu_limit_reached(struct cpu *cpu)
{
	if (cpu->near & CPU_WANT_LOOSE)
		return false;
	for (u32 todo = cpu->limited; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		if (cpu_own_count(cpu, c) >= cpu->limit[c])
			return true;
	}
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

bool cpu_limit_is_next(const struct cpu *cpu)
{
	return counts_down(cpu, CELL_INSTRUCTIONS) && cpu->countdown[CELL_INSTRUCTIONS] >= -1;
}

bool cpu_used_up(const struct cpu *cpu)
{
	for (u32 n = 0; n < N; n++)
		if ((s64)(cpu->blocks[0][n] & cpu->blocks[1][n]) >= 0)
			return true;
	return false;
}

void cpu_count_besides(struct cpu *cpu, enum cell c, s64 by)
{
	store(&cpu->cell[c], cpu->cell[c] + (u64)by);
	cpu->limits_stale = 1;
}

/* ---- changing words ---- */

static void change_begin(struct cpu *cpu)
{
	if (cpu->seq & 1)
		return;
	for (enum cell c = 0; c < CELL_NR; c++)
		store(&cpu->frozen[c], cpu_own_count(cpu, c));
	__atomic_store_n(&cpu->seq, cpu->seq + 1, __ATOMIC_RELEASE); /* A */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void change_end(struct cpu *cpu)
{
	if (cpu->seq & 1)
		__atomic_store_n(&cpu->seq, cpu->seq + 1, __ATOMIC_RELEASE); /* B */
}

static void set_cell(struct cpu *cpu, enum cell c, u64 left)
{
	u64 word = -MIN(left, UNLIMITED), by = word - cpu->cell[c];

	if (left < UNLIMITED)
		cpu->running_up |= 1u << c;
	else
		cpu->running_up &= ~(1u << c);
	if (!by || (left >= UNLIMITED && -cpu->cell[c] > UNLIMITED / 2 && -cpu->cell[c] <= UNLIMITED))
		return;
	change_begin(cpu);
	store(&cpu->cell[c], word);
	store(&cpu->bias[c], cpu->bias[c] + by);
}

/*
 * Adds what has run since the last quotas to cpu->use, in which the last 2^USE_BITS instructions or so weigh most and no kind of block that
 * ever ran is forgotten. Returns the sum of instructions, *branches that of branches.
 */
static u64 renew_use(struct cpu *cpu, u64 *branches)
{
	u64 insns = 0, sum = 0, round;
	u32 shift = 0;

	for (u32 n = 0; n < N; n++)
		for (u32 row = 0; row < 2; row++) {
			cpu->use[row][n] += cpu->blocks[row][n] + cpu->quota[row][n];
			sum += (n + 1) * cpu->use[row][n];
		}
	if (sum >> USE_BITS)
		shift = 64 - USE_BITS - (u32)__builtin_clzl(sum);
	round = (1ul << shift) - 1;
	*branches = 0;
	for (u32 n = 0; n < N; n++)
		for (u32 row = 0; row < 2; row++) {
			cpu->use[row][n] = (cpu->use[row][n] + round) >> shift;
			insns += (n + 1) * cpu->use[row][n];
			*branches += row ? 0 : cpu->use[row][n];
		}
	return insns;
}

/* How many times `use` goes into what there is, with RATIO_BITS of a fraction. */
static u64 times(u64 may, u64 use)
{
	return use ? (may << RATIO_BITS) / use : (FAR << RATIO_BITS);
}

static void set_quota(struct cpu *cpu, u32 row, u32 n, u64 quota)
{
	u64 by = -quota - cpu->blocks[row][n];

	cpu->quota[row][n] = quota;
	store(&cpu->blocks[row][n], -quota);
	store(&cpu->bias[CELL_INSTRUCTIONS], cpu->bias[CELL_INSTRUCTIONS] + (n + 1) * by);
	if (!row)
		store(&cpu->bias[CELL_BRANCHES], cpu->bias[CELL_BRANCHES] + by);
}

/* How far the number of blocks of one kind may be from what is expected, so that few words are used up early: about twice its root. */
static u64 margin(u64 use, u64 ratio, u32 shift)
{
	u64 expected = use * ratio >> RATIO_BITS;
	u32 bits = expected ? 64 - (u32)__builtin_clzl(expected) : 0;

	return use ? MAX(1, (2 + (2ul << bits / 2)) >> shift) : 0;
}

/* The margins of all words together; false: they would be more than half of what there is. */
static bool sum_margins(const struct cpu *cpu, u64 ratio, u32 shift, u64 may[2], u64 sum[2])
{
	sum[0] = sum[1] = 0;
	for (u32 n = 0; n < N; n++) {
		u64 with = margin(cpu->use[0][n], ratio, shift), without = margin(cpu->use[1][n], ratio, shift);

		sum[CELL_INSTRUCTIONS] += (n + 1) * (with + without);
		sum[CELL_BRANCHES] += with;
	}
	return sum[0] <= may[0] / 2 && sum[1] <= may[1] / 2;
}

/* Shares out what is left of instructions and branches as blocks were used of late. */
static void set_quotas(struct cpu *cpu, u64 left, u64 left_branches)
{
	u64 may[2] = {MIN(left, FAR) - 2 * N, MIN(left_branches, FAR) - N}, sum[2], branches, insns, guess, ratio;
	u32 shift = 0;

	insns = renew_use(cpu, &branches);
	guess = MIN(times(may[0], insns), times(may[1], branches));
	while (!sum_margins(cpu, guess, shift, may, sum))
		shift++;
	ratio = MIN(times(may[0] - sum[0], insns), times(may[1] - sum[1], branches));
	for (u32 n = 0; n < N; n++)
		for (u32 row = 0; row < 2; row++) {
			u64 use = cpu->use[row][n];

			set_quota(cpu, row, n, 1 + margin(use, guess, shift) + (use * ratio >> RATIO_BITS));
		}
}

static void set_no_quotas(struct cpu *cpu)
{
	for (u32 n = 0; n < N; n++)
		for (u32 row = 0; row < 2; row++)
			set_quota(cpu, row, n, UNLIMITED);
}

static void renew_quotas(struct cpu *cpu, u64 left, u64 left_branches)
{
	bool none = left == CPU_NO_LIMIT && left_branches == CPU_NO_LIMIT;

	if (none && cpu->quota[0][0] == UNLIMITED)
		return;
	change_begin(cpu);
	if (none)
		set_no_quotas(cpu);
	else
		set_quotas(cpu, left, left_branches);
	cpu->summed = 0;
}

/* What is left of c for the quotas to share out: nothing if it is so near that it is counted down. */
static u64 count_down(struct cpu *cpu, enum cell c, u64 left, u32 *near)
{
	if (*near & CPU_WANT_LOOSE)
		return CPU_NO_LIMIT;
	if (left >= NEAR)
		return left;
	cpu->countdown[c] = (s64)(cpu_own_count(cpu, c) - cpu->limit[c]);
	*near |= CPU_WANT_COUNTDOWN << c;
	return CPU_NO_LIMIT;
}

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
	return cpu->again && !cpu->seeking && cpu->looks >= 0 && cpu->look_id == cpu->again;
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
	set_limit(cpu, c, cpu->again_left);
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
		set_limit(cpu, c, within);
	}
}

/* All limits are so far away, and `more` besides, that code which looks may run. */
static bool all_far(struct cpu *cpu, u64 more)
{
	if (cpu->strict > CPU_WARY)
		return false;
	more += cpu->strict ? WARY_NEAR : LOOSE_NEAR;
	for (u32 todo = cpu->limited; todo; todo &= todo - 1)
		if (left_of(cpu, (enum cell)__builtin_ctz(todo)) < more)
			return false;
	return true;
}

/* Walking to the limit is cheaper than making code for it. */
static bool is_walk(struct cpu *cpu)
{
	return cpu->can_walk && !cpu->tired && cpu_walks(cpu) && left_of(cpu, CELL_INSTRUCTIONS) < WALK_MAX;
}

/* Cells with words of their own. If nothing but limits changed, words without one are as they were. */
static void renew_cells(struct cpu *cpu, u32 *near)
{
	u32 todo = cpu->limits_stale ? (1u << CELL_NR) - 1 : cpu->limited | cpu->running_up;

	for (todo &= ~(1u << CELL_INSTRUCTIONS | 1u << CELL_BRANCHES); todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);
		u64 left = left_of(cpu, c);

		if (c == CELL_TAKEN && left < 2 * TAKEN_MARGIN)
			*near |= CPU_WANT_EXPECT_TAKEN;
		else if (c == CELL_TAKEN && left != CPU_NO_LIMIT)
			left -= TAKEN_MARGIN;
		set_cell(cpu, c, *near & CPU_WANT_LOOSE ? CPU_NO_LIMIT : left);
	}
}

/* ---- looks ---- */

/* Fewer, if a look took back what cpu_probe() did. */
static u64 looks_made(const struct cpu *cpu)
{
	s64 made = (s64)cpu->looks_given + (cpu->looks >> CPU_LOOK_SHIFT);

	return made > 0 ? (u64)made : 0;
}

/* So many may be made from now on; the last one stops. */
static void allow_looks(struct cpu *cpu, u64 n)
{
	change_begin(cpu);
	for (enum cell c = CELL_INSTRUCTIONS; c <= CELL_BRANCHES; c++)
		store(&cpu->cell[c], cpu->cell[c] + sum_of_looks(cpu, c));
	__atomic_store_n(&cpu->looks, (s64)n * -CPU_LOOK, __ATOMIC_RELAXED);
	cpu->looks_given = n;
	cpu->summed = 0;
}

/* How many looks the next part of what is left is good for: at the pace of late, and at the slowest. */
static u64 looks_for(const struct cpu *cpu, enum cell c, u64 left)
{
	u64 part = (MIN(left, FAR) - LOOSE_NEAR / 2) / 2, looks, wide = MAX(cpu->widest[c] / WIDE_UNIT, WIDE);

	if (left < LOOSE_NEAR + 2 * wide)
		return 0;
	looks = MIN(part * cpu->looked / (cpu->advanced[c] + 1), part * PACE_UNIT / (cpu->slowest[c] + 1));
	return left < LOOSE_FEW ? MIN(looks, (left - LOOSE_NEAR) * WIDE_PART / 2 / wide - 1) : looks;
}

/* `looks` advanced c by so many. A stretch in which nobody looked for long is not to make the thread stop at each look for long. */
static void note_pace(struct cpu *cpu, enum cell c, u64 looks, u64 by)
{
	u64 mean = cpu->advanced[c] * PACE_UNIT / (cpu->looked + 1);

	cpu->slowest[c] -= cpu->slowest[c] >> PACE_SHIFT;
	cpu->slowest[c] = MAX(cpu->slowest[c], MIN(by * PACE_UNIT / looks, PACE_TIMES * mean));
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
		u64 by = moved > 0 ? (u64)moved : 0; /* with what is left of a block that was counted then, it may be less */

		far |= by > LOOK_FAR;
		if (looks == 1)
			cpu->widest[c] = MAX(MIN(by, WIDEST) * WIDE_UNIT, cpu->widest[c] - (cpu->widest[c] >> WIDEST_SHIFT));
		if (looks >= PACE_LOOKS)
			note_pace(cpu, c, looks, by);
		cpu->advanced[c] += by;
		if (cpu->looked > LOOKS_WEIGHED)
			cpu->advanced[c] /= 2;
	}
	if (cpu->looked > LOOKS_WEIGHED)
		cpu->looked /= 2;
	if (cpu->probing && cpu->looks >= 0 && far)
		cpu->look_at = cpu->probe;
}

/* inside: by a look whose block is counted. */
static void note_counts(struct cpu *cpu, bool inside)
{
	cpu->looked_by = cpu->looks >= 0 ? cpu->look_id : 0;
	cpu->looked_inside = inside;
	for (u32 todo = cpu->limited; todo; todo &= todo - 1)
		cpu->looked_at[__builtin_ctz(todo)] = cpu_own_count(cpu, (enum cell)__builtin_ctz(todo));
}

/* How many looks there are to be before the next stop: so many that even if they are further apart than of late the limit is hardly passed. */
static void set_looks(struct cpu *cpu, bool inside)
{
	u64 most = CPU_LOOKS_MAX - 1;

	note_counts(cpu, inside);
	for (u32 todo = cpu->limited; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		most = MIN(most, looks_for(cpu, c, left_of(cpu, c)));
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

void cpu_renew_limits(struct cpu *cpu)
{
	u64 left[2];
	u32 near = 0;

	if (cpu->near & CPU_WANT_LOOSE) {
		add_looked(cpu);
		if (looks_again(cpu) && !cpu->again_skip && cpu->tries < TRIES_MAX)
			seek(cpu);
		move_on(cpu);
	}
	cpu->walking = 0;
	if (cpu->movable && all_far(cpu, 0))
		near |= CPU_WANT_LOOSE;
	else
		cpu->walking = is_walk(cpu);
	if (cpu->walking)
		near |= CPU_WANT_LOOSE;
	for (enum cell c = CELL_INSTRUCTIONS; c <= CELL_BRANCHES; c++)
		left[c] = count_down(cpu, c, left_of(cpu, c), &near);
	renew_quotas(cpu, left[CELL_INSTRUCTIONS], left[CELL_BRANCHES]);
	renew_cells(cpu, &near);
	if (near & CPU_WANT_LOOSE)
		set_looks(cpu, false);
	change_end(cpu);
	if (cpu->rare && (cpu->movable || (near & CPU_WANT_NEAR)) && !(near & CPU_WANT_LOOSE))
		near |= CPU_WANT_RARE;
	cpu->near = near;
	cpu->limits_stale = cpu->limits_new = 0;
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
	__atomic_fetch_or(&cpu->looks, -CPU_LOOK, __ATOMIC_RELAXED);
}

bool cpu_look_on(struct cpu *cpu)
{
	if (cpu->limits_new || cpu->probe || cpu->walking)
		return false;
	if (seeks(cpu)) {
		if (cpu->again_inside)
			seek(cpu);
		return false;
	}
	if (!all_far(cpu, N))
		return false;
	add_looked(cpu);
	set_looks(cpu, true);
	change_end(cpu);
	return true;
}

bool cpu_walks_astray(struct cpu *cpu)
{
	if (!cpu->seeking || !looks_made(cpu))
		return false;
	cpu->limit[cpu->again_cell] = cpu->again_else;
	cpu->strict = CPU_WARY;
	if (cpu->tries == TRIES_MAX)
		cpu->look_behind = cpu->again;
	cpu->again_skip = anywhere(cpu_own_count(cpu, CELL_INSTRUCTIONS), 1ul << cpu->tries / 4);
	cpu->seeking = 0;
	cpu->limits_stale = 1;
	return true;
}

u64 cpu_walk_left(struct cpu *cpu)
{
	if (cpu->looks > (s64)LOOKS_WALKED * -CPU_LOOK) {
		allow_looks(cpu, CPU_LOOKS_MAX);
		change_end(cpu);
	}
	return left_of(cpu, CELL_INSTRUCTIONS);
}
