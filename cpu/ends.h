/*
 * What bank->ends[][], accesses[][] and not_taken[] stand for: the part of each cell that code has counted which counts
 * kinds (struct bank). Reading a cell takes some 0.2 us more from then on.
 */
#ifndef CPU_ENDS_H
#define CPU_ENDS_H

#include "cpu/cpu.h"

/* The cell's part; 0 for CELL_CYCLES. By anyone, any time. */
u64 cpu_sum_ends(const struct bank *bank, enum cell c);

/* Puts all of it back to 0. By the owner. */
void cpu_clear_ends(struct bank *bank);

#endif
