/* See dbt/probe.h. */
#include "dbt/probe.h"
#include <cpuid.h>
#include "rt/arch.h"

#define TRIES  5
#define ROUNDS 300u

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

static bool has_adcx(void)
{
	u32 a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_ADX) && (b & bit_BMI2);
}

void probe_processor(struct processor_probe *p)
{
	*p = (struct processor_probe){~0ul, ~0ul, ~0ul, has_adcx()};
	for (u32 i = 0; i < TRIES; i++) {
		p->products = MIN(p->products, ticks_of_products(3));
		p->bswaps = MIN(p->bswaps, ticks_of_bswaps(3));
		p->loops = MIN(p->loops, ticks_of_loops(ROUNDS * 4));
	}
}
