/*
 * The first cycle model: the unit that the parts agree on. doc/model.md says what it is good for.
 *
 * Every instruction has a weight, a constant that depends on its encoding only; tools/gen_isa.c computes the
 * weights when the decoder's tables are made. CELL_CYCLES is the sum of the weights of what a thread executed.
 */
#ifndef MODEL_CYCLES_H
#define MODEL_CYCLES_H

#define MODEL_CYCLE_SHIFT 2 /* weights and CELL_CYCLES are in quarter cycles */
#define MODEL_BUS_SHIFT (MODEL_CYCLE_SHIFT + 5) /* 32 cycles are one of the bus: as 3.2 GHz and 100 MHz */

#endif
