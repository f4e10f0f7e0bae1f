/*
 * What bank->ends[][], accesses[][] and not_taken[] stand for: the part of each cell that code has counted which
 * counts kinds (struct bank). A read(2) of instructions takes some 0.3 us more from then on, of other events less than
 * 0.1 (AMD Zen 1).
 */
#ifndef CPU_ENDS_H
#define CPU_ENDS_H

#include "cpu/cpu.h"

/* The cell's part; 0 for CELL_CYCLES. By anyone, any time. */
u64 cpu_sum_ends(const struct bank *bank, enum cell c);

/* Puts all of it back to 0. By the owner. */
void cpu_clear_ends(struct bank *bank);

#endif
