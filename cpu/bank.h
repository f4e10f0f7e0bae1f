/*
 * The counter bank's counts, and limits on them: how much a cell may advance before translated code of a CPU_WANT_LIMITS variant
 * stops.
 *
 * The words of the bank run up to zero: each holds count + bias, and such code stops in front of the block whose
 * increment makes a word non-negative. blocks[][] share the limits of instructions and branches: each word gets a quota q, so
 * that whatever mixture of blocks runs, no limit is passed unseen: the sum of n * (q - 1) over the words, the part of a block that is
 * done before it is counted, and a block that ends with an indirect branch and looks at its word there, is less than what is left of
 * instructions, that of q - 1 over those with a branch less than what is left of branches. A word that is used up leads to new quotas.
 * The last few hundred are counted down in variants of their own (CPU_WANT_NEAR), which stop in front of the very block.
 * A branch that is taken is noticed only after it, so cell TAKEN stops a little early, and near the limit
 * conditional branches are expected to be taken.
 *
 * A limit that stands for a frequency may be moved: the period is then what was counted. While all limits are of this kind and far away,
 * code of a CPU_WANT_LOOSE variant runs, in which but a few blocks look at limits, and which so is as fast as code without. It stops after as
 * many looks as are most likely fewer than those to the limit. The last few instructions are walked (dbt_walk()), or counted down. If the limit is
 * passed for all that, the next is not to be, cpu->strict.
 *
 * Readers: any process, any time, also after the owner's death in the middle of a change. Words and biases change together
 * under bank->seq, with the counts put down before:
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

/* Nothing is counted, and there are no limits. */
void cpu_clear_bank(struct cpu *cpu);

/* The bank of a thread that begins, or goes on in another program: what it has counted stays, limits and all else begin anew. */
void cpu_take_bank(struct cpu *cpu);

/* What a cell has counted since the thread began. By anyone, any time. */
u64 cpu_read_cell(const struct bank *bank, enum cell c);

/*
 * The same by others than the owner, one at a time: while it is in translated code, in which blocks are counted before all of them is done, and what was
 * counted ahead may be taken back, the count does not go back.
 */
u64 cpu_show_cell(struct bank *bank, enum cell c);

/*
 * By the owner, outside translated code: the cells with limits, a bit for each, and how much these may advance until their limits are reached.
 * movable: cpu_limit_reached() may come to be true later than that. Takes effect the next time translated code is entered.
 */
void cpu_set_limits(struct cpu *cpu, u32 limited, bool movable, const u64 left[CELL_NR]);

/* The same by the owner, outside translated code: as a rule without adding up anything. */
u64 cpu_own_count(struct cpu *cpu, enum cell c);

/* By the owner, outside translated code: cell c advances by what no translated code has counted. */
void cpu_count_besides(struct cpu *cpu, enum cell c, s64 by);

/* By the owner, outside translated code: some cell's limit is reached (or passed). */
bool cpu_limit_reached(struct cpu *cpu);

/* The same: a limit was reached or passed unseen, by CPU_WANT_LOOSE code. */
bool cpu_limit_passed(struct cpu *cpu);

/*
 * The same: there is no limit but one of instructions that may be moved, so that the thread may be led to it by dbt_walk(); how far it is, 0: it is
 * reached (and there may be as many looks again); and another way to this limit is to be found.
 */
bool cpu_walks(const struct cpu *cpu);
u64 cpu_walk_left(struct cpu *cpu);
void cpu_walk_no_more(struct cpu *cpu);

/* The same, on a walk: it was to lead to the place of a limit that was passed, and leads elsewhere. There is another limit now. */
bool cpu_walks_astray(struct cpu *cpu);

/*
 * The same, after a stop of CPU_WANT_LOOSE code to look, in a block that is counted but not done: true: all limits are still far away, and it
 * may go on. Else nothing was changed, and cpu_renew_limits() is due.
 */
bool cpu_look_on(struct cpu *cpu);

/*
 * By a signal handler that interrupted the owner in CPU_WANT_LOOSE code, in a block at pc: the next look stops, and if it is far away
 * cpu->look_at tells that there is to be one at pc. As a rule: the look may be under way just now.
 */
void cpu_probe(struct cpu *cpu, u64 pc);

/* The same: the limit of instructions is reached by the next one. */
bool cpu_limit_is_next(const struct cpu *cpu);

/* By dbt/, outside translated code: some word of blocks[][] is used up. */
bool cpu_used_up(const struct cpu *cpu);

/*
 * By dbt/, outside translated code, when cpu->limits_new or limits_stale: quotas, countdowns and cpu->near for what is left. A word that is
 * used up is a reason to set limits_stale.
 */
void cpu_renew_limits(struct cpu *cpu);

#endif
