/* See ends.h. */
#include "cpu/ends.h"

#define END(e) (1u << CPU_END_##e)
#define BRANCH (END(COND) | END(JMP) | END(CALL) | END(CALL_IND) | END(JMP_IND) | END(RET))

/* Of which ends a block is one of the cell's. */
static const u8 counted[CELL_NR] = {
	[CELL_BRANCHES] = BRANCH,
	[CELL_COND] = END(COND),
	[CELL_TAKEN] = BRANCH,
	[CELL_CALLS] = END(CALL) | END(CALL_IND),
	[CELL_RETURNS] = END(RET),
	[CELL_INDIRECT] = END(CALL_IND) | END(JMP_IND),
	[CELL_SYSCALLS] = END(SYSCALL),
};

static u64 load(const u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static u64 sum_instructions(const struct bank *bank)
{
	u64 sum = 0;

	for (u32 e = 0; e < CPU_ENDS; e++)
		for (u32 n = 0; n < CPU_BLOCK_INSNS; n++)
			sum += load(&bank->ends[e][n]) * (n + 1);
	return sum;
}

static u64 sum_blocks(const struct bank *bank, u32 ends)
{
	u64 sum = 0;

	for (; ends; ends &= ends - 1)
		for (u32 n = 0; n < CPU_BLOCK_INSNS; n++)
			sum += load(&bank->ends[__builtin_ctz(ends)][n]);
	return sum;
}

static u64 sum_accesses(const struct bank *bank, bool stores)
{
	u64 sum = 0;

	for (u32 l = 0; l < CPU_ACCESSES; l++)
		for (u32 s = 0; s < CPU_ACCESSES; s++)
			sum += load(&bank->accesses[l][s]) * (stores ? s : l);
	return sum;
}

u64 cpu_sum_ends(const struct bank *bank, enum cell c)
{
	u64 sum;

	if (!__atomic_load_n(&bank->by_ends, __ATOMIC_RELAXED))
		return 0;
	if (c == CELL_INSTRUCTIONS)
		return sum_instructions(bank);
	if (c == CELL_LOADS || c == CELL_STORES)
		return sum_accesses(bank, c == CELL_STORES);
	sum = sum_blocks(bank, counted[c]);
	for (u32 i = 0; c == CELL_TAKEN && i < CPU_TURNS; i++)
		sum -= load(&bank->not_taken[i]);
	return sum;
}

static void clear(u64 *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		__atomic_store_n(&word[i], 0, __ATOMIC_RELAXED);
}

void cpu_clear_ends(struct bank *bank)
{
	if (!bank->by_ends)
		return;
	clear(bank->ends[0], sizeof(bank->ends) / sizeof(u64));
	clear(bank->accesses[0], sizeof(bank->accesses) / sizeof(u64));
	clear(bank->not_taken, CPU_TURNS);
	__atomic_store_n(&bank->by_ends, 0, __ATOMIC_RELAXED);
}
