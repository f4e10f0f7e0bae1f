/* See dbt/mixes.h. */
#include "dbt/mixes.h"
#include "dbt/cache.h"
#include "dbt/dbt.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/string.h"

#define SLOTS (2 * CPU_MIXES)
#define WHOLE_MIXES (CPU_MIXES / 4 * 3)
/* A mix has up to so many words; no second one once so many numbers are given. */
#define WORDS_EACH  4
#define MANY_GIVEN  (WHOLE_MIXES / 4 * 3)
/*
 * A word's tag is its displacement modulo TAGS words. On AMD's Zen 4 an addition takes 6 ns after one to another word
 * with the same tag, else next to nothing (doc/performance.md). So code that runs together is to add to words with
 * different tags.
 */
#define TAGS	    128
#define RECENT	    12 /* increments that were made before; they may well run with the next one */

/* A number may stand for nothing, and several for the same. */
static struct mix known[CPU_MIXES];
static u32 n_known;
static u16 slot[SLOTS];	       /* 1 + the newest number, by hash; open addressing */
static u16 older[CPU_MIXES];   /* 1 + the one before it of the same mix, 0: none */
static u32 n_hashed;	       /* so many are in slot[] */
static u32 recent[RECENT];     /* 1 + number, a ring */
static u32 n_recent;

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
 * One bank: the mix is in it before there is code that counts by it. A thread in execve is left out. If that call
 * fails, its bank lacks mixes until mixes_know().
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
static void add(const struct mix *mix)
{
	u32 n = n_known;

	known[n] = *mix;
	__atomic_store_n(&n_known, n + 1, __ATOMIC_SEQ_CST);
	dbt_host_any_cpu(add_to_bank, &n);
}

static void hash_new(void)
{
	for (; n_hashed < n_known; n_hashed++) {
		u16 *s = find(&known[n_hashed]);

		if (*s == n_hashed + 1) /* it is in: who put it there died before n_hashed rose */
			continue;
		older[n_hashed] = *s;
		*s = (u16)(n_hashed + 1);
	}
}

static s32 word_of(u32 n)
{
	return BANK_AT(mixed) + (s32)(8 * n);
}

static u32 tag_of(s32 disp)
{
	return (u32)disp / 8 % TAGS;
}

/* Its tag is that of a word that most code uses which counts by mixes. */
static bool is_reserved(u32 n)
{
	u32 tag = tag_of(word_of(n));

	return tag - tag_of(CPU_AT(stolen)) < 3 || tag - tag_of(BANK_AT(cycles)) < CPU_TURNS ||
	       tag - tag_of(BANK_AT(not_taken)) < CPU_TURNS;
}
_Static_assert(CPU_AT(spill[1]) == CPU_AT(stolen) + 16, "is_reserved()");

/* Another word with the same tag was used a short while ago. */
static bool collides(u32 n)
{
	for (u32 i = 0; i < RECENT; i++)
		if (recent[i] && recent[i] != n + 1 && tag_of(word_of(recent[i] - 1)) == tag_of(word_of(n)))
			return true;
	return false;
}

/* 1 + a number of the mix, 0: there are too many. */
static u32 number_of(const struct mix *mix, u32 most)
{
	const struct mix nothing = {0};
	u32 newest = *find(mix), words = 0;

	for (u32 i = newest; i; i = older[i - 1], words++)
		if (!collides(i - 1))
			return i;
	if (newest && (words == WORDS_EACH || n_known >= MANY_GIVEN))
		return newest;
	while (n_known < most && (is_reserved(n_known) || collides(n_known)))
		add(&nothing);
	if (n_known >= most)
		return newest;
	add(mix);
	stat_inc(mixes);
	hash_new();
	return n_known;
}

s32 mixes_word(const s32 amount[CELL_NR], u32 cells, bool part)
{
	struct mix mix = {0};
	s32 any = 0;
	u32 n;

	check_slow(lock_held(RANK_DBT));
	hash_new();
	for (; cells; cells &= cells - 1) {
		u32 c = (u32)__builtin_ctz(cells);

		check_slow(amount[c] == (s16)amount[c]);
		any |= mix.of[c] = (s16)amount[c];
	}
	n = any ? number_of(&mix, part ? CPU_MIXES : WHOLE_MIXES) : 0;
	if (!n)
		return 0;
	recent[n_recent++ % RECENT] = n;
	return word_of(n - 1);
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

static bool catch_up(struct cpu *cpu, void *arg)
{
	(void)arg;
	if (cpu_bank(cpu)->knows_mixes)
		mixes_know_locked(cpu);
	return false;
}

void mixes_mend(void)
{
	dbt_host_any_cpu(catch_up, NULL);
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
