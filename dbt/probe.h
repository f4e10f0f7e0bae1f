/*
 * What the processor at hand does well, measured when a session begins: which form the translator's code takes. The
 * options that choose a form are in cli/options.def.
 */
#ifndef DBT_PROBE_H
#define DBT_PROBE_H

#include "abi/types.h"

/* Ticks of the same number of each, one waiting for the other: the least of some tries. */
struct processor_probe {
	u64 products; /* of registers: PROBE_PRODUCT_CYCLES each on any processor of the last fifteen years */
	u64 adds;     /* to one word in memory */
	u64 loops;    /* `loop`, taken */
};

#define PROBE_PRODUCT_CYCLES 3

/* Takes some 10 us. */
void probe_processor(struct processor_probe *p);

/*
 * Adds to one word are about as fast as adds to different words: the processor renames memory (AMD since Zen 2, Intel
 * since Golden Cove). Else each takes 4 to 7 cycles.
 */
static inline bool probe_one_word_is_fast(const struct processor_probe *p)
{
	return p->adds < p->products;
}

/* `loop` is one operation (AMD). Elsewhere it is microcode of 5 cycles and more, and jrcxz is fast. */
static inline bool probe_loop_is_fast(const struct processor_probe *p)
{
	return p->loops < p->products;
}

#endif
