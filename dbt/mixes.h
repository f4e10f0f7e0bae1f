/*
 * The mixes of spans that code of this process is counted by (struct bank). A mix gets a number when code of such a
 * span is made, or several, and keeps them: images hold code with these numbers, so they bring the mixes along.
 */
#ifndef DBT_MIXES_H
#define DBT_MIXES_H

#include "cpu/cpu.h"

struct mix {
	s16 of[CELL_NR];
};

/*
 * The displacement, from the stolen register, of a word that counts spans of that much of each of these cells: the
 * same word or another one the next time. 0: that is nothing, or there are too many mixes. The last quarter of the
 * numbers is for parts of mixes. With dbt_lock.
 */
s32 mixes_word(const s32 amount[CELL_NR], u32 cells, bool part);

/*
 * The thread is about to run code that counts by mixes, another one than before or after it was outside: its bank is to
 * know them. Without dbt_lock; and with it.
 */
void mixes_know(struct cpu *cpu);
void mixes_know_locked(struct cpu *cpu);
/* For dbt_mend(): all threads that know mixes know all. With dbt_lock. */
void mixes_mend(void);

/* For images: all that there are; and those of one, before there are any. */
const struct mix *mixes_all(u32 *n);
void mixes_load(const struct mix *mix, u32 n);

#endif
