/* See dbt/mixes.h. */
#include "dbt/mixes.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/string.h"

#define SLOTS (2 * CPU_MIXES)
#define WHOLE_MIXES (CPU_MIXES / 4 * 3)

static struct mix known[CPU_MIXES];
static u32 n_known;
static u16 slot[SLOTS]; /* 1 + number, by hash; open addressing */
static u32 n_hashed;	/* so many are in slot[] */

/* The slot that the mix has, or is to get. */
static u16 *find(const struct mix *mix)
{
	u32 h = 0;

	for (enum cell c = 0; c < CELL_NR; c++)
		h = (h + (u16)mix->of[c]) * 0x9e3779b1u;
	for (h >>= 16;; h++) {
		u16 *s = &slot[h % SLOTS];

		if (!*s || !memcmp(&known[*s - 1], mix, sizeof(*mix)))
			return s;
	}
}

static void write(struct bank *bank, u32 n)
{
	for (enum cell c = 0; c < CELL_NR; c++)
		bank->mix[c][n] = known[n].of[c];
}

/*
 * One bank: the mix is in it before there is code that counts by it. One that has not all before it is that of a thread
 * that was left out, since it was in a call of execve, which has failed: mixes_know() is due.
 */
static bool add_to_bank(struct cpu *cpu, void *arg)
{
	struct bank *bank = cpu_bank(cpu);
	u32 n = *(u32 *)arg;

	if (!bank->knows_mixes || bank->mixes != n)
		return false;
	write(bank, n);
	__atomic_store_n(&bank->mixes, n + 1, __ATOMIC_RELEASE);
	return false;
}

/* Gives the next number to it. A thread that does not run code now sees by n_known that there is one more. */
static void add(const struct mix *mix, u16 *s)
{
	u32 n = n_known;

	known[n] = *mix;
	*s = (u16)(n + 1);
	__atomic_store_n(&n_known, n + 1, __ATOMIC_SEQ_CST);
	n_hashed = n + 1;
	dbt_host_any_cpu(add_to_bank, &n);
	stat_inc(mixes);
}

s32 mixes_word(const s32 amount[CELL_NR], u32 cells, bool part)
{
	struct mix mix = {0};
	s32 any = 0;
	u16 *s;

	check_slow(lock_held(RANK_DBT));
	for (; n_hashed < n_known; n_hashed++)
		*find(&known[n_hashed]) = (u16)(n_hashed + 1);
	for (; cells; cells &= cells - 1) {
		u32 c = (u32)__builtin_ctz(cells);

		check_slow(amount[c] == (s16)amount[c]);
		any |= mix.of[c] = (s16)amount[c];
	}
	if (!any)
		return 0;
	s = find(&mix);
	if (!*s && n_known >= (part ? CPU_MIXES : WHOLE_MIXES))
		return 0;
	if (!*s)
		add(&mix, s);
	return BANK_AT(mixed) + (s32)(8 * (*s - 1));
}

static bool knows_all(const struct bank *bank)
{
	return bank->knows_mixes && bank->mixes == __atomic_load_n(&n_known, __ATOMIC_SEQ_CST);
}

void mixes_know_locked(struct cpu *cpu)
{
	struct bank *bank = cpu_bank(cpu);

	if (knows_all(bank))
		return;
	for (u32 n = 0; n < n_known; n++)
		write(bank, n);
	__atomic_store_n(&bank->mixes, n_known, __ATOMIC_RELEASE);
	bank->knows_mixes = 1;
}

void mixes_know(struct cpu *cpu)
{
	if (knows_all(cpu_bank(cpu)))
		return;
	lock_acquire(&dbt_lock);
	mixes_know_locked(cpu);
	cache_unlock();
}

const struct mix *mixes_all(u32 *n)
{
	*n = n_known;
	return known;
}

void mixes_load(const struct mix *mix, u32 n)
{
	check(!n_known && n <= CPU_MIXES);
	memcpy(known, mix, n * sizeof(*mix));
	n_known = n;
}
