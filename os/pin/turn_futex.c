/*
 * Futexes between the threads of a process that has turns. Waiters are in one queue here, in the order in which they
 * came; the kernel knows nothing of them. What is woken goes on at its next turn.
 *
 * A word may be shared with other processes. Their calls do not find our waiters: so these go on, too, when the word
 * has another value at one of their turns, as after a call that returned without a reason. Our wakeups go to the kernel
 * as well, if there are not enough waiters here.
 *
 * Not here: FUTEX_LOCK_PI, which is tried by FUTEX_TRYLOCK_PI; FUTEX_WAIT_REQUEUE_PI, futex_waitv(2), futex_wait(2),
 * which are waited for outside.
 */
#include "os/pin/turn.h"

#include <asm-generic/errno.h>
#include <linux/futex.h>
#include <linux/time.h>
#include "os/pin/clock.h"
#include "os/pin/wait.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define ALL_BITS FUTEX_BITSET_MATCH_ANY

bool turn_futex_has_other_value(const struct thread *t)
{
	u32 value;

	return t->turn.futex.at && !guest_read(&value, t->turn.futex.at, sizeof(value)) &&
	       value != t->turn.futex.value;
}

/* Of the threads that wait for it the one that has waited longest, NULL: none does. bits: that it waits for. */
static struct thread *first_waiter(gva at, u32 bits)
{
	struct thread *first = NULL;

	for (struct thread *x = turn_first(); x; x = x->turn.next)
		if (x->turn.futex.at == at && !x->turn.woken && x->turn.futex.bits & bits &&
		    (!first || x->turn.futex.ticket < first->turn.futex.ticket))
			first = x;
	return first;
}

void turn_futex_changed(void)
{
	for (struct thread *x = turn_first(); x; x = x->turn.next)
		if (turn_futex_has_other_value(x))
			x->turn.woken = 1;
}

static long wait(struct thread *t, const u64 *a, u32 bits, u64 until)
{
	u32 value;

	if (guest_read(&value, a[0], sizeof(value)))
		return -EFAULT;
	if (value != (u32)a[2])
		return -EAGAIN;
	t->turn.until = until;
	t->turn.woken = t->turn.tries = 0;
	t->turn.futex.at = a[0];
	t->turn.futex.ticket = turn_ticket();
	t->turn.futex.value = value;
	t->turn.futex.bits = bits;
	t->turn.futex.shared = !(a[1] & FUTEX_PRIVATE_FLAG);
	turn_wait(t);
	if (!t->turn.woken && t->turn.futex.shared && !guest_read(&value, a[0], sizeof(value)))
		t->turn.woken = value != (u32)a[2];
	t->turn.futex.at = 0;
	t->turn.futex.shared = 0;
	turn_progress();
	if (t->turn.woken)
		return 0;
	return turn_is_due(until) ? -ETIMEDOUT : turn_interrupted(t, until == TURN_NEVER);
}

/* How many were woken here; the rest of n is the kernel's. */
static long wake(const u64 *a, gva at, s32 n, u32 bits)
{
	struct thread *x;
	long woken = 0, outside;

	for (; woken < n && (x = first_waiter(at, bits)); woken++)
		x->turn.woken = 1;
	if (woken && woken >= n)
		return woken;
	outside = sys6(__NR_futex, (long)at, (a[1] & FUTEX_PRIVATE_FLAG) | FUTEX_WAKE_BITSET, n - woken, 0, 0, bits);
	return outside < 0 && !woken ? outside : woken + MAX(outside, 0l);
}

/* FUTEX_REQUEUE, FUTEX_CMP_REQUEUE: the result counts both with the latter only. */
static long requeue(const u64 *a, bool compares)
{
	s32 n = (s32)a[2], moved = 0;
	struct thread *x;
	u32 value;
	long woken;

	if (n < 0 || (s32)a[3] < 0)
		return -EINVAL;
	if (guest_read(&value, a[0], sizeof(value)) || guest_read(&value, a[4], sizeof(value)))
		return -EFAULT;
	if (compares && (guest_read(&value, a[0], sizeof(value)) || value != (u32)a[5]))
		return -EAGAIN;
	woken = n ? wake(a, a[0], n, ALL_BITS) : 0;
	for (; woken >= 0 && moved < (s32)a[3] && (x = first_waiter(a[0], ALL_BITS)); moved++) {
		x->turn.futex.at = a[4];
		x->turn.futex.ticket = turn_ticket();
		x->turn.futex.shared = 0; /* it waits for no value of that word */
	}
	return woken < 0 ? woken : woken + (compares ? moved : 0);
}

