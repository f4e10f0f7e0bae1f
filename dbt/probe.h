/*
 * What the processor at hand does well, measured when a session begins: which form the translator's code takes. The
 * options that choose a form are in cli/options.def.
 */
#ifndef DBT_PROBE_H
#define DBT_PROBE_H

#include "abi/types.h"

/* Ticks of as many of each: the least of some tries. One waits for the other, but for additions to two words. */
struct processor_probe {
	u64 products;	 /* of registers: PROBE_PRODUCT_CYCLES each on any processor of the last fifteen years */
	u64 adds_to_one; /* to a word in memory, at places in the code that take turns in an order that changes */
	u64 adds_to_two; /* the same to two words */
	u64 loops;	 /* `loop`, taken */
	u64 bswaps;	 /* `bswap` of 64 bits */
};

#define PROBE_PRODUCT_CYCLES 3

/* Takes some 30 us. */
void probe_processor(struct processor_probe *p);

/*
 * Additions to one word are about as fast as to different words: the processor renames memory (AMD since Zen 2). Else
 * each takes 4 to 7 cycles. Intel renames since Golden Cove, but only for additions that follow each other in the same
 * order each time.
 */
static inline bool probe_one_word_is_fast(const struct processor_probe *p)
{
	return p->adds_to_one < p->adds_to_two + p->adds_to_two / 2;
}

/* `loop` is one operation (AMD). Elsewhere it is microcode of 5 cycles and more, and jrcxz is fast. */
static inline bool probe_loop_is_fast(const struct processor_probe *p)
{
	return p->loops < p->products;
}

/* `bswap` is one operation (AMD), not two (Intel). */
static inline bool probe_bswap_is_fast(const struct processor_probe *p)
{
	return 2 * p->bswaps < p->products;
}

#endif
