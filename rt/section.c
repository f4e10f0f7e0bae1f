/*
 * See section.h.
 *
 *   owner, at the end                    waiter
 *   stores                               state: T|BUSY -> |CHALLENGED; fence, grace
 *   state = T+1              (A)         state: T|BUSY|CHALLENGED -> |TAKEN         (A)
 *                                        put back; state = T+1|LOST                 (B)
 *   next section sees owner's turn (B)   acquires: lock.owner
 *
 * A: the owner's is a plain store, for it does not run when a waiter is that far: it has committed, or it is going to
 * run its handler first.
 *    What waiters have set in the state is lost by it; they look again.
 * B: whoever finds a lock free by the turn has seen all stores of the section, or all that were put back.
 */
#include "rt/section_state.h"

#include "rt/lock.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/stress.h"

#define SPINS 100	   /* looks at a lock before sleeping: most are held for less than a microsecond */

struct section_host section_host;

_Static_assert(!__builtin_offsetof(struct section, kept_stack) && __builtin_offsetof(struct section, kept) == 8 &&
		       __builtin_offsetof(struct section, begin) == 16 &&
		       __builtin_offsetof(struct section, called) == 16 + sizeof(struct section_regs),
	       "section.S knows");
_Static_assert(sizeof(struct journal) <= LAYOUT_JOURNAL_SIZE - SECTION_SPARE_SIZE, "a journal has its place");
_Static_assert(sizeof(struct section_long) <= LAYOUT_LONG_SIZE, "it has its place");

/* ---- a section's beginning and end ---- */

/* Under the turn that the journal is free for. */
static inline void begin(struct section *s, u64 state)
{
	struct journal *j = s->journal;

	check_slow(!s->open && s->number);
	s->turn = turn_of(state);
	s->name = name_of(s->number, s->turn);
	s->after = 0;
	j->notes = j->afters = s->notes = s->afters = 0;
	j->biased_n = s->biased_n = 0;
	s->noting = 1;
	__atomic_store_n(&s->open, 1, __ATOMIC_RELEASE);
	/* in front of lock.owner's */
	__atomic_store_n(&j->state, s->turn << SECTION_TURN_SHIFT | SECTION_BUSY, __ATOMIC_RELEASE);
}

static inline void end(struct section *s)
{
	struct journal *j = s->journal;
	u64 old = state_of(j);

	check_slow(s->open);
	s->noting = 0;
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
	check((number & ~(u64)SECTION_SPARE) < SECTION_JOURNALS);
	s->number = number;
	s->journal = section_journal((u32)number);
}

/*
 * The thread's last section was taken over, and is not ended yet. If this one is taken too, all restarts behind
 * section_save().
 */
static void await_end_of_last(struct section *s)
{
	struct journal *j = s->journal;
	u64 own = s->number, state;

	use_journal(s, own | SECTION_SPARE);
	free_spare(s->journal);
	begin(s, state_of(s->journal));
	for (u32 round = 0; (state = state_of(j)) & SECTION_BUSY; round++)
		if (state & SECTION_TAKEN)
			section_wait_for(s, name_of(own, turn_of(state)), round);
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

	check_slow(!s->after && s->afters <= section_most_afters());
	if (section_mark(&s->end))
		return; /* somebody else has done it */
	s->noting = 0;
	s->after = 1;
	__atomic_store_n(&j->state, state_of(j) | SECTION_DONE, __ATOMIC_RELEASE); /* A */
	section_do_afters(j, s->afters, true);
}

static void close_section(struct section *s)
{
	if (s->afters)
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
	*done = __atomic_load_n(&j->last_done, __ATOMIC_ACQUIRE) == s->turn + 1;
	return state & SECTION_LOST;
}

/*
 * It has not happened. The notes are put back while the section is still this thread's: if it is taken over meanwhile,
 * the taker stores the same, and the thread never gets any further, as with its other stores.
 */
static void take_back(struct section *s)
{
	s->noting = 0;
	section_put_back(s->journal);
	section_do_afters(s->journal, s->afters, false);
	end(s);
	s->depth = 0;
	lock_set_ranks(s->ranks);
}

