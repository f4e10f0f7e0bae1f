/* Futex locks; see lock.h. */
#include <linux/futex.h>
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/sys.h"

#define SPINS 100 /* looks at a lock before sleeping: most are held for less than a microsecond */

static u64 *(*held_ranks)(void);

void lock_set_held(u64 *(*held)(void))
{
	held_ranks = held;
}

void lock_rank_acquired(u32 rank)
{
#ifdef PCL_DEBUG
	u64 *held = held_ranks ? held_ranks() : NULL;

	if (held) {
		check(!(*held >> rank));
		*held |= 1ul << rank;
	}
#else
	(void)rank;
	(void)held_ranks;
#endif
}

u64 lock_ranks(void)
{
#ifdef PCL_DEBUG
	u64 *held = held_ranks ? held_ranks() : NULL;

	return held ? *held : 0;
#else
	return 0;
#endif
}

bool lock_held(u32 rank)
{
	return !held_ranks || !held_ranks() || (lock_ranks() >> rank & 1);
}

void lock_set_ranks(u64 ranks)
{
#ifdef PCL_DEBUG
	u64 *held = held_ranks ? held_ranks() : NULL;

	if (held)
		*held = ranks;
#else
	(void)ranks;
#endif
}

static void rank_check_release(u32 rank)
{
#ifdef PCL_DEBUG
	u64 *held = held_ranks ? held_ranks() : NULL;

	if (held)
		*held &= ~(1ul << rank);
#else
	(void)rank;
#endif
}

static bool cas(u32 *word, u32 old, u32 new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void lock_init(struct lock *l, enum lock_rank rank)
{
	check(rank > RANK_NONE && rank <= RANK_LOG);
	l->word = 0;
	l->rank = rank;
}

void lock_acquire(struct lock *l)
{
	lock_rank_acquired(l->rank);
	for (int spin = 0; spin < SPINS; spin++) {
		if (!__atomic_load_n(&l->word, __ATOMIC_RELAXED) && cas(&l->word, 0, 1))
			return;
		arch_pause();
	}
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		sys4(__NR_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, 0);
}

bool lock_try(struct lock *l)
{
	if (!cas(&l->word, 0, 1))
		return false;
	lock_rank_acquired(l->rank);
	return true;
}

void lock_release(struct lock *l)
{
	u32 was;

	rank_check_release(l->rank);
	was = __atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE);
	check(was);
	if (was == 2)
		sys3(__NR_futex, &l->word, FUTEX_WAKE_PRIVATE, 1);
}
