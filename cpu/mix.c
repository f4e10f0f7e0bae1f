/* See mix.h. */
#include "cpu/mix.h"
#include "rt/string.h"

static u64 load(const u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

u64 cpu_sum_mixes(const struct bank *bank, enum cell c)
{
	u32 n = MIN(__atomic_load_n(&bank->mixes, __ATOMIC_ACQUIRE), CPU_MIXES);
	const s16 *of = bank->mix[c];
	u64 sum = 0;

#pragma GCC unroll 4
	for (u32 i = 0; i < n; i++)
		sum += load(&bank->mixed[i]) * (u64)of[i];
	for (u32 i = 0; n && c == CELL_TAKEN && i < CPU_TURNS; i++)
		sum -= load(&bank->not_taken[i]);
	return sum;
}

void cpu_clear_mixes(struct bank *bank)
{
	u32 n = MIN(bank->mixes, CPU_MIXES);

	memset(bank->mixed, 0, n * sizeof(*bank->mixed));
	memset(bank->not_taken, 0, sizeof(bank->not_taken));
	__atomic_store_n(&bank->mixes, 0, __ATOMIC_RELAXED);
	bank->knows_mixes = 0;
}
