/* See dbt/probe.h. */
#include "dbt/probe.h"
#include "rt/arch.h"

#define TRIES 5
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

/* Each takes three cycles. */
static u64 ticks_of_products(u64 by)
{
	u64 before = arch_ticks();

	for (u32 i = 0; i < ROUNDS; i++)
		__asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(by) : : "cc");
	return arch_ticks() - before;
}

bool probe_one_word_is_fast(void)
{
	u64 word = 0, adds = ~0ul, products = ~0ul;

	for (u32 i = 0; i < TRIES; i++) {
		adds = MIN(adds, ticks_of_adds(&word));
		products = MIN(products, ticks_of_products(3));
	}
	return adds < products;
}
