/*
 * Limits that may be moved, inside cpu/: what bank.c and loose.c have of each other. loose.c knows when CPU_WANT_LOOSE code may run, after how many looks
 * it stops, and what becomes of limits that it passed.
 */
#ifndef CPU_LOOSE_H
#define CPU_LOOSE_H

#include "cpu/cpu.h"

/* A new thread: nothing is known of its looks. */
void loose_clear(struct cpu *cpu);

/* All limits are so far away that loose code may run. */
bool loose_may_run(struct cpu *cpu);

/* Else: walking to the limit is cheaper than making code for it. */
bool loose_walks(struct cpu *cpu);

/* Loose code runs next: sets how many looks there are to be before it stops. inside: it goes on behind a look whose block is counted. */
void loose_begin(struct cpu *cpu, bool inside);

/* It ran: what is to be learnt from that, and limits that were passed are moved. */
void loose_end(struct cpu *cpu);

/* ---- by bank.c ---- */

/* How much c may advance until its limit is reached; CPU_NO_LIMIT: it has none. And sets it. */
u64 bank_left(struct cpu *cpu, enum cell c);
void bank_set_limit(struct cpu *cpu, enum cell c, u64 left);

/* Around changes of words, so that readers see them all or none. */
void bank_change_begin(struct cpu *cpu);
void bank_change_end(struct cpu *cpu);

/* What the blocks that looked amount to. */
static inline u64 bank_looked(const struct bank *bank, enum cell c)
{
	u64 looks = (u64)__atomic_load_n(&bank->looks, __ATOMIC_RELAXED) & (CPU_LOOK - 1);

	return c == CELL_BRANCHES ? looks / CPU_LOOK_BRANCH : looks % CPU_LOOK_BRANCH;
}

#endif
