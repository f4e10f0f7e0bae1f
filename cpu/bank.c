/* See cpu/bank.h. */
#include "cpu/bank.h"
#include "cpu/loose.h"
#include "rt/string.h"

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

/* So often a reader looks at a bank that changes all the time, which none does that its owner writes. */
#define READS 100000u

static u64 load(const u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(u64 *word, u64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static u64 sum_of(const struct bank *bank, enum cell c)
{
	u64 sum = bank_looked(bank, c);

	if (c == CELL_BRANCHES) {
		for (u32 n = 0; n < N; n++)
			sum += load(&bank->blocks[0][n]);
	} else {
		for (u32 n = 0; n < N; n++)
			sum += (n + 1) * (load(&bank->blocks[0][n]) + load(&bank->blocks[1][n]));
	}
	return sum;
}

u64 cpu_read_cell(const struct bank *bank, enum cell c)
{
	u32 seq, reads = 0;
	u64 count;

	do {
		seq = __atomic_load_n(&bank->seq, __ATOMIC_ACQUIRE); /* A */
		if (seq & 1) {
			count = load(&bank->frozen[c]);
		} else {
			count = load(&bank->cell[c]) - load(&bank->bias[c]);
			if (c <= CELL_BRANCHES)
				count += sum_of(bank, c);
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE); /* B */
	} while (__atomic_load_n(&bank->seq, __ATOMIC_RELAXED) != seq && reads++ < READS);
	return count;
}

u64 cpu_show_cell(struct bank *bank, enum cell c)
{
	bool inside = __atomic_load_n(&bank->inside, __ATOMIC_ACQUIRE);
	u64 count = cpu_read_cell(bank, c), shown = load(&bank->shown[c]);

	if (inside && count <= shown)
		return shown;
	store(&bank->shown[c], count);
	return count;
}

/* Nothing is known of how the thread's code advances them. */
static void forget_limits(struct cpu *cpu)
{
	for (u32 n = 0; n < N; n++)
		for (u32 row = 0; row < 2; row++)
			cpu->quota[row][n] = cpu->use[row][n] = 0;
	for (enum cell c = 0; c < CELL_NR; c++)
		cpu->limit[c] = CPU_NO_LIMIT;
	cpu->near = cpu->summed = cpu->limited = cpu->running_up = cpu->fine = cpu->movable = cpu->rare = cpu->strict = 0;
	loose_clear(cpu);
	cpu->limits_stale = 1;
}

void cpu_take_bank(struct cpu *cpu)
{
	struct bank *bank = cpu_bank(cpu);
	u64 count[CELL_NR];

	for (enum cell c = 0; c < CELL_NR; c++)
		count[c] = cpu_read_cell(bank, c);
	for (enum cell c = 0; c < CELL_NR; c++)
		store(&bank->frozen[c], count[c]);
	__atomic_store_n(&bank->seq, bank->seq | 1, __ATOMIC_RELEASE); /* A */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (enum cell c = 0; c < CELL_NR; c++) {
		store(&bank->cell[c], count[c]);
		store(&bank->bias[c], 0);
	}
	for (u32 n = 0; n < N; n++)
		for (u32 row = 0; row < 2; row++)
			store(&bank->blocks[row][n], 0);
	forget_limits(cpu);
	__atomic_store_n(&bank->inside, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&bank->seq, (bank->seq | 1) + 1, __ATOMIC_RELEASE); /* B */
}

void cpu_clear_bank(struct cpu *cpu)
{
	memset(cpu_bank(cpu), 0, sizeof(struct bank));
	forget_limits(cpu);
}

/* The countdown of c is in force and right. */
static bool counts_down(const struct cpu *cpu, enum cell c)
{
	return (cpu->near & CPU_WANT_COUNTDOWN << c) && !cpu->limits_stale;
}

/* As sum_of() both, by the owner: each word is added as often as it has instructions. */
static void sum_up(struct cpu *cpu)
{
	u64 insns = bank_looked(cpu_bank(cpu), CELL_INSTRUCTIONS), branches = bank_looked(cpu_bank(cpu), CELL_BRANCHES), longer = 0;

#pragma GCC unroll 8
	for (u32 n = N; n-- > 0;) {
		longer += cpu_bank(cpu)->blocks[0][n] + cpu_bank(cpu)->blocks[1][n];
		insns += longer;
		branches += cpu_bank(cpu)->blocks[0][n];
	}
	cpu->sum[CELL_INSTRUCTIONS] = insns;
	cpu->sum[CELL_BRANCHES] = branches;
	cpu->summed = 1;
}

static u64 add_up(struct cpu *cpu, enum cell c)
{
	if (!cpu->summed)
		sum_up(cpu);
	return cpu_bank(cpu)->cell[c] - cpu_bank(cpu)->bias[c] + cpu->sum[c];
}

u64 cpu_own_count(struct cpu *cpu, enum cell c)
{
	if (c > CELL_BRANCHES)
		return cpu_bank(cpu)->cell[c] - cpu_bank(cpu)->bias[c];
	if (counts_down(cpu, c))
		return cpu->limit[c] + (u64)cpu->countdown[c];
	return add_up(cpu, c);
}

u64 bank_left(struct cpu *cpu, enum cell c)
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

void bank_set_limit(struct cpu *cpu, enum cell c, u64 left)
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
		bank_set_limit(cpu, (enum cell)__builtin_ctz(todo), left[__builtin_ctz(todo)]);
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

bool cpu_limit_is_next(const struct cpu *cpu)
{
	return counts_down(cpu, CELL_INSTRUCTIONS) && cpu->countdown[CELL_INSTRUCTIONS] >= -1;
}

bool cpu_used_up(const struct cpu *cpu)
{
	for (u32 n = 0; n < N; n++)
		if ((s64)(cpu_bank(cpu)->blocks[0][n] & cpu_bank(cpu)->blocks[1][n]) >= 0)
			return true;
	return false;
}

void cpu_count_besides(struct cpu *cpu, enum cell c, s64 by)
{
	store(&cpu_bank(cpu)->cell[c], cpu_bank(cpu)->cell[c] + (u64)by);
	cpu->limits_stale = 1;
}

/* ---- changing words ---- */

void bank_change_begin(struct cpu *cpu)
{
	struct bank *bank = cpu_bank(cpu);

	if (bank->seq & 1)
		return;
	for (enum cell c = 0; c < CELL_NR; c++)
		store(&bank->frozen[c], cpu_own_count(cpu, c));
	__atomic_store_n(&bank->seq, bank->seq + 1, __ATOMIC_RELEASE); /* A */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void bank_change_end(struct cpu *cpu)
{
	struct bank *bank = cpu_bank(cpu);

	if (bank->seq & 1)
		__atomic_store_n(&bank->seq, bank->seq + 1, __ATOMIC_RELEASE); /* B */
}

static void set_cell(struct cpu *cpu, enum cell c, u64 left)
{
	u64 word = -MIN(left, UNLIMITED), by = word - cpu_bank(cpu)->cell[c];

	if (left < UNLIMITED)
		cpu->running_up |= 1u << c;
	else
		cpu->running_up &= ~(1u << c);
	if (!by || (left >= UNLIMITED && -cpu_bank(cpu)->cell[c] > UNLIMITED / 2 && -cpu_bank(cpu)->cell[c] <= UNLIMITED))
		return;
	bank_change_begin(cpu);
	store(&cpu_bank(cpu)->cell[c], word);
	store(&cpu_bank(cpu)->bias[c], cpu_bank(cpu)->bias[c] + by);
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
			cpu->use[row][n] += cpu_bank(cpu)->blocks[row][n] + cpu->quota[row][n];
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
	u64 by = -quota - cpu_bank(cpu)->blocks[row][n];

	cpu->quota[row][n] = quota;
	store(&cpu_bank(cpu)->blocks[row][n], -quota);
	store(&cpu_bank(cpu)->bias[CELL_INSTRUCTIONS], cpu_bank(cpu)->bias[CELL_INSTRUCTIONS] + (n + 1) * by);
	if (!row)
		store(&cpu_bank(cpu)->bias[CELL_BRANCHES], cpu_bank(cpu)->bias[CELL_BRANCHES] + by);
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

	if (none && cpu->quota[0][0] == UNLIMITED && !cpu->used_up)
		return;
	cpu->used_up = 0;
	bank_change_begin(cpu);
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

/* Cells with words of their own. If nothing but limits changed, words without one are as they were. */
static void renew_cells(struct cpu *cpu, u32 *near)
{
	u32 todo = cpu->limits_stale ? (1u << CELL_NR) - 1 : cpu->limited | cpu->running_up;

	for (todo &= ~(1u << CELL_INSTRUCTIONS | 1u << CELL_BRANCHES); todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);
		u64 left = bank_left(cpu, c);

		if (c == CELL_TAKEN && left < 2 * TAKEN_MARGIN)
			*near |= CPU_WANT_EXPECT_TAKEN;
		else if (c == CELL_TAKEN && left != CPU_NO_LIMIT)
			left -= TAKEN_MARGIN;
		set_cell(cpu, c, *near & CPU_WANT_LOOSE ? CPU_NO_LIMIT : left);
	}
}

void cpu_renew_limits(struct cpu *cpu)
{
	u64 left[2];
	u32 near = 0;

	if (cpu->near & CPU_WANT_LOOSE)
		loose_end(cpu);
	cpu->walking = 0;
	if (cpu->movable && loose_may_run(cpu))
		near |= CPU_WANT_LOOSE;
	else
		cpu->walking = loose_walks(cpu);
	if (cpu->walking)
		near |= CPU_WANT_LOOSE;
	for (enum cell c = CELL_INSTRUCTIONS; c <= CELL_BRANCHES; c++)
		left[c] = count_down(cpu, c, bank_left(cpu, c), &near);
	renew_quotas(cpu, left[CELL_INSTRUCTIONS], left[CELL_BRANCHES]);
	renew_cells(cpu, &near);
	if (near & CPU_WANT_LOOSE)
		loose_begin(cpu, false);
	bank_change_end(cpu);
	if (cpu->rare && (cpu->movable || (near & CPU_WANT_NEAR)) && !(near & CPU_WANT_LOOSE))
		near |= CPU_WANT_RARE;
	cpu->near = near;
	cpu->limits_stale = cpu->limits_new = 0;
}

