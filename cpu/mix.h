/*
 * What bank->mixed[] and not_taken[] stand for: the part of each cell that code has counted which counts by mixes
 * (struct bank). A read(2) of an event takes more from then on: 0.1 us in a small program, 0.27 us for each thousand
 * mixes, of which CPython has up to 9,000 (a recent Xeon).
 */
#ifndef CPU_MIX_H
#define CPU_MIX_H

#include "cpu/cpu.h"

/* The cell's part. By anyone, any time. */
u64 cpu_sum_mixes(const struct bank *bank, enum cell c);

/* Puts all of it back to 0, and no mixes are known. By the owner. */
void cpu_clear_mixes(struct bank *bank);

#endif