/* Nobody else runs: it need not be atomic, but for other processes. */
static long operate(gva at, u32 encoded, u32 *old)
{
	u32 op = encoded >> 28 & 7, arg = encoded >> 12 & 0xfff, value;

	if (guest_read(old, at, sizeof(*old)))
		return -EFAULT;
	if (encoded >> 31) /* FUTEX_OP_OPARG_SHIFT */
		arg = 1u << (arg & 31);
	else
		arg = (u32)((s32)(arg << 20) >> 20);
	switch (op) {
	case FUTEX_OP_SET:
		value = arg;
		break;
	case FUTEX_OP_ADD:
		value = *old + arg;
		break;
	case FUTEX_OP_OR:
		value = *old | arg;
		break;
	case FUTEX_OP_ANDN:
		value = *old & ~arg;
		break;
	case FUTEX_OP_XOR:
		value = *old ^ arg;
		break;
	default:
		return -ENOSYS;
	}
	return guest_write(at, &value, sizeof(value));
}

static long matches(u32 encoded, u32 old)
{
	s32 arg = (s32)(encoded << 20) >> 20, value = (s32)old;

	switch (encoded >> 24 & 15) {
	case FUTEX_OP_CMP_EQ:
		return value == arg;
	case FUTEX_OP_CMP_NE:
		return value != arg;
	case FUTEX_OP_CMP_LT:
		return value < arg;
	case FUTEX_OP_CMP_GE:
		return value >= arg;
	case FUTEX_OP_CMP_LE:
		return value <= arg;
	case FUTEX_OP_CMP_GT:
		return value > arg;
	}
	return -ENOSYS;
}

static long wake_op(const u64 *a)
{
	long ret, woken, more;
	u32 old;

	ret = operate(a[4], (u32)a[5], &old);
	if (ret)
		return ret;
	ret = matches((u32)a[5], old);
	if (ret < 0)
		return ret;
	woken = wake(a, a[0], MAX((s32)a[2], 1), ALL_BITS);
	more = ret && woken >= 0 ? wake(a, a[4], MAX((s32)a[3], 1), ALL_BITS) : 0;
	return woken < 0 || more < 0 ? MIN(woken, more) : woken + more;
}

static long lock_pi(struct thread *t, const u64 *a, u64 until, syscall_handler *host)
{
	u64 args[6] = {a[0], (a[1] & ~(u64)(FUTEX_CMD_MASK | FUTEX_CLOCK_REALTIME)) | FUTEX_TRYLOCK_PI};
	long ret;

	while ((ret = turn_host(t, args, host)) == -EAGAIN) {
		if (turn_is_due(until))
			return -ETIMEDOUT;
		if (__atomic_load_n(&t->attention, __ATOMIC_RELAXED))
			return turn_interrupted(t, true);
		turn_try_later(t, until);
	}
	turn_progress();
	return ret;
}

/* Until when, false: what is said is no time. */
static bool read_limit(struct thread *t, const u64 *a, u64 *until)
{
	*until = TURN_NEVER;
	return !a[3] || pin_futex_until(t, a, until);
}

long turn_futex(struct thread *t, const u64 *a, syscall_handler *host)
{
	u32 op = (u32)a[1] & (u32)FUTEX_CMD_MASK;
	bool waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2;
	u64 until = TURN_NEVER;

	if (a[0] & 3 || (waits && !read_limit(t, a, &until)))
		return turn_host(t, a, host);
	switch (op) {
	case FUTEX_WAIT:
		return wait(t, a, ALL_BITS, until);
	case FUTEX_WAIT_BITSET:
		return (u32)a[5] ? wait(t, a, (u32)a[5], until) : -EINVAL;
	case FUTEX_WAKE:
		return wake(a, a[0], MAX((s32)a[2], 1), ALL_BITS);
	case FUTEX_WAKE_BITSET:
		return (u32)a[5] ? wake(a, a[0], MAX((s32)a[2], 1), (u32)a[5]) : -EINVAL;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		return requeue(a, op == FUTEX_CMP_REQUEUE);
	case FUTEX_WAKE_OP:
		return wake_op(a);
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return lock_pi(t, a, until, host);
	case FUTEX_WAIT_REQUEUE_PI:
		return turn_outside(t, a, host);
	}
	return turn_host(t, a, host);
}
