/*
 * Limits on the counter bank: how much a cell may advance before translated code of a CPU_WANT_LIMITS variant stops.
 *
 * The words of the bank run up to zero: each holds count + bias, and such code stops in front of the block whose
 * increment makes a word non-negative. blocks[][] share the limits of instructions and branches: each word gets a quota, so that
 * whatever mixture of blocks runs, no limit is passed unseen; near a limit a countdown takes over (CPU_WANT_COUNTDOWN). A count is the
 * word less its bias; both change together under cpu->seq, with the counts put down before (frozen), so that other processes
 * can read at any time, also after the owner's death in the middle.
 */
#ifndef CPU_BANK_H
#define CPU_BANK_H

#include "cpu/cpu.h"

#define CPU_NO_LIMIT (~0ul)

/* What a cell has counted since the thread began. By anyone, any time. */
u64 cpu_read_cell(const struct cpu *cpu, enum cell c);

/* By the owner, outside translated code: left[c] is how much cell c may advance until its limit is reached (CPU_NO_LIMIT: none). */
void cpu_set_limits(struct cpu *cpu, const u64 left[CELL_NR]);

/* By the owner: some cell's limit is reached (or passed). */
bool cpu_limit_reached(const struct cpu *cpu);

/* By the owner, after DBT_LIMIT without cpu_limit_reached(): goes on to the same limits. */
void cpu_renew_limits(struct cpu *cpu);

#endif
