/* See cpu/poll_words.h. */
#include "cpu/poll_words.h"
#include "rt/log.h"

/* Units that a word is given where no poll is to stop; its top byte is 0xff then, see UNLIMITED in cpu/bank.c. */
#define FAR (1ul << (55 - CPU_POLL_SHIFT))

/* A word's lower part: what it has counted, or, below 0, taken back more than that. */
static u64 counted_in(const u64 *word)
{
	u64 value = __atomic_load_n(word, __ATOMIC_RELAXED);

	return (u64)((s64)(value << (64 - CPU_POLL_SHIFT)) >> (64 - CPU_POLL_SHIFT));
}

static void store(u64 *word, u64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

u64 poll_words_counted(const struct bank *bank)
{
	u64 sum = 0;

	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		sum += counted_in(&bank->poll[i]);
	return sum;
}

void poll_words_clear(struct bank *bank)
{
	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		store(&bank->poll[i], bank->poll[i] - counted_in(&bank->poll[i]));
}

/* Sets a word's upper part. */
static void set_word(struct cpu *cpu, u32 i, u64 units)
{
	u64 *word = &cpu_bank(cpu)->poll[i];

	cpu->limits.part[i] = units;
	store(word, counted_in(word) - units * CPU_POLL_UNIT);
}

/* What has passed since the word was set, in units: a number that others may have spoiled. */
static u64 passed_in(const struct cpu *cpu, u32 i)
{
	u64 passed = cpu->limits.part[i] + (u64)((s64)cpu_bank(cpu)->poll[i] >> CPU_POLL_SHIFT);

	return MIN(passed, (u64)CPU_POLL_MOST);
}

void poll_words_share(struct cpu *cpu, u64 units)
{
	u64 all = 0, more, each;

	check_slow(units >= CPU_POLL_WORDS && units <= CPU_POLL_MOST);
	for (u32 i = 0; i < CPU_POLL_WORDS; i++) {
		cpu->limits.used[i] = cpu->limits.used[i] / 2 + passed_in(cpu, i);
		all += cpu->limits.used[i];
	}
	more = all / 64 + 1;
	each = ((units - CPU_POLL_WORDS) << 16) / (all + CPU_POLL_WORDS * more);
	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		set_word(cpu, i, 1 + ((cpu->limits.used[i] + more) * each >> 16));
}

void poll_words_far(struct cpu *cpu)
{
	for (u32 i = 0; i < CPU_POLL_WORDS; i++)
		set_word(cpu, i, FAR);
}
