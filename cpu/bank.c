/* See cpu/bank.h. */
#include "cpu/bank.h"
#include "cpu/mix.h"
#include "cpu/poll_words.h"
#include "rt/log.h"
#include "rt/stress.h"
#include "rt/string.h"

#define N CPU_BLOCK_INSNS
#define ROWS (CPU_SPAN_BRANCHES + 1)

/*
 * A word without a limit begins so far below 0. Not further: code that has to keep the flags takes a word for used up
 * when its top byte is not 0xff.
 */
#define UNLIMITED (1ul << 55)
/* Countdown code runs from so many units in front of a limit on: if limits are rare, and if they are not. */
#define NEAR 600u
#define NEAR_OFTEN 2200u
/* Limits that are further apart are rare. */
#define RARE 50000u

/* A reader gives up after so many looks. No owner changes a bank that often; another member that writes there might. */
#define READS_MOST 100000u

bool cpu_never_sparse;

static u64 load(const u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void store(u64 *word, u64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/*
 * What blocks[][] amount to. Each word is added as often as it has instructions: those that stand for more are added
 * up first.
 */
static void sum_blocks(const struct bank *bank, u64 *insns, u64 *branches)
{
	u64 sum = 0, longer = 0, one = 0, two = 0, three = 0;

#pragma GCC unroll 8
	for (u32 n = N; n-- > 0;) {
		u64 b1 = load(&bank->blocks[0][n]), b2 = load(&bank->blocks[1][n]), b3 = load(&bank->blocks[2][n]);

		longer += load(&bank->blocks[3][n]) + b1 + b2 + b3;
		sum += longer;
		one += b1;
		two += b2;
		three += b3;
	}
	*insns = sum;
	*branches = one + 2 * two + 3 * three;
}
_Static_assert(CPU_SPAN_BRANCHES == 3, "sum_blocks()");

/* What has been counted of the cell otherwise than in blocks[][]. */
static u64 own_words(const struct bank *bank, enum cell c)
{
	u64 count = load(&bank->cell[c]) - load(&bank->bias[c]);

	for (u32 i = 0; c == CELL_CYCLES && i < CPU_TURNS; i++)
		count += load(&bank->cycles[i]);
	if (__atomic_load_n(&bank->poll_cell, __ATOMIC_RELAXED) == c)
		count += poll_words_counted(bank);
	return count + cpu_sum_mixes(bank, c);
}

u64 cpu_read_cell(const struct bank *bank, enum cell c)
{
	u64 count, insns, branches;
	u32 seq, reads = 0;

	do {
		seq = __atomic_load_n(&bank->seq, __ATOMIC_ACQUIRE); /* A */
		if (seq & 1) {
			count = load(&bank->frozen[c]);
		} else {
			count = own_words(bank, c);
			if (c <= CELL_BRANCHES) {
				sum_blocks(bank, &insns, &branches);
				count += c == CELL_BRANCHES ? branches : insns;
			}
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE); /* B */
	} while (__atomic_load_n(&bank->seq, __ATOMIC_RELAXED) != seq && reads++ < READS_MOST);
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

/* There are no limits, and nothing is known of how the thread's code has counted. */
static void forget_limits(struct cpu *cpu)
{
	for (enum cell c = 0; c < CELL_NR; c++)
		cpu->limits.at[c] = CPU_NO_LIMIT;
	cpu->limits.asked = CPU_NO_LIMIT;
	cpu->limits.turn = 0;
	cpu->limits.want = cpu->limits.summed = cpu->limits.on = cpu->limits.running_up = cpu->limits.fine = 0;
	cpu->limits.rare = cpu->limits.far_apart = cpu->limits.approaching = cpu->limits.given_up = 0;
	cpu->limits.poll_cell = 0;
	memset(cpu->limits.part, 0, sizeof(cpu->limits.part));
	cpu->limits.stale = 1;
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
		for (u32 row = 0; row < ROWS; row++)
			store(&bank->blocks[row][n], 0);
	for (u32 i = 0; i < CPU_TURNS; i++)
		store(&bank->cycles[i], 0);
	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		store(&bank->poll[i], 0);
	__atomic_store_n(&bank->poll_cell, 0, __ATOMIC_RELAXED);
	cpu_clear_mixes(bank);
	forget_limits(cpu);
	__atomic_store_n(&bank->inside, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&bank->seq, (bank->seq | 1) + 1, __ATOMIC_RELEASE); /* B */
}

void cpu_new_bank(struct bank *bank)
{
	cpu_clear_mixes(bank);
	memset(bank, 0, offsetof(struct bank, mixed));
}

void cpu_clear_bank(struct cpu *cpu)
{
	cpu_new_bank(cpu_bank(cpu));
	forget_limits(cpu);
}

/* The countdown of c is in force and right. */
static bool counts_down(const struct cpu *cpu, enum cell c)
{
	return (cpu->limits.want & CPU_WANT_COUNTDOWN << c) && !cpu->limits.stale;
}

static u64 add_up(struct cpu *cpu, enum cell c)
{
	if (!cpu->limits.summed)
		sum_blocks(cpu_bank(cpu), &cpu->limits.sum[CELL_INSTRUCTIONS], &cpu->limits.sum[CELL_BRANCHES]);
	cpu->limits.summed = 1;
	return own_words(cpu_bank(cpu), c) + cpu->limits.sum[c];
}

u64 cpu_own_count(struct cpu *cpu, enum cell c)
{
	if (c > CELL_BRANCHES)
		return own_words(cpu_bank(cpu), c);
	if (counts_down(cpu, c))
		return cpu->limits.at[c] + (u64)cpu->limits.countdown[c];
	return add_up(cpu, c);
}

static u64 left_of(struct cpu *cpu, enum cell c)
{
	u64 count;

	if (!(cpu->limits.on >> c & 1))
		return CPU_NO_LIMIT;
	count = cpu_own_count(cpu, c);
	return cpu->limits.at[c] > count ? cpu->limits.at[c] - count : 0;
}

static void clear_limit(struct cpu *cpu, enum cell c)
{
	if (c <= CELL_BRANCHES)
		cpu->limits.want &= ~(CPU_WANT_COUNTDOWN << c);
	cpu->limits.at[c] = CPU_NO_LIMIT;
}

static void set_limit(struct cpu *cpu, enum cell c, u64 left)
{
	check(left);
	cpu->limits.at[c] = cpu_own_count(cpu, c) + left;
	if (c <= CELL_BRANCHES)
		cpu->limits.countdown[c] = -(s64)left;
}

/* The limit of instructions is the nearer one of what was asked for and the turn's. */
static void limit_turn(struct cpu *cpu)
{
	u64 count = cpu_own_count(cpu, CELL_INSTRUCTIONS), at = cpu->limits.asked;

	if (cpu->limits.turn)
		at = MIN(at, cpu->limits.turn);

	if (at == CPU_NO_LIMIT) {
		clear_limit(cpu, CELL_INSTRUCTIONS);
		cpu->limits.on &= ~(1u << CELL_INSTRUCTIONS);
		return;
	}
	set_limit(cpu, CELL_INSTRUCTIONS, at > count ? at - count : 1);
	cpu->limits.on |= 1u << CELL_INSTRUCTIONS;
}

void cpu_set_limits(struct cpu *cpu, u32 limited, bool adaptive, const u64 left[CELL_NR])
{
	u64 apart = limited || cpu->limits.turn ? CPU_NO_LIMIT : 0;

	check(!(limited >> CELL_NR));
	for (u32 gone = cpu->limits.on & ~limited; gone; gone &= gone - 1)
		clear_limit(cpu, (enum cell)__builtin_ctz(gone));
	for (u32 todo = limited; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		set_limit(cpu, c, left[c]);
		apart = MIN(apart, left[c]);
	}
	cpu->limits.on = limited;
	cpu->limits.asked = cpu->limits.at[CELL_INSTRUCTIONS];
	if (unlikely(cpu->limits.turn))
		limit_turn(cpu);
	cpu->limits.rare = apart >= RARE;
	cpu->limits.far_apart = adaptive || cpu->limits.rare;
	cpu->limits.given_up = 0;
	cpu->limits.renew = 1;
}

void cpu_set_turn(struct cpu *cpu, u64 left)
{
	cpu->limits.turn = left ? cpu_own_count(cpu, CELL_INSTRUCTIONS) + left : 0;
	limit_turn(cpu);
	if (cpu->limits.on == 1u << CELL_INSTRUCTIONS && cpu->limits.asked == CPU_NO_LIMIT)
		cpu->limits.rare = cpu->limits.far_apart = 1;
	cpu->limits.given_up = 0;
	cpu->limits.renew = 1;
}

bool cpu_turn_is_over(struct cpu *cpu)
{
	return cpu->limits.turn && cpu_own_count(cpu, CELL_INSTRUCTIONS) >= cpu->limits.turn;
}

bool cpu_limit_reached(struct cpu *cpu)
{
	for (u32 todo = cpu->limits.on; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		if (cpu_own_count(cpu, c) >= (c == CELL_INSTRUCTIONS ? cpu->limits.asked : cpu->limits.at[c]))
			return true;
	}
	return false;
}

bool cpu_limit_is_next(const struct cpu *cpu)
{
	return counts_down(cpu, CELL_INSTRUCTIONS) && cpu->limits.countdown[CELL_INSTRUCTIONS] >= -1;
}

void cpu_count_besides(struct cpu *cpu, enum cell c, s64 by)
{
	check_slow(c < CELL_NR);
	store(&cpu_bank(cpu)->cell[c], cpu_bank(cpu)->cell[c] + (u64)by);
	cpu->limits.stale = 1;
}

/* ---- changing words ---- */

static void change_begin(struct cpu *cpu)
{
	struct bank *bank = cpu_bank(cpu);

	if (bank->seq & 1)
		return;
	for (enum cell c = 0; c < CELL_NR; c++)
		store(&bank->frozen[c], cpu_own_count(cpu, c));
	__atomic_store_n(&bank->seq, bank->seq + 1, __ATOMIC_RELEASE); /* A */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void change_end(struct cpu *cpu)
{
	struct bank *bank = cpu_bank(cpu);

	if (bank->seq & 1)
		__atomic_store_n(&bank->seq, bank->seq + 1, __ATOMIC_RELEASE); /* B */
}

/* The cell's word runs up to 0 in `left` from now. Without a limit, it stays as it is while it is still far below. */
static void set_cell(struct cpu *cpu, enum cell c, u64 left)
{
	u64 word = -MIN(left, UNLIMITED), by = word - cpu_bank(cpu)->cell[c];

	if (left < UNLIMITED)
		cpu->limits.running_up |= 1u << c;
	else
		cpu->limits.running_up &= ~(1u << c);
	if (!by ||
	    (left >= UNLIMITED && -cpu_bank(cpu)->cell[c] > UNLIMITED / 2 && -cpu_bank(cpu)->cell[c] <= UNLIMITED))
		return;
	change_begin(cpu);
	store(&cpu_bank(cpu)->cell[c], word);
	store(&cpu_bank(cpu)->bias[c], cpu_bank(cpu)->bias[c] + by);
}

/* What poll[] has counted goes to the cell; it counts c from here on. */
static void move_polls(struct cpu *cpu, enum cell c)
{
	struct bank *bank = cpu_bank(cpu);
	u64 *cell = &bank->cell[cpu->limits.poll_cell], sum = poll_words_counted(bank);

	change_begin(cpu);
	store(cell, *cell + sum);
	poll_words_clear(bank);
	cpu->limits.poll_cell = c;
	__atomic_store_n(&bank->poll_cell, c, __ATOMIC_RELAXED);
}

/* ---- limits ---- */

/* Units of which a block or a span has no more. */
static u64 block_units(const struct cpu *cpu)
{
	return cpu_bank(cpu)->want & CPU_WANT_CYCLES ? CPU_BLOCK_UNITS : CPU_BLOCK_INSNS;
}

/* So many units there are before a limit can be reached. */
static u64 units_left(struct cpu *cpu)
{
	u64 units = UNLIMITED;

	for (u32 todo = cpu->limits.on; todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		units = MIN(units, left_of(cpu, c) / (c == CELL_CYCLES ? 2 : 1));
	}
	return units;
}

static bool is_approached(const struct cpu *cpu)
{
	bool can = cpu->limits.on == 1u << CELL_INSTRUCTIONS || cpu->limits.on == 1u << CELL_CYCLES;

	return can && cpu->limits.can_approach && !cpu->limits.given_up && cpu->limits.far_apart;
}

void cpu_approach_give_up(struct cpu *cpu)
{
	cpu->limits.given_up = cpu->limits.stale = 1;
}

u64 cpu_approach_left(struct cpu *cpu)
{
	return left_of(cpu, cpu_approached_cell(cpu));
}

/*
 * Sets the words of polls, if sparse code may run. `unseen` is what can be executed without a poll knowing of it: the
 * way to the next poll, and the rest of a span that the thread may be in the middle of.
 */
static bool set_poll(struct cpu *cpu, u64 rest)
{
	u64 units = units_left(cpu), unseen = rest + CPU_POLL_UNITS + CPU_POLL_FRONT;
	u64 near = is_approached(cpu) ? 0 : cpu->limits.rare ? NEAR : NEAR_OFTEN;

	/* Each word is to be negative: else its poll stops at once. */
	if (units < MAX(near + 1, unseen + CPU_POLL_WORDS) || unlikely(cpu_never_sparse && cpu->limits.on))
		return false;
	if ((s64)poll_words_counted(cpu_bank(cpu)) > (s64)CPU_POLL_MOST)
		move_polls(cpu, cpu->limits.poll_cell);
	poll_words_share(cpu, stress(STRESS_POLL) ? CPU_POLL_WORDS : MIN(units - unseen, CPU_POLL_MOST));
	return true;
}

bool cpu_poll_on(struct cpu *cpu)
{
	bool on;

	cpu_has_counted(cpu);
	on = !cpu->limits.renew && !cpu->limits.approaching;
	on = on && cpu_counts_in_polls(cpu) == cpu_may_count_in_polls(cpu) && set_poll(cpu, 0);
	change_end(cpu);
	cpu_has_counted(cpu);
	return on;
}

/* The countdown of c, if it has a limit. */
static u32 count_down(struct cpu *cpu, enum cell c)
{
	if (!(cpu->limits.on >> c & 1))
		return 0;
	cpu->limits.countdown[c] = (s64)(cpu_own_count(cpu, c) - cpu->limits.at[c]);
	return CPU_WANT_COUNTDOWN << c;
}

/* Cells with words of their own. If nothing but limits changed, words without one are as they were. */
static void renew_cells(struct cpu *cpu, bool sparse)
{
	u32 todo = cpu->limits.stale ? (1u << CELL_NR) - 1 : cpu->limits.on | cpu->limits.running_up;

	for (todo &= ~(1u << CELL_INSTRUCTIONS | 1u << CELL_BRANCHES); todo; todo &= todo - 1) {
		enum cell c = (enum cell)__builtin_ctz(todo);

		set_cell(cpu, c, sparse ? CPU_NO_LIMIT : left_of(cpu, c));
	}
}

void cpu_renew_limits(struct cpu *cpu)
{
	enum cell counted = cpu_may_count_in_polls(cpu);
	u32 want = CPU_WANT_SPARSE | (counted != CELL_NR ? CPU_WANT_IN_POLLS : 0);

	cpu->limits.approaching = 0;
	if (counted != CELL_NR && counted != cpu->limits.poll_cell)
		move_polls(cpu, counted);
	if (!set_poll(cpu, block_units(cpu))) {
		cpu->limits.approaching = is_approached(cpu);
		if (cpu->limits.approaching)
			poll_words_far(cpu);
		else
			want = count_down(cpu, CELL_INSTRUCTIONS) | count_down(cpu, CELL_BRANCHES);
	}
	renew_cells(cpu, want & CPU_WANT_SPARSE);
	change_end(cpu);
	if (!(want & CPU_WANT_SPARSE) && cpu->limits.on >> CELL_TAKEN & 1)
		want |= CPU_WANT_EXPECT_TAKEN;
	if (!(want & CPU_WANT_SPARSE) && cpu->limits.rare)
		want |= CPU_WANT_RARE;
	/* Sparse code polls, other code counts down. Where neither is done, a limit would be passed unseen. */
	check(cpu->limits.approaching || !(want & CPU_WANT_SPARSE) || cpu->limits.part[0]);
	check_slow(!(want & CPU_WANT_SPARSE) || !(want & CPU_WANT_NEAR));
	cpu->limits.want = want;
	cpu->limits.stale = cpu->limits.renew = 0;
}
