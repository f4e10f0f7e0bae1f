/*
 * The counter bank's counts, and limits on them: how much a cell may advance before translated code of a
 * CPU_WANT_LIMITS variant stops.
 *
 * Far from all limits CPU_WANT_SPARSE code runs, in which some blocks poll. A poll adds to a word of bank.poll[] how
 * many units (an instruction, or two quarter cycles) there may have been since the last poll, its own span included,
 * and stops if the word is not negative then. From one poll to the next there are at most CPU_POLL_UNITS, whichever way
 * the code goes. The words begin with what is left of the nearest limit, less what can be executed between two polls,
 * in parts: so no limit is passed. Polls add at least what was executed, and one word may be used up before the others.
 * So at a stop what is left is computed again from all words.
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

/* A new task's: nothing is counted, nor wanted. */
void cpu_new_bank(struct bank *bank);

/* The same, and there are no limits. */
void cpu_clear_bank(struct cpu *cpu);

/*
 * The bank of a thread that begins, or goes on in another program: what it has counted stays, limits and all else
 * restart.
 */
void cpu_take_bank(struct cpu *cpu);

/* What a cell has counted since the thread began. By anyone, any time. */
u64 cpu_read_cell(const struct bank *bank, enum cell c);

/*
 * The same by others than the owner, one at a time: while it is in translated code, in which blocks are counted before
 * all of them is done, and what was counted ahead may be taken back, the count does not go back.
 */
u64 cpu_show_cell(struct bank *bank, enum cell c);

/*
 * By the owner, outside translated code: the cells with limits, a bit for each, and how much these may advance until
 * their limits are reached. adaptive: the limits stand for frequencies. Takes effect the next time translated code is
 * entered.
 */
void cpu_set_limits(struct cpu *cpu, u32 limited, bool adaptive, const u64 left[CELL_NR]);

/*
 * The same of the thread's turn: it is over when so many instructions more are executed; 0: it has no end. Code stops
 * there as at a limit, if CPU_WANT_LIMITS is wanted; cpu_limit_reached() does not know of it.
 */
void cpu_set_turn(struct cpu *cpu, u64 left);
bool cpu_turn_is_over(struct cpu *cpu);

/* The same by the owner, outside translated code: as a rule without adding up anything. */
u64 cpu_own_count(struct cpu *cpu, enum cell c);

/* By the owner, outside translated code: cell c advances by what no translated code has counted. */
void cpu_count_besides(struct cpu *cpu, enum cell c, s64 by);

/* By the owner, outside translated code: some cell's limit is reached (or passed). */
bool cpu_limit_reached(struct cpu *cpu);

/*
 * The same, when cpu->limits.approaching: the thread is to be led by dbt_approach() to the only limit, one of
 * instructions or of cycles. How far it is, 0: it is reached; and another way to this limit is to be found.
 */
u64 cpu_approach_left(struct cpu *cpu);
void cpu_approach_give_up(struct cpu *cpu);

static inline enum cell cpu_approached_cell(const struct cpu *cpu)
{
	return cpu->limits.on == 1u << CELL_CYCLES ? CELL_CYCLES : CELL_INSTRUCTIONS;
}

/*
 * The same, after a stop of CPU_WANT_SPARSE code by a poll, in a block that is counted but not done. True: all limits
 * are still far away, and it may go on. Else nothing was changed, and cpu_renew_limits() is due.
 */
bool cpu_poll_on(struct cpu *cpu);

/* A word that polls add to is used up. */
static inline bool cpu_poll_stops(const struct cpu *cpu)
{
	u64 all = ~0ul;

	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		all &= cpu_bank(cpu)->poll[i];
	return (s64)all >= 0;
}

/* The cell that its code could count in the words of polls, since it is the only one; CELL_NR: none. */
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

/* The one that it does; CELL_NR: none. */
static inline enum cell cpu_counts_in_polls(const struct cpu *cpu)
{
	return cpu->limits.want & CPU_WANT_IN_POLLS ? (enum cell)cpu->limits.poll_cell : CELL_NR;
}

/* The same: CPU_WANT_SPARSE code was left otherwise. Coming back counts as a poll. */
static inline void cpu_poll_outside(struct cpu *cpu)
{
	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		cpu_bank(cpu)->poll[i] += CPU_POLL_UNITS / CPU_POLL_WORDS * CPU_POLL_UNIT;
	cpu->limits.stale |= cpu_poll_stops(cpu);
	cpu->limits.stale |= cpu_counts_in_polls(cpu) != cpu_may_count_in_polls(cpu);
}

/* The same: code of limits.want runs, or did. */
static inline void cpu_has_counted(struct cpu *cpu)
{
	if (!(cpu->limits.want & CPU_WANT_IN_POLLS))
		cpu->limits.summed = 0;
}

/* The same: the limit of instructions is reached by the next one. */
bool cpu_limit_is_next(const struct cpu *cpu);

/*
 * By dbt/, outside translated code, when cpu->limits has `renew` or `stale` set: sets bank.poll[], countdown[] and
 * `want` for what is left.
 */
void cpu_renew_limits(struct cpu *cpu);

#endif
