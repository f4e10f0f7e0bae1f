/* See dbt/probe.h. */
#include "dbt/probe.h"
#include "rt/arch.h"

#define TRIES  5
#define ROUNDS 300u

static u64 ticks_of_adds(u64 *word)
{
	u64 before = arch_ticks();

	for (u32 i = 0; i < ROUNDS; i++)
		__asm__ volatile("addq $1, (%0)\n\taddq $1, (%0)\n\taddq $1, (%0)\n\taddq $1, (%0)"
				 :
				 : "r"(word)
				 : "memory", "cc");
	return arch_ticks() - before;
}

static u64 ticks_of_products(u64 by)
{
	u64 before = arch_ticks();

	for (u32 i = 0; i < ROUNDS; i++)
		__asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(by) : : "cc");
	return arch_ticks() - before;
}

static u64 ticks_of_loops(u64 n)
{
	u64 before = arch_ticks();

	__asm__ volatile("1: loop 1b" : "+c"(n));
	return arch_ticks() - before;
}

void probe_processor(struct processor_probe *p)
{
	u64 word = 0;

	*p = (struct processor_probe){~0ul, ~0ul, ~0ul};
	for (u32 i = 0; i < TRIES; i++) {
		p->adds = MIN(p->adds, ticks_of_adds(&word));
		p->products = MIN(p->products, ticks_of_products(3));
		p->loops = MIN(p->loops, ticks_of_loops(ROUNDS * 4));
	}
}
