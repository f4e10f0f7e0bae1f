/* Futex locks; see lock.h. */
#include <asm/errno.h>
#include <linux/futex.h>
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/sys.h"

#define SPINS	100	  /* looks at a lock before sleeping: most are held for less than a microsecond */
/*
 * How long it sleeps before it asks whether the holder is gone. It doubles each time: thousands that wait for the same
 * lock would do nothing else.
 */
#define LOOK_NS	     5000000l
#define LOOK_MOST_NS 640000000l

struct lock_host lock_host;

static struct lock_holder *self(void)
{
	return lock_host.self ? lock_host.self() : NULL;
}

static u32 name_of(const struct lock_holder *who)
{
	return who ? who->name : LOCK_NOBODY;
}

#ifdef PCL_DEBUG
void lock_rank_acquired(u32 rank)
{
	struct lock_holder *who = self();

	if (who) {
		check(!(who->ranks >> rank));
		who->ranks |= 1ul << rank;
	}
}

static void rank_released(struct lock_holder *who, u32 rank)
{
	if (who)
		who->ranks &= ~(1ul << rank);
}

u64 lock_ranks(void)
{
	return self() ? self()->ranks : 0;
}

void lock_set_ranks(u64 ranks)
{
	if (self())
		self()->ranks = ranks;
}
#else
void lock_rank_acquired(u32 rank)
{
	(void)rank;
}

static void rank_released(struct lock_holder *who, u32 rank)
{
	(void)who, (void)rank;
}

u64 lock_ranks(void)
{
	return 0;
}

void lock_set_ranks(u64 ranks)
{
	(void)ranks;
}
#endif

bool lock_held(u32 rank)
{
	return !self() || (lock_ranks() >> rank & 1);
}

/* Releases, too: who has the lock has counted it before. */
static bool cas(u32 *word, u32 old, u32 new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void lock_init(struct lock *l, enum lock_rank rank)
{
	check(rank > RANK_NONE && rank <= RANK_LOG);
	l->word = 0;
	l->rank = rank;
}

/* If the holder that the word names is gone, the lock is `name`'s. */
static bool take_over(struct lock *l, u32 word, u32 name)
{
	u32 holder = word & ~LOCK_WAITERS, ours = name | LOCK_WAITERS;

	if (holder == LOCK_NOBODY || !lock_host.is_gone(holder) || !cas(&l->word, word, ours))
		return false;
	/* The name may have become a new thread's in between, that has acquired the lock, and may have released it. */
	if (!lock_host.is_gone(holder)) {
		cas(&l->word, ours, word | LOCK_WAITERS);
		return false;
	}
	if (__atomic_load_n(&l->word, __ATOMIC_RELAXED) != ours)
		return false;
	lock_host.mend(l);
	return true;
}

static void wait_for(struct lock *l, u32 name)
{
	s64 look[2] = {0, LOOK_NS};
	u32 word;

	for (;;) {
		word = __atomic_load_n(&l->word, __ATOMIC_RELAXED);
		if (!word && cas(&l->word, 0, name | LOCK_WAITERS))
			return;
		if (!word || (!(word & LOCK_WAITERS) && !cas(&l->word, word, word | LOCK_WAITERS)))
			continue;
		word |= LOCK_WAITERS;
		if (sys4(__NR_futex, &l->word, FUTEX_WAIT_PRIVATE, word, look) != -ETIMEDOUT)
			continue;
		if (take_over(l, word, name))
			return;
		look[1] = MIN(2 * look[1], LOOK_MOST_NS);
	}
}

void lock_acquire(struct lock *l)
{
	struct lock_holder *who = self();
	u32 name = name_of(who);

	lock_rank_acquired(l->rank);
	if (who)
		who->holds++;
	for (int spin = 0; spin < SPINS; spin++) {
		if (!__atomic_load_n(&l->word, __ATOMIC_RELAXED) && cas(&l->word, 0, name))
			return;
		arch_pause();
	}
	wait_for(l, name);
}

bool lock_try(struct lock *l)
{
	struct lock_holder *who = self();
	bool done;

	if (who)
		who->holds++;
	done = cas(&l->word, 0, name_of(who));
	if (done)
		lock_rank_acquired(l->rank);
	else if (who)
		who->holds--;
	return done;
}

static void give_back(struct lock *l)
{
	u32 was = __atomic_exchange_n(&l->word, 0, __ATOMIC_ACQ_REL);

	check(was);
	if (was & LOCK_WAITERS)
		sys3(__NR_futex, &l->word, FUTEX_WAKE_PRIVATE, 1);
}

void lock_release(struct lock *l)
{
	struct lock_holder *who = self();

	rank_released(who, l->rank);
	give_back(l);
	if (who)
		who->holds--;
}

void lock_free_of_dead(struct lock *l)
{
	u32 word = __atomic_load_n(&l->word, __ATOMIC_RELAXED);

	if (word && take_over(l, word, name_of(self())))
		give_back(l);
}
