/* The state of a journal, its name, and whether a section is over: for rt/section*.c only. See section.h. */
#ifndef RT_SECTION_STATE_H
#define RT_SECTION_STATE_H

#include <linux/futex.h>
#include "rt/section.h"
#include "rt/sys.h"

static inline bool cas(u64 *word, u64 old, u64 new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline u64 state_of(const struct journal *j)
{
	return __atomic_load_n(&j->state, __ATOMIC_ACQUIRE);
}

static inline u64 turn_of(u64 state)
{
	return state >> SECTION_TURN_SHIFT;
}

/* Locks and journals are where anybody may have written anything. */
static inline bool is_name(u64 name)
{
	return name && (name >> SECTION_OWNER_SHIFT & ~(u64)SECTION_SPARE) < SECTION_JOURNALS;
}

static inline struct journal *journal_named(u64 name)
{
	return section_journal((u32)(name >> SECTION_OWNER_SHIFT));
}

static inline bool same_turn(u64 state, u64 name)
{
	return (state & SECTION_BUSY) && ((turn_of(state) ^ name) & ((1ul << SECTION_OWNER_SHIFT) - 1)) == 0;
}

/* The section with that name is over, or there was none. */
static inline bool is_over(u64 name)
{
	return !is_name(name) || !same_turn(state_of(journal_named(name)), name);
}

static inline u64 name_of(u64 number, u64 turn)
{
	return number << SECTION_OWNER_SHIFT | (turn & ((1ul << SECTION_OWNER_SHIFT) - 1));
}

static inline void wake_all(const u64 *state)
{
	sys3(__NR_futex, state, FUTEX_WAKE, 0x7fffffff);
}

/* Stores the old values again, newest first. */
void section_put_back(const struct journal *j);
static inline u64 section_most_afters(void)
{
	return SECTION_AFTERS + (section_host.longer ? SECTION_LONG_AFTERS : 0);
}

/* The first n things that were put off: whose section it is has their number where nobody else can write. */
static inline void section_do_afters(const struct journal *j, u32 n, bool committed)
{
	for (u32 i = 0; i < n; i++) {
		const struct section_after *a = i < SECTION_AFTERS ? &j->after[i]
								   : &section_host.longer->after[i - SECTION_AFTERS];

		section_host.after(a->kind, a->arg, a->value, committed);
	}
}

/*
 * One attempt to see the end of the section with that name, or to bring it about; round: how many there were before.
 * The caller is in a section.
 */
void section_wait_for(struct section *s, u64 name, u32 round);

/*
 * Keeps the callee's registers and the stack from the caller's frame up to stack_top; returns how many bytes that are.
 * Goes on here again when section_restart() is called: of the stack below the kept part, and of that, nothing is used.
 */
u64 section_save(struct section_regs *regs, char *kept_stack, u64 stack_top);
void section_restart(struct section *s) __attribute__((noreturn));
/* Calls work(arg), where section_restart() leads to; see section_run(). */
void section_call(struct section *s, void (*work)(void *arg), void *arg);
/* 0, and 1 when section_resume() leads here again. Nothing of the stack is kept. */
u32 section_mark(struct section_regs *regs) __attribute__((returns_twice));
void section_resume(const struct section_regs *regs) __attribute__((noreturn));

#endif