void section_leave_for(void (*what)(void *arg), void *arg)
{
	struct section *s = section_self();

	check(s->open && !s->after && s->restartable);
	take_back(s);
	what(arg);
	section_restart(s);
}

bool section_interrupted(struct section *s, u64 *rip, u64 *first)
{
	bool done;

	if (!__atomic_load_n(&s->open, __ATOMIC_ACQUIRE) || !was_taken(s, &done))
		return false;
	s->noting = 0;
	__atomic_store_n(&s->open, 0, __ATOMIC_RELEASE);
	stat_inc(section_restarts);
	if (done && s->after) { /* s->end is of this section: what others have written is not enough */
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
		section_wait_for(s, name_of(number, turn_of(state)), round);
	free_spare(section_journal(number | SECTION_SPARE));
}

/* ---- locks ---- */

static inline bool has(const struct section *s, const struct slock *l)
{
	for (u32 i = 0; i < s->biased_n; i++)
		if (s->journal->biased[i] == l)
			return true;
	return __atomic_load_n(&l->owner, __ATOMIC_RELAXED) == s->name;
}

bool slock_is_held(const struct slock *l)
{
	const struct section *s = section_self();

	return s->depth && has(s, l);
}

/* The list is visible to whoever revokes the bias, or that is seen here. */
static inline bool acquire_biased(struct section *s, const struct slock *l)
{
	u64 bias = __atomic_load_n(&l->bias, __ATOMIC_RELAXED);
	struct journal *j = s->journal;

	if (!bias || bias >> SECTION_OWNER_SHIFT != s->bias_number || s->biased_n == SECTION_BIASED)
		return false;
	__atomic_store_n(&j->biased[s->biased_n], l, __ATOMIC_RELAXED);
	__atomic_store_n(&j->biased_n, s->biased_n + 1, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (likely(__atomic_load_n(&l->bias, __ATOMIC_ACQUIRE) == bias)) {
		s->biased_n++;
		return true;
	}
	__atomic_store_n(&j->biased_n, s->biased_n, __ATOMIC_RELEASE);
	return false;
}

static bool is_listed(const struct journal *j, const struct slock *l)
{
	u64 n = MIN(__atomic_load_n(&j->biased_n, __ATOMIC_ACQUIRE), (u64)SECTION_BIASED);

	for (u64 i = 0; i < n; i++)
		if (__atomic_load_n(&j->biased[i], __ATOMIC_RELAXED) == l)
			return true;
	return false;
}

/* Any thread may do it, or go on with what another one has begun. Returns the section to wait for, 0: look again. */
static u64 revoke(struct slock *l, u64 bias)
{
	u64 name = bias & ~SECTION_REVOKING, state;
	const struct journal *j;

	if (!is_name(name)) { /* somebody has written there who had no business to */
		cas(&l->bias, bias, 0);
		return 0;
	}
	if (!(bias & SECTION_REVOKING) && !cas(&l->bias, bias, bias | SECTION_REVOKING))
		return 0;
	section_host.barrier();
	j = journal_named(name);
	state = state_of(j);
	/* The list is of that turn, or the section is over. */
	if ((state & SECTION_BUSY) && is_listed(j, l) && turn_of(state_of(j)) == turn_of(state))
		return name_of(name >> SECTION_OWNER_SHIFT, turn_of(state));
	cas(&l->bias, bias | SECTION_REVOKING, 0);
	return 0;
}

/* By the lock's owner. */
static void count_again(const struct section *s, struct slock *l, u64 last)
{
	if (l->rank || s->bias_number != s->number || !section_host.barrier)
		return;
	if (last >> SECTION_OWNER_SHIFT != s->number || l->bias) {
		l->again = 0;
	} else if (++l->again >= SECTION_BIAS_AFTER) {
		l->again = 0;
		__atomic_store_n(&l->bias, s->name, __ATOMIC_RELEASE);
	}
}

/*
 * *seen: the section to wait for. First that the owner's section is over, then the bias: if it has biased the lock, it
 * did so before it was over; and whoever biases the lock later has become its owner before.
 */
static bool try_acquire(const struct section *s, struct slock *l, u64 *seen)
{
	u64 owner = *seen = __atomic_load_n(&l->owner, __ATOMIC_ACQUIRE), bias;

	if (!is_over(owner))
		return false;
	bias = __atomic_load_n(&l->bias, __ATOMIC_ACQUIRE);
	if (unlikely(bias && (bias & ~SECTION_REVOKING) >> SECTION_OWNER_SHIFT != s->number)) {
		*seen = revoke(l, bias);
		return false;
	}
	if (!cas(&l->owner, owner, s->name))
		return false;
	count_again(s, l, owner);
	return true;
}

/* Also after a wakeup, when whoever releases the lock often may have it again. */
static bool spin_for(const struct section *s, struct slock *l, u64 *seen)
{
	for (int spin = 0; spin < SPINS; spin += l->bias ? SPINS / 4 : 1) { /* each look at a bias is a barrier */
		if (try_acquire(s, l, seen))
			return true;
		arch_pause();
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
static __attribute__((noinline)) void wait_for_awaited(struct section *s)
{
	for (u32 round = 0; !is_over(s->awaited); round++)
		section_wait_for(s, s->awaited, round);
	s->awaited = 0;
}

static __attribute__((noinline)) void acquire_slowly(struct section *s, struct slock *l)
{
	u64 seen;

	for (u32 round = 0; !spin_for(s, l, &seen); round++) {
		if (s->small && s->restartable)
			give_up(s, seen);
		section_wait_for(s, seen, round);
	}
}

static inline void acquire_in_section(struct section *s, struct slock *l)
{
	if (unlikely(!acquire_biased(s, l)))
		acquire_slowly(s, l);
}

/*
 * By section_save() the stack of the caller's frame and above is kept. Without that a section can be taken over, but
 * not begin again: a thread that is not dead must not come back to it.
 */
static __attribute__((noinline)) void keep_stack(struct section *s)
{
	s->restartable = s->stack_top != 0;
	if (!s->stack_top)
		return;
	check(s->stack_top - (u64)__builtin_frame_address(0) < SECTION_STACK);
	s->kept = section_save(&s->begin, s->kept_stack, s->stack_top);
}

static inline void begin_first(struct section *s, bool small)
{
	s->kept = 0;
	s->ranks = lock_ranks();
	s->restartable = s->called;
	if (likely(s->called)) {
		s->called = 0;
	} else {
		s->serial++;
		keep_stack(s);
	}
	open_section(s);
	s->small = small;
	if (unlikely(s->awaited))
		wait_for_awaited(s);
}

static __attribute__((noinline)) void acquire_again(struct section *s, struct slock *l)
{
	s->depth++;
	if (slock_is_held(l))
		return;
	lock_rank_acquired(l->rank ? l->rank : RANK_SMALL);
	acquire_in_section(s, l);
}

void slock_acquire(struct slock *l)
{
	struct section *s = section_self();

	if (s->depth) {
		acquire_again(s, l);
		return;
	}
	begin_first(s, !l->rank);
	s->depth = 1;
	lock_rank_acquired(l->rank ? l->rank : RANK_SMALL);
	acquire_in_section(s, l);
}

void section_run(void (*work)(void *arg), void *arg)
{
	struct section *s = section_self();

	check_slow(!s->open);
	s->serial++;
	section_call(s, work, arg);
}

void slock_hold(struct slock *l)
{
	struct section *s = section_self();

	check(s->open);
	if (!has(s, l))
		acquire_in_section(s, l);
}

/*
 * As if it had been taken over in front of its last store; now and then a while later, for what others store meanwhile.
 * Not of those that sample, of which there are too many.
 */
static void restart_once(struct section *s)
{
	bool late = !s->small && ((u32)s->serial * 0x9e3779b1u >> 16) % STRESS_LATE == 0;

	if (!s->restartable || s->stressed == s->serial)
		return;
	s->stressed = s->serial;
	for (u32 i = 0; late && i < STRESS_PAUSES; i++)
		arch_pause();
	take_back(s);
	stat_inc(section_restarts);
	section_restart(s);
}

void slock_release(struct slock *l)
{
	struct section *s = section_self();

	check(s->depth && s->open);
	if (--s->depth)
		return;
	if (stress(STRESS_RESTART))
		restart_once(s);
	lock_set_ranks(s->ranks);
	close_section(s);
}
