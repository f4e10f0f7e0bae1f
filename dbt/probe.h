/*
 * What the processor at hand does well, measured when a session begins: which form the translator's code takes. The
 * options that choose a form are in cli/options.def.
 */
#ifndef DBT_PROBE_H
#define DBT_PROBE_H

#include "abi/types.h"

/* How landings verify, see dbt/x86_64/ibl.c. ADCX: those at whose pc CF is dead, others as JRCXZ. */
enum landing_form { LANDING_LOOP, LANDING_JRCXZ, LANDING_ADCX };

/* Ticks of as many of each, of which one waits for the other: the least of some tries. */
struct processor_probe {
	u64 products;	 /* of registers: PROBE_PRODUCT_CYCLES each on any processor of the last fifteen years */
	u64 loops;	 /* `loop`, taken */
	u64 bswaps;	 /* `bswap` of 64 bits */
	bool has_adcx;	 /* and rorx */
};

#define PROBE_PRODUCT_CYCLES 3

/* Takes some 30 us. */
void probe_processor(struct processor_probe *p);

/* `loop` is one operation (AMD). Elsewhere it is microcode of 5 cycles and more. */
static inline enum landing_form probe_landing(const struct processor_probe *p)
{
	return p->loops < p->products ? LANDING_LOOP : p->has_adcx ? LANDING_ADCX : LANDING_JRCXZ;
}

/* `bswap` is one operation (AMD), not two (Intel). */
static inline bool probe_bswap_is_fast(const struct processor_probe *p)
{
	return 2 * p->bswaps < p->products;
}

#endif
