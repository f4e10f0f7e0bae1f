/* Taking a section over from a thread that does not run: section.h says how, and why it is safe. */
#include <linux/time_types.h>
#include "rt/log.h"
#include "rt/section_state.h"
#include "rt/stats.h"

#define TAKERS_MAX 16	   /* who took over from whom who took over ... */
#define NAP_NS 100000u	   /* before a challenge */
#define CLOCK_MONOTONIC_ 1
#define PATIENCE_NS 10000000000ul
#define WAITS_PER_LOOK 256u

static void sleep_on(const u64 *state, u64 seen, u64 ns)
{
	const struct __kernel_timespec time = {0, (long long)ns};

	sys4(__NR_futex, state, FUTEX_WAIT, (u32)seen, &time);
}

static u64 now_ns(void)
{
	struct __kernel_timespec time = {0, 0};

	sys2(__NR_clock_gettime, CLOCK_MONOTONIC_, &time);
	return (u64)time.tv_sec * 1000000000ul + (u64)time.tv_nsec;
}

/*
 * How many a journal has. The counts are where others may write: what ends beyond anything that was ever written there
 * is no journal's, and its 2 GiB are not looked through.
 */
static u64 nr_notes(const struct journal *j)
{
	u64 n = __atomic_load_n(&j->notes, __ATOMIC_ACQUIRE), last = n - 1 - SECTION_NOTES;
	const struct section_long *more = section_host.longer;

	if (n <= SECTION_NOTES || (more && last < SECTION_LONG_NOTES && more->note[last].where))
		return n;
	return SECTION_NOTES;
}

static u32 nr_afters(const struct journal *j)
{
	u32 n = __atomic_load_n(&j->afters, __ATOMIC_ACQUIRE), last = n - 1 - SECTION_AFTERS;
	const struct section_long *more = section_host.longer;

	if (n <= SECTION_AFTERS || (more && last < SECTION_LONG_AFTERS && more->after[last].kind))
		return n;
	return SECTION_AFTERS;
}

void section_put_back(const struct journal *j)
{
	for (u64 n = nr_notes(j); n--;) {
		const struct section_note note = n < SECTION_NOTES ? j->note[n]
								   : section_host.longer->note[n - SECTION_NOTES];
		u64 at = note.where & ((1ul << SECTION_SIZE_SHIFT) - 1);
		char *p = section_host.noted + at;

		if (at >= section_host.noted_size || section_host.noted_size - at < 8)
			continue;
		switch (note.where >> SECTION_SIZE_SHIFT) {
		case 1:
			__atomic_store_n((u8 *)p, (u8)note.old, __ATOMIC_RELAXED);
			break;
		case 2:
			__atomic_store_n((u16 *)p, (u16)note.old, __ATOMIC_RELAXED);
			break;
		case 4:
			__atomic_store_n((u32 *)p, (u32)note.old, __ATOMIC_RELAXED);
			break;
		case 8:
			__atomic_store_n((u64 *)p, note.old, __ATOMIC_RELAXED);
		}
	}
}

/*
 * The notes of a TAKEN section, or what it put off. May be begun again by another thread at any point: the same stores.
 */
static void finish(struct section *s, struct journal *j, u64 state)
{
	bool done = state & SECTION_DONE;
	u32 afters = nr_afters(j);
	u32 noting = s->noting;

	s->noting = 0;
	if (done)
		__atomic_store_n(&j->last_done, turn_of(state) + 1, __ATOMIC_RELEASE);
	else
		section_put_back(j);
	section_do_afters(j, afters, done);
	s->noting = noting;
	cas(&j->state, state, (turn_of(state) + 1) << SECTION_TURN_SHIFT | SECTION_LOST); /* B */
	wake_all(&j->state);
	stat_inc(lock_takeovers);
}

/*
 * Somebody has taken it, who may be stopped or dead by now: whoever may put its notes back is as whoever holds a lock.
 * True: it is over, or may be; *taker: false, then the section to wait for.
 */
static bool finish_taken(struct section *s, struct journal *j, u64 state, u32 deep, u64 *taker)
{
	u64 seen = __atomic_load_n(&j->taker, __ATOMIC_ACQUIRE);

	if (seen != s->name && !is_over(seen) && deep < TAKERS_MAX) {
		*taker = seen;
		return false;
	}
	if (cas(&j->taker, seen, s->name)) {
		if (state_of(j) == state)
			finish(s, j, state);
		/* It goes on, and may wait for long: not to be taken for who puts the journal's next turn back. */
		cas(&j->taker, s->name, 0);
	}
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

/*
 * Asks the section's thread whether it runs, and takes the section if there is no answer in time. True: look again at
 * once.
 */
static bool challenge(struct section *s, struct journal *j, u32 number, u64 state)
{
	u64 challenged = next_serial(state) | SECTION_CHALLENGED | SECTION_WAITERS;
	enum section_fence fence;

	if (!cas(&j->state, state, challenged))
		return true;
	fence = section_host.fence(number & ~SECTION_SPARE);
	if (fence == FENCE_DEAD)
		return cas(&j->state, challenged, challenged | SECTION_TAKEN);
	if (fence == FENCE_FAILED) { /* it may be stopped for as long as somebody likes */
		s->waits_since = now_ns();
		return false;
	}
	return stays(j, challenged, fence == FENCE_PASSED ? SECTION_ANSWER_NS : SECTION_GRACE_NS) &&
	       cas(&j->state, challenged, challenged | SECTION_TAKEN);
}

/* One attempt to see the end of the section with that name, or to bring it about. */
static void wait_for_taker(struct section *s, u64 name, u32 round, u32 deep)
{
	struct journal *j;
	u64 state, taker;

	check_slow(deep <= TAKERS_MAX);
	if (is_over(name)) /* or it is none: somebody has written there who had no business to */
		return;
	j = journal_named(name);
	state = state_of(j);
	if (!same_turn(state, name))
		return;
	if (state & SECTION_TAKEN) {
		if (!finish_taken(s, j, state, deep, &taker))
			wait_for_taker(s, taker, round, deep + 1);
		return;
	}
	/*
	 * A challenge is left to who made it: another one would restart the wait, for both. Unless that one is stopped
	 * too.
	 */
	if ((state & SECTION_CHALLENGED) && !stays(j, state, 2 * SECTION_GRACE_NS))
		return;
	if (round && challenge(s, j, (u32)(name >> SECTION_OWNER_SHIFT), state))
		return;
	state = state_of(j);
	if (same_turn(state, name) && ((state & SECTION_WAITERS) || cas(&j->state, state, state | SECTION_WAITERS)))
		sleep_on(&j->state, state | SECTION_WAITERS, NAP_NS);
}

/*
 * No section is so long. Its owner answers challenges, since it runs, but is in no section of that name: a lock or a
 * journal has been written by who had no business to.
 */
static void check_patience(struct section *s, u64 name)
{
	if (s->waited != name) {
		s->waited = name;
		s->waits = 0;
		s->waits_since = now_ns();
	}
	check(++s->waits % WAITS_PER_LOOK || now_ns() - s->waits_since < PATIENCE_NS);
}

void section_wait_for(struct section *s, u64 name, u32 round)
{
	check_patience(s, name);
	wait_for_taker(s, name, round, 0);
}
