/*
 * The words that polls add to, bank.poll[]: see CPU_POLL_WORDS. By their owner, outside translated code; but what they
 * have counted anybody may ask for.
 */
#ifndef CPU_POLL_WORDS_H
#define CPU_POLL_WORDS_H

#include "cpu/cpu.h"

u64 poll_words_counted(const struct bank *bank);

/* They have counted nothing. How many units may pass stays. */
void poll_words_clear(struct bank *bank);

/*
 * So many units may pass, one for each word at least and CPU_POLL_MOST in all at most. All words are to be used up at
 * the same time, so each has a part by what was used of it before, and some more.
 */
void poll_words_share(struct cpu *cpu, u64 units);

/* No poll stops for a long time: a limit is approached otherwise. */
void poll_words_far(struct cpu *cpu);

#endif
