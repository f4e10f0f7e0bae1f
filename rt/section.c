/*
 * See section.h.
 *
 *   owner, at the end                    waiter
 *   stores                               state: T|BUSY -> |CHALLENGED; fence, grace
 *   state = T+1              (A)         state: T|BUSY|CHALLENGED -> |TAKEN         (A)
 *                                        put back; state = T+1|LOST                 (B)
 *   next section sees owner's turn (B)   acquires: lock.owner
 *
 * A: the owner's is a plain store, for it does not run when a waiter is that far: it has committed, or it is going to run its handler first.
 *    What waiters have set in the state is lost by it; they look again.
 * B: whoever finds a lock free by the turn has seen all stores of the section, or all that were put back.
 */
#include "rt/section.h"

#include <linux/futex.h>
#include <linux/time_types.h>
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define TAKERS_MAX 16	   /* who took over from whom who took over ... */
#define SPINS 100	   /* looks at a lock before sleeping: most are held for less than a microsecond */
#define NAP_NS 100000u	   /* before a challenge */
#define CLOCK_MONOTONIC_ 1

struct section_host section_host;

/* rt/x86_64/section.S */
u64 section_save(struct section_regs *regs, char *kept_stack, u64 stack_top);
u32 section_mark(struct section_regs *regs) __attribute__((returns_twice));
void section_restart(struct section *s) __attribute__((noreturn));
void section_resume(const struct section_regs *regs) __attribute__((noreturn));

_Static_assert(sizeof(struct journal) + SECTION_NOTES * sizeof(struct section_note) <= LAYOUT_JOURNAL_SIZE, "a journal has its place");

