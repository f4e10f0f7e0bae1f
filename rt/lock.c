/*
 * Futex locks; see lock.h.
 *
 * A struct slock's owner is dead if its thread id no longer exists, exists in another thread group than the one that the
 * owner noted, or has no memory any more (a thread-group leader stays a zombie until its parent has waited for it). tgid is only
 * believed when it is not 0: it is written after the word on acquiring and cleared before the word on releasing and taking over.
 * Thread ids are those of the pid namespace of the session's launcher; members in another one have a probe of their own.
 */
#include <linux/futex.h>
#include "rt/fmt.h"
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define WAITERS 0x80000000u
#define SPINS 100 /* looks at a lock before sleeping: most are held for less than a microsecond */
#define PROBE_NS 4000000 /* between two looks at the owner of a struct slock */
#define ROUNDS_BEFORE_PROC 4 /* opening /proc takes a descriptor for a moment: not before a wait of some length */
#define ESRCH_RESULT (-3)
#define NOBODY 0 /* the id of no thread */

static u64 *(*held_ranks)(void);
static u64 (*self_ids)(void);
static enum lock_owner (*probe)(u32 tgid, u32 tid);

void lock_set_held(u64 *(*held)(void))
{
	held_ranks = held;
}

void lock_set_self(u64 (*self)(void))
{
	self_ids = self;
}

void lock_set_probe(enum lock_owner (*owner)(u32 tgid, u32 tid))
{
	probe = owner;
}

static u64 self_now(void)
{
	u64 ids = self_ids ? self_ids() : 0;

	return likely(ids) ? ids : (u32)sys0(__NR_gettid) | (u64)sys0(__NR_getpid) << 32;
}

static void rank_check_acquire(u32 rank)
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
	l->word = 0;
	l->rank = rank;
}

void lock_acquire(struct lock *l)
{
	rank_check_acquire(l->rank);
	for (int spin = 0; spin < SPINS; spin++) {
		if (!__atomic_load_n(&l->word, __ATOMIC_RELAXED) && cas(&l->word, 0, 1))
			return;
		__builtin_ia32_pause();
	}
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		sys4(__NR_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, 0);
}

bool lock_try(struct lock *l)
{
	if (!cas(&l->word, 0, 1))
		return false;
	rank_check_acquire(l->rank);
	return true;
}

void lock_release(struct lock *l)
{
	rank_check_release(l->rank);
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		sys3(__NR_futex, &l->word, FUTEX_WAKE_PRIVATE, 1);
}

void slock_init(struct slock *l, enum lock_rank rank)
{
	l->word = 0;
	l->tgid = 0;
	l->rank = rank;
}

/* The state letter of a thread from /proc, or 0 if it cannot be read. */
static char proc_state(u32 tgid, u32 tid)
{
	char path[64], text[256];
	long fd, n;

	rt_snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", tgid, tid);
	fd = sys4(__NR_openat, -100, path, 02000000, 0); /* AT_FDCWD, O_RDONLY | O_CLOEXEC */
	if (sys_is_error(fd))
		return 0;
	n = sys3(__NR_read, fd, text, sizeof(text));
	sys1(__NR_close, fd);
	for (long i = n - 3; i > 0; i--) /* the command name in parentheses may hold anything */
		if (text[i] == ')')
			return text[i + 2];
	return 0;
}

/*
 * The kernel answers ESRCH for a thread without memory before it looks at permissions, so any other result is of a live one. The byte is
 * in the lock, which owners have at another address at most: what can be read there does not matter.
 */
static long look_at_memory(const struct slock *l, u32 tid)
{
	char byte;
	struct {
		void *base;
		u64 len;
	} to = {&byte, 1}, from = {(void *)l, 1};

	return sys6(__NR_process_vm_readv, tid, (long)&to, 1, (long)&from, 1, 0);
}

static bool owner_is_dead(const struct slock *l, u32 tid, u32 tgid, int round)
{
	enum lock_owner known = probe ? probe(tgid, tid) : OWNER_UNKNOWN;
	char state;

	if (known != OWNER_UNKNOWN)
		return known == OWNER_DEAD;
	if (sys2(__NR_tkill, tid, 0) == ESRCH_RESULT)
		return true;
	if (tgid && sys3(__NR_tgkill, tgid, tid, 0) == ESRCH_RESULT)
		return true;
	if (look_at_memory(l, tid) == ESRCH_RESULT)
		return true;
	if (round < ROUNDS_BEFORE_PROC || look_at_memory(l, NOBODY) == ESRCH_RESULT)
		return false;
	/* The kernel does not have the call, or a filter forbids it. */
	state = proc_state(tgid ? tgid : tid, tid); /* only a leader can be a zombie */
	return state == 'Z' || state == 'X';
}

/* A tgid that changed since it was read shows that the owner was released and taken again meanwhile: it was not dead. */
static bool take_over(struct slock *l, u32 seen, u32 seen_tgid, u32 self)
{
	return cas(&l->tgid, seen_tgid, 0) && cas(&l->word, seen, self | WAITERS);
}

/* Also after a wakeup, when whoever releases the lock often may have it again. */
static bool spin_for(struct slock *l, u32 wanted)
{
	if (cas(&l->word, 0, wanted))
		return true;
	for (int spin = 0; spin < SPINS; spin++) {
		__builtin_ia32_pause();
		if (!__atomic_load_n(&l->word, __ATOMIC_RELAXED) && cas(&l->word, 0, wanted))
			return true;
	}
	return false;
}

bool slock_acquire(struct slock *l)
{
	static const struct { s64 sec, nsec; } patience = {0, PROBE_NS};
	u64 ids = self_now();
	u32 self = (u32)ids;
	u32 wanted = self; /* with WAITERS once this thread has slept: others may sleep too */
	bool repaired = false;

	rank_check_acquire(l->rank);
	for (int round = 0; !spin_for(l, wanted); round++) {
		u32 seen = __atomic_load_n(&l->word, __ATOMIC_RELAXED);
		u32 tgid = __atomic_load_n(&l->tgid, __ATOMIC_ACQUIRE);

		if (!seen)
			continue;
		check((seen & ~WAITERS) != self);
		if (round && owner_is_dead(l, seen & ~WAITERS, tgid, round) && take_over(l, seen, tgid, self)) {
			repaired = true;
			stat_inc(lock_takeovers);
			break;
		}
		wanted = self | WAITERS;
		if ((seen & WAITERS) || cas(&l->word, seen, seen | WAITERS))
			sys4(__NR_futex, &l->word, FUTEX_WAIT, seen | WAITERS, &patience);
	}
	__atomic_store_n(&l->tgid, (u32)(ids >> 32), __ATOMIC_RELEASE);
	return repaired;
}

void slock_release(struct slock *l)
{
	rank_check_release(l->rank);
	__atomic_store_n(&l->tgid, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) & WAITERS)
		sys3(__NR_futex, &l->word, FUTEX_WAKE, 1);
}
