/*
 * The counter bank's counts, and limits on them: how much a cell may advance before translated code of a
 * CPU_WANT_LIMITS variant stops.
 *
 * Far from all limits CPU_WANT_SPARSE code runs, in which some blocks poll. A poll adds to a word of bank.poll[] how
 * many units (an instruction, or two quarter cycles) there may have been since the last poll, its own span included,
 * and stops if the word is not negative then. From one poll to the next there are at most CPU_POLL_UNITS, whichever way
 * the code goes. What is left to the nearest limit, less what can be executed between two polls, is shared among the
 * words, and each begins at minus its share: so no limit is passed. A poll may add more than was executed, and one word
 * may be used up before the others. So at a stop the cells say what is left, and the words are set again.
 *
 * CPU_WANT_IN_POLLS code counts in these words, too: a poll is a span's addition, and a jump.
 *
 * Near a limit the thread is led to it in pieces (dbt_approach()), or code runs that counts down by block and stops in
 * front of the very block (CPU_WANT_NEAR). The words of the other cells then run up to zero: each holds count + bias. A
 * taken branch is noticed only after it, so with a limit of CELL_TAKEN conditional branches are expected to be taken.
 *
 * Readers: any process, any time, also after the owner's death in the middle of a change. Words and biases change
 * together under bank->seq, with the counts put down before:
 *
 *	owner				reader
 *	frozen = counts			s = seq			A
 *	seq odd			A	read frozen if s is odd, else words - bias
 *	words, bias		B				B
 *	seq even		B	again if seq != s
 */
#ifndef CPU_BANK_H
#define CPU_BANK_H

#include "cpu/cpu.h"

#define CPU_NO_LIMIT (~0ul)

/* --no-polls: countdown code runs whenever there is a limit. Set before the first is. */
extern bool cpu_never_sparse;

/* The bank of a new task: nothing is counted, nor wanted. */
void cpu_new_bank(struct bank *bank);

/* The thread's own bank as cpu_new_bank() makes it, and no limits. For tests. */
void cpu_clear_bank(struct cpu *cpu);

/*
 * The bank of a thread that begins, or goes on in another program: what it has counted stays, limits and all else
 * restart.
 */
void cpu_take_bank(struct cpu *cpu);

/* What a cell has counted since the thread began. By anyone, any time. */
u64 cpu_read_cell(const struct bank *bank, enum cell c);

/*
 * cpu_read_cell() for others than the owner, one of them at a time: the count does not go back. Translated code counts
 * a block before it is done, and may take some of that back.
 */
u64 cpu_show_cell(struct bank *bank, enum cell c);

/*
 * By the owner, outside translated code: the cells with limits, a bit for each, and how much these may advance until
 * their limits are reached. adaptive: the limits stand for frequencies. Takes effect the next time translated code is
 * entered.
 */
void cpu_set_limits(struct cpu *cpu, u32 limited, bool adaptive, const u64 left[CELL_NR]);

/*
 * By the owner, outside translated code: the thread's turn (os/pin/turn.h) is over when so many instructions more are
 * executed; 0: it has no end. Code stops there as at a limit, if CPU_WANT_LIMITS is wanted; but cpu_limit_reached()
 * does not know of it.
 */
void cpu_set_turn(struct cpu *cpu, u64 left);
bool cpu_turn_is_over(struct cpu *cpu);

/* cpu_read_cell() by the owner, outside translated code: cheaper, as a rule without adding up anything. */
u64 cpu_own_count(struct cpu *cpu, enum cell c);

/* By the owner, outside translated code: cell c advances by what no translated code has counted. */
void cpu_count_besides(struct cpu *cpu, enum cell c, s64 by);

/* By the owner, outside translated code: some cell's limit is reached (or passed). */
bool cpu_limit_reached(struct cpu *cpu);

/*
 * By the owner, outside translated code, while cpu->limits.approaching: the thread is to be led by dbt_approach() to
 * its only limit, one of instructions or of cycles. How far that is; 0: it is reached.
 */
u64 cpu_approach_left(struct cpu *cpu);
/* This limit is not approached any more: code counts down to it. */
void cpu_approach_give_up(struct cpu *cpu);

/* The cell that the limit is on. */
static inline enum cell cpu_approached_cell(const struct cpu *cpu)
{
	return cpu->limits.on == 1u << CELL_CYCLES ? CELL_CYCLES : CELL_INSTRUCTIONS;
}

/*
 * By the owner, after a stop of CPU_WANT_SPARSE code by a poll, in a block that is counted but not done. True: all
 * limits are still far away, the poll words are set again, and the code may go on. Else they are as they were, and
 * cpu_renew_limits() is due.
 */
bool cpu_poll_on(struct cpu *cpu);

/* A poll word is used up. */
static inline bool cpu_poll_stops(const struct cpu *cpu)
{
	u64 all = ~0ul;

	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		all &= cpu_bank(cpu)->poll[i];
	return (s64)all >= 0;
}

/* The only cell that events want, so that sparse code may count it in the poll words; CELL_NR: there are others. */
static inline enum cell cpu_may_count_in_polls(const struct cpu *cpu)
{
	u32 want = __atomic_load_n(&cpu_bank(cpu)->want, __ATOMIC_RELAXED);

	switch (want & (CPU_WANT_BLOCKS | CPU_WANT_BRANCHES | CPU_WANT_CYCLES | CPU_WANT_KINDS)) {
	case CPU_WANT_BLOCKS:
		return CELL_INSTRUCTIONS;
	case CPU_WANT_CYCLES:
		return CELL_CYCLES;
	default:
		return CELL_NR;
	}
}

/* The cell that the present code does count there; CELL_NR: none. */
static inline enum cell cpu_counts_in_polls(const struct cpu *cpu)
{
	return cpu->limits.want & CPU_WANT_IN_POLLS ? (enum cell)cpu->limits.poll_cell : CELL_NR;
}

/* By the owner: CPU_WANT_SPARSE code was left otherwise than by a poll. To enter it again counts as one. */
static inline void cpu_poll_outside(struct cpu *cpu)
{
	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		cpu_bank(cpu)->poll[i] += CPU_POLL_UNITS / CPU_POLL_WORDS * CPU_POLL_UNIT;
	cpu->limits.stale |= cpu_poll_stops(cpu);
	cpu->limits.stale |= cpu_counts_in_polls(cpu) != cpu_may_count_in_polls(cpu);
}

/* By the owner: code of limits.want runs or has run, so sums of blocks[][] are to be made again. */
static inline void cpu_has_counted(struct cpu *cpu)
{
	if (!(cpu->limits.want & CPU_WANT_IN_POLLS))
		cpu->limits.summed = 0;
}

/* By the owner, where code counts down: the limit of instructions is reached by the next one. */
bool cpu_limit_is_next(const struct cpu *cpu);

/*
 * By dbt/, outside translated code, when cpu->limits has `renew` or `stale` set: sets bank.poll[], countdown[] and
 * `want` for what is left.
 */
void cpu_renew_limits(struct cpu *cpu);

#endif