static bool cas(u64 *word, u64 old, u64 new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static u64 state_of(const struct journal *j)
{
	return __atomic_load_n(&j->state, __ATOMIC_ACQUIRE);
}

static u64 turn_of(u64 state)
{
	return state >> SECTION_TURN_SHIFT;
}

/* Locks and journals are where anybody may have written anything. */
static bool is_name(u64 name)
{
	return name && (name >> SECTION_OWNER_SHIFT & ~(u64)SECTION_SPARE) < SECTION_JOURNALS;
}

static struct journal *journal_named(u64 name)
{
	return section_journal((u32)(name >> SECTION_OWNER_SHIFT));
}

static bool same_turn(u64 state, u64 name)
{
	return (state & SECTION_BUSY) && ((turn_of(state) ^ name) & ((1ul << SECTION_OWNER_SHIFT) - 1)) == 0;
}

/* The section with that name is over, or there was none. */
static bool is_over(u64 name)
{
	return !is_name(name) || !same_turn(state_of(journal_named(name)), name);
}

static void sleep_on(const u64 *state, u64 seen, u64 ns)
{
	const struct __kernel_timespec time = {0, (long long)ns};

	sys4(__NR_futex, state, FUTEX_WAIT, (u32)seen, &time);
}

static void wake_all(const u64 *state)
{
	sys3(__NR_futex, state, FUTEX_WAKE, 0x7fffffff);
}

static u64 now_ns(void)
{
	struct __kernel_timespec time = {0, 0};

	sys2(__NR_clock_gettime, CLOCK_MONOTONIC_, &time);
	return (u64)time.tv_sec * 1000000000ul + (u64)time.tv_nsec;
}

/* ---- taking over ---- */

static void put_back(const struct journal *j)
{
	for (u32 n = MIN(__atomic_load_n(&j->notes, __ATOMIC_ACQUIRE), (u32)SECTION_NOTES); n--;) {
		const struct section_note note = j->note[n];
		char *p = section_host.noted + note.at;

		if (note.at >= section_host.noted_size || section_host.noted_size - note.at < 8)
			continue;
		switch (note.size) {
		case 1:
			__atomic_store_n((u8 *)p, (u8)note.old, __ATOMIC_RELAXED);
			break;
		case 2:
			__atomic_store_n((u16 *)p, (u16)note.old, __ATOMIC_RELAXED);
			break;
		case 4:
			__atomic_store_n((u32 *)p, (u32)note.old, __ATOMIC_RELAXED);
			break;
		default:
			__atomic_store_n((u64 *)p, note.old, __ATOMIC_RELAXED);
		}
	}
}

static void do_afters(const struct journal *j, bool committed)
{
	u32 n = MIN(__atomic_load_n(&j->afters, __ATOMIC_ACQUIRE), (u32)SECTION_AFTERS);

	for (u32 i = 0; i < n; i++)
		section_host.after(j->after[i].kind, j->after[i].arg, j->after[i].value, committed);
}

/* The notes of a TAKEN section, or what it put off. May be begun again by another thread at any point: the same stores. */
static void finish(struct section *s, struct journal *j, u64 state)
{
	bool done = state & SECTION_DONE;
	u32 quiet = s->quiet;

	s->quiet = 1;
	if (done)
		__atomic_store_n(&j->last_done, turn_of(state), __ATOMIC_RELEASE);
	else
		put_back(j);
	do_afters(j, done);
	s->quiet = quiet;
	cas(&j->state, state, (turn_of(state) + 1) << SECTION_TURN_SHIFT | SECTION_LOST); /* B */
	wake_all(&j->state);
	stat_inc(lock_takeovers);
}

/*
 * Somebody has taken it, who may be stopped or dead by now: whoever may put its notes back is as whoever holds a lock. True: it is
 * over, or may be; *taker: false, then the section to wait for.
 */
static bool finish_taken(struct section *s, struct journal *j, u64 state, u32 deep, u64 *taker)
{
	u64 seen = __atomic_load_n(&j->taker, __ATOMIC_ACQUIRE);

	if (seen != s->name && !is_over(seen) && deep < TAKERS_MAX) {
		*taker = seen;
		return false;
	}
	if (cas(&j->taker, seen, s->name) && state_of(j) == state)
		finish(s, j, state);
	return true;
}

static u64 next_serial(u64 state)
{
	return (state & ~SECTION_SERIALS) | ((state + SECTION_SERIAL) & SECTION_SERIALS);
}

static bool stays(const struct journal *j, u64 state, u64 ns)
{
	u64 now = now_ns(), end = now + ns;

	for (; now < end && state_of(j) == state; now = now_ns())
		sleep_on(&j->state, state, end - now);
	return state_of(j) == state;
}

/* Asks the section's thread whether it runs, and takes the section if there is no answer in time. True: look again at once. */
static bool challenge(struct journal *j, u32 number, u64 state)
{
	u64 challenged = next_serial(state) | SECTION_CHALLENGED | SECTION_WAITERS;
	enum section_fence fence;

	if (!cas(&j->state, state, challenged))
		return true;
	fence = section_host.fence(number & ~SECTION_SPARE);
	if (fence == FENCE_DEAD)
		return cas(&j->state, challenged, challenged | SECTION_TAKEN);
	if (fence == FENCE_FAILED)
		return false;
	return stays(j, challenged, fence == FENCE_PASSED ? SECTION_ANSWER_NS : SECTION_GRACE_NS) &&
	       cas(&j->state, challenged, challenged | SECTION_TAKEN);
}

/* One attempt to see the end of the section with that name, or to bring it about. */
static void wait_for_taker(struct section *s, u64 name, u32 round, u32 deep)
{
	struct journal *j = journal_named(name);
	u64 state = state_of(j), taker;

	if (!same_turn(state, name))
		return;
	if (state & SECTION_TAKEN) {
		if (!finish_taken(s, j, state, deep, &taker))
			wait_for_taker(s, taker, round, deep + 1);
		return;
	}
	/* A challenge is left to who made it: another one would begin the wait anew, for both. Unless that one is stopped too. */
	if ((state & SECTION_CHALLENGED) && !stays(j, state, 2 * SECTION_GRACE_NS))
		return;
	if (round && challenge(j, (u32)(name >> SECTION_OWNER_SHIFT), state))
		return;
	state = state_of(j);
	if (same_turn(state, name) && ((state & SECTION_WAITERS) || cas(&j->state, state, state | SECTION_WAITERS)))
		sleep_on(&j->state, state | SECTION_WAITERS, NAP_NS);
}

static void wait_for(struct section *s, u64 name, u32 round)
{
	wait_for_taker(s, name, round, 0);
}

/* ---- a section's beginning and end ---- */

static u64 name_of(u64 number, u64 turn)
{
	return number << SECTION_OWNER_SHIFT | (turn & ((1ul << SECTION_OWNER_SHIFT) - 1));
}

/* Under the turn that the journal is free for. */
static void begin(struct section *s, u64 state)
{
	struct journal *j = s->journal;

	s->turn = turn_of(state);
	s->name = name_of(s->number, s->turn);
	s->quiet = s->after = 0;
	j->notes = j->afters = 0;
	__atomic_store_n(&s->open, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&j->state, s->turn << SECTION_TURN_SHIFT | SECTION_BUSY, __ATOMIC_RELEASE); /* in front of lock.owner's */
}

static void end(struct section *s)
{
	struct journal *j = s->journal;
	u64 old = state_of(j);

	__atomic_store_n(&j->state, (s->turn + 1) << SECTION_TURN_SHIFT, __ATOMIC_RELEASE); /* A */
	__atomic_store_n(&s->open, 0, __ATOMIC_RELEASE);
	if (unlikely(old & SECTION_WAITERS))
		wake_all(&j->state);
}

/* There is nothing to put back, so anyone may end it at any time. */
static void free_spare(struct journal *spare)
{
	u64 state;

	while ((state = state_of(spare)) & SECTION_BUSY)
		cas(&spare->state, state, (turn_of(state) + 1) << SECTION_TURN_SHIFT);
}

static void use_journal(struct section *s, u64 number)
{
	s->number = number;
	s->journal = section_journal((u32)number);
}

/* The thread's last section was taken over, and is not ended yet. If this one is taken too, all begins anew behind section_save(). */
static void await_end_of_last(struct section *s)
{
	struct journal *j = s->journal;
	u64 own = s->number, state;

	use_journal(s, own | SECTION_SPARE);
	free_spare(s->journal);
	begin(s, state_of(s->journal));
	for (u32 round = 0; (state = state_of(j)) & SECTION_BUSY; round++)
		if (state & SECTION_TAKEN)
			wait_for(s, name_of(own, turn_of(state)), round);
		else /* somebody has written there who had no business to */
			cas(&j->state, state, (turn_of(state) + 1) << SECTION_TURN_SHIFT);
	end(s);
	use_journal(s, own);
}

static void open_section(struct section *s)
{
	if (unlikely(s->number & SECTION_SPARE))
		use_journal(s, s->number & ~(u64)SECTION_SPARE);
	if (unlikely(state_of(s->journal) & SECTION_BUSY))
		await_end_of_last(s);
	begin(s, state_of(s->journal));
}

static void do_what_was_put_off(struct section *s)
{
	struct journal *j = s->journal;

	if (section_mark(&s->end))
		return; /* somebody else has done it */
	s->quiet = s->after = 1;
	__atomic_store_n(&j->state, state_of(j) | SECTION_DONE, __ATOMIC_RELEASE); /* A */
	do_afters(j, true);
}

static void close_section(struct section *s)
{
	if (s->journal->afters)
		do_what_was_put_off(s);
	if (likely(s->open))
		end(s);
}

/* The thread was interrupted in a section that is somebody else's by now; *done: but it had been committed. */
static bool was_taken(const struct section *s, bool *done)
{
	struct journal *j = s->journal;
	u64 state = state_of(j);

	while (turn_of(state) == s->turn && !(state & SECTION_TAKEN)) {
		if (!(state & SECTION_CHALLENGED) || cas(&j->state, state, state & ~SECTION_CHALLENGED))
			return false;
		state = state_of(j);
	}
	if (turn_of(state) == s->turn) {
		*done = state & SECTION_DONE;
		return true;
	}
	*done = __atomic_load_n(&j->last_done, __ATOMIC_ACQUIRE) == s->turn;
	return state & SECTION_LOST;
}

/*
 * It has not happened. The notes are put back while the section is still this thread's: if it is taken over meanwhile, the taker stores the
 * same, and the thread never gets any further, as with its other stores.
 */
static void take_back(struct section *s)
{
	s->quiet = 1;
	put_back(s->journal);
	do_afters(s->journal, false);
	end(s);
	s->depth = 0;
	lock_set_ranks(s->ranks);
}

void section_leave_for(void (*what)(void *arg), void *arg)
{
	struct section *s = section_self();

	check(s->open && !s->after && s->stack_top);
	take_back(s);
	what(arg);
	section_restart(s);
}

bool section_interrupted(struct section *s, u64 *rip, u64 *first)
{
	bool done;

	if (!__atomic_load_n(&s->open, __ATOMIC_ACQUIRE) || !was_taken(s, &done))
		return false;
	__atomic_store_n(&s->open, 0, __ATOMIC_RELEASE);
	stat_inc(section_restarts);
	if (done) {
		*rip = (u64)section_resume;
		*first = (u64)&s->end;
		return true;
	}
	s->depth = 0;
	lock_set_ranks(s->ranks);
	*rip = (u64)section_restart;
	*first = (u64)s;
	return true;
}

void section_settle(u32 number)
{
	struct section *s = section_self();
	struct journal *j = section_journal(number);
	u64 state = state_of(j);

	while ((state & SECTION_BUSY) && !(state & SECTION_TAKEN) && !cas(&j->state, state, state | SECTION_TAKEN))
		state = state_of(j);
	for (u32 round = 0; (state = state_of(j)) & SECTION_BUSY; round++)
		wait_for(s, name_of(number, turn_of(state)), round);
	free_spare(section_journal(number | SECTION_SPARE));
}

/* ---- locks ---- */

bool slock_is_held(const struct slock *l)
{
	const struct section *s = section_self();

	return s->depth && __atomic_load_n(&l->owner, __ATOMIC_RELAXED) == s->name;
}

/* Mostly it was the thread itself that had it last. */
static inline bool try_acquire(const struct section *s, struct slock *l, u64 *seen)
{
	*seen = __atomic_load_n(&l->owner, __ATOMIC_ACQUIRE);
	if (!(likely(*seen >> SECTION_OWNER_SHIFT == s->number) && *seen != s->name) && !is_over(*seen))
		return false;
	return cas(&l->owner, *seen, s->name);
}

/* Also after a wakeup, when whoever releases the lock often may have it again. */
static bool spin_for(const struct section *s, struct slock *l, u64 *seen)
{
	for (int spin = 0; spin < SPINS; spin++) {
		if (try_acquire(s, l, seen))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

/* For another section's sake. */
static void give_up(struct section *s, u64 name)
{
	s->awaited = name;
	take_back(s);
	stat_inc(section_yields);
	section_restart(s);
}

/* In a section that has done nothing yet. */
static void wait_for_awaited(struct section *s)
{
	for (u32 round = 0; s->awaited && !is_over(s->awaited); round++)
		wait_for(s, s->awaited, round);
	s->awaited = 0;
}

static __attribute__((noinline)) void acquire_slowly(struct section *s, struct slock *l)
{
	u64 seen;

	for (u32 round = 0; !spin_for(s, l, &seen); round++) {
		if (s->small && s->stack_top)
			give_up(s, seen);
		wait_for(s, seen, round);
	}
}

static inline void acquire_in_section(struct section *s, struct slock *l)
{
	u64 seen;

	if (unlikely(!try_acquire(s, l, &seen)))
		acquire_slowly(s, l);
}

/* Without a kept stack a section can be taken over, but not begin again: a thread that is not dead must not come back to it. */
static inline __attribute__((always_inline)) void keep(struct section *s)
{
	u64 top = s->frame ? s->frame : s->stack_top;

	if (!s->stack_top)
		return;
	check(top - (u64)__builtin_frame_address(0) < SECTION_STACK);
	s->restart.kept = section_save(&s->begin, s->kept_stack, top);
}

void slock_acquire(struct slock *l)
{
	struct section *s = section_self();

	if (!s->depth) {
		s->restart.regs = &s->begin;
		s->restart.stack = s->kept_stack;
		s->ranks = lock_ranks();
		s->serial++;
		keep(s);
		open_section(s);
		s->small = !l->rank;
		wait_for_awaited(s);
	}
	s->depth++;
	if (s->depth > 1 && slock_is_held(l))
		return;
	lock_rank_acquired(l->rank ? l->rank : RANK_SMALL);
	acquire_in_section(s, l);
}

void slock_hold(struct slock *l)
{
	struct section *s = section_self();

	if (__atomic_load_n(&l->owner, __ATOMIC_RELAXED) != s->name)
		acquire_in_section(s, l);
}

void slock_release(struct slock *l)
{
	struct section *s = section_self();

	if (--s->depth)
		return;
	lock_set_ranks(s->ranks);
	close_section(s);
	s->frame = 0;
}

/* ---- notes ---- */

static void overfull(void)
{
	log_printf(0, "a change of the session is too large: more than %lu stores in one section", SECTION_NOTES);
	check(!"the journal is full");
}

static inline void note(struct section *s, u64 at, u32 size, u64 old)
{
	struct journal *j = s->journal;
	u32 n = __atomic_load_n(&j->notes, __ATOMIC_RELAXED);

	if (unlikely(n >= SECTION_NOTES))
		overfull();
	j->note[n] = (struct section_note){.at = at, .size = size & 7, .old = old};
	__atomic_store_n(&j->notes, n + 1, __ATOMIC_RELEASE);
}

/* True if a store there is to be noted. */
static inline bool is_noted(const struct section *s, u64 at)
{
	return at < section_host.noted_size && s->open && !s->quiet;
}

#define NOTE(bits, bytes)                                                                                                 \
	void __asan_store##bytes##_noabort(const u##bits *p);                                                            \
	void __asan_store##bytes##_noabort(const u##bits *p)                                                             \
	{                                                                                                                \
		u64 at = (u64)p - (u64)section_host.noted;                                                               \
		struct section *s;                                                                                       \
                                                                                                                         \
		if (at < section_host.noted_size && is_noted(s = section_self(), at))                                    \
			note(s, at, bytes, *p);                                                                          \
	}

/* The names that the compiler calls before each store: it takes them for the kernel's address sanitizer. */
NOTE(8, 1)
NOTE(16, 2)
NOTE(32, 4)
NOTE(64, 8)

void section_note(const void *p, u64 size)
{
	struct section *s = section_self();
	u64 at = (u64)p - (u64)section_host.noted;
	const char *from = p;

	if (!is_noted(s, at))
		return;
	for (; size >= 8; size -= 8, at += 8, from += 8)
		note(s, at, 8, *(const u64 *)from);
	for (; size; size--, at++, from++)
		note(s, at, 1, *(const u8 *)from);
}

void __asan_storeN_noabort(const void *p, u64 size);
void __asan_storeN_noabort(const void *p, u64 size)
{
	section_note(p, size);
}

void __asan_store16_noabort(const void *p);
void __asan_store16_noabort(const void *p)
{
	section_note(p, 16);
}

void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
}

void section_after(u32 kind, u32 arg, u64 value)
{
	struct section *s = section_self();
	struct journal *j = s->journal;
	u32 n;

	if (!s->open || s->after) {
		section_host.after(kind, arg, value, true);
		return;
	}
	n = __atomic_load_n(&j->afters, __ATOMIC_RELAXED);
	check(n < SECTION_AFTERS);
	if (n) {
		const struct section_after *last = &j->after[n - 1];

		if (last->kind == kind && last->arg == arg && last->value == value)
			return;
	}
	j->after[n] = (struct section_after){kind, arg, value};
	__atomic_store_n(&j->afters, n + 1, __ATOMIC_RELEASE);
}
