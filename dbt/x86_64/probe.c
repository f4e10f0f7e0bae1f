/* See dbt/probe.h. */
#include "dbt/probe.h"
#include "rt/arch.h"

#define TRIES  5
#define ROUNDS 300u
#define NUMBERS 63u
#define ADDS	(64u * 3) /* that they make */
#define ADDS_TURNS 5u /* the first of which are slow: the processor learns to predict the branches */

/* An addition that is made if the register has the bit. */
#define ADD_IF(bit, word) "testb $" #bit ", %b2\n\tjz 1f\n\taddq $1, (%" #word ")\n1:\n\t"

/* By the numbers of 6 bits but 0, in an order without order: a shift register with feedback. */
static u64 ticks_of_adds(u64 *even, u64 *odd)
{
	u64 before = arch_ticks();
	u32 x = 1;

	for (u32 i = 0; i < ADDS_TURNS * NUMBERS; i++) {
		x = x & 1 ? x >> 1 ^ 0x30 : x >> 1;
		__asm__ volatile(ADD_IF(1, 0) ADD_IF(2, 1) ADD_IF(4, 0) ADD_IF(8, 1) ADD_IF(16, 0) ADD_IF(32, 1)
				 :
				 : "r"(even), "r"(odd), "q"(x)
				 : "memory", "cc");
	}
	return arch_ticks() - before;
}

static u64 ticks_of_products(u64 by)
{
	u64 before = arch_ticks();

	for (u32 i = 0; i < ROUNDS; i++)
		__asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(by) : : "cc");
	return arch_ticks() - before;
}

static u64 ticks_of_bswaps(u64 by)
{
	u64 before = arch_ticks();

	for (u32 i = 0; i < ROUNDS; i++)
		__asm__ volatile("bswap %0\n\tbswap %0\n\tbswap %0\n\tbswap %0" : "+r"(by));
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
	u64 words[16] = {0};

	*p = (struct processor_probe){~0ul, ~0ul, ~0ul, ~0ul, ~0ul};
	for (u32 i = 0; i < TRIES; i++) {
		p->products = MIN(p->products, ticks_of_products(3));
		p->bswaps = MIN(p->bswaps, ticks_of_bswaps(3));
		p->loops = MIN(p->loops, ticks_of_loops(ROUNDS * 4));
		p->adds_to_one = MIN(p->adds_to_one, ticks_of_adds(words, words));
		p->adds_to_two = MIN(p->adds_to_two, ticks_of_adds(words, words + 8));
	}
	p->adds_to_one = p->adds_to_one * 4 * ROUNDS / (ADDS_TURNS * ADDS);
	p->adds_to_two = p->adds_to_two * 4 * ROUNDS / (ADDS_TURNS * ADDS);
}
