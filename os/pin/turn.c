/* See turn.h. */
#include "os/pin/turn.h"

#include <asm/errno.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include "cpu/bank.h"
#include "dbt/translate.h"
#include "event/host.h"
#include "event/space.h"
#include "os/pin/clock.h"
#include "os/session/session.h"
#include "rt/guest.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define SLICE_MIN_NS	20000u
#define SLICE_MAX_NS	4000000u /* while calls are tried again, */
#define SLICE_ALONE_NS	50000000u /* and while none is */
#define LOOK_EACH	16u /* slices: whether members have died, whose events are waited for */
#define SIGNAL_STEP_NS	20000u
#define SIGNAL_STEPS	5000u

static struct {
	struct thread *holder; /* NULL: none, all are outside */
	struct thread *first, *last;
	struct thread *behind; /* the one that ends: its next */
	u64 progress;	       /* counts what may have let a call go on that was tried */
	u64 tickets;
	u64 idle_since, slice; /* of the host's clock, 0: a thread has run since */
	u32 bell;	       /* who has the turn, and nobody can go on: there is news; a futex */
	u32 dying;	       /* a thread has ended but for the kernel's part: cleared by the kernel */
	u32 settling;	       /* and this is still to be seen to, */
	gva clear_tid;	       /* with this word of the guest's */
} turns;

static void futex_wait_ns(u32 *word, u32 value, u64 ns, int op)
{
	struct __kernel_timespec time = {(s64)(ns / NS_PER_S), (s64)(ns % NS_PER_S)};

	sys4(__NR_futex, word, op, value, &time);
}

static void set_state(struct thread *t, enum turn_state state)
{
	__atomic_store_n(&t->turn.state, state, __ATOMIC_SEQ_CST);
}

static u32 state_of(const struct thread *t)
{
	return __atomic_load_n(&t->turn.state, __ATOMIC_SEQ_CST);
}

/* False: another one has changed it. */
static bool change_state(struct thread *t, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&t->turn.state, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static bool take_free(struct thread *t)
{
	struct thread *none = NULL;

	return __atomic_compare_exchange_n(&turns.holder, &none, t, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool turn_is_due(u64 until)
{
	return until != TURN_NEVER && pin_clock_has_come(until);
}

struct thread *turn_first(void)
{
	return turns.first;
}

u64 turn_ticket(void)
{
	return ++turns.tickets;
}

void turn_progress(void)
{
	turns.progress++;
	turns.idle_since = 0;
	turns.slice = SLICE_MIN_NS;
}

/* ---- who is next ---- */

static bool is_interrupted(const struct thread *t)
{
	return __atomic_load_n(&t->attention, __ATOMIC_ACQUIRE);
}

static bool can_go_on(const struct thread *t)
{
	switch (state_of(t)) {
	case TURN_READY:
		return true;
	case TURN_WAITS:
		return t->turn.woken || is_interrupted(t) || turn_is_due(t->turn.until) ||
		       (t->turn.tries && t->turn.tried != turns.progress) ||
		       (t->turn.futex.shared && turn_futex_has_other_value(t));
	case TURN_OUTSIDE:
		return is_interrupted(t); /* it is on its way back */
	}
	return false;
}

/* The next one behind t, which may be t itself, NULL: none can go on. */
static struct thread *next_of(const struct thread *t, struct thread *behind)
{
	struct thread *x;

	for (x = behind; x; x = x->turn.next)
		if (can_go_on(x))
			return x;
	for (x = turns.first; x != behind; x = x->turn.next)
		if (can_go_on(x))
			return x;
	return NULL;
}

/* ---- giving and taking ---- */

static void give(struct thread *to)
{
	__atomic_store_n(&turns.holder, to, __ATOMIC_SEQ_CST);
	__atomic_store_n(&to->turn.has, 1, __ATOMIC_SEQ_CST);
	sys3(__NR_futex, &to->turn.has, FUTEX_WAKE_PRIVATE, 1);
}

static void hand(struct thread *t, struct thread *to)
{
	__atomic_store_n(&t->turn.has, 0, __ATOMIC_SEQ_CST);
	give(to);
}

/* The thread before has ended: the kernel is waited for, then what it would have done with the guest's word is done. */
static void settle(void)
{
	u32 dying;

	if (likely(!turns.settling))
		return;
	while ((dying = __atomic_load_n(&turns.dying, __ATOMIC_ACQUIRE)))
		futex_wait_ns(&turns.dying, dying, SLICE_MAX_NS, FUTEX_WAIT);
	turns.settling = 0;
	if (turns.clear_tid && !guest_write(turns.clear_tid, &turns.dying, sizeof(u32)))
		sys3(__NR_futex, turns.clear_tid, FUTEX_WAKE, 1);
	turn_futex_changed();
}

/* Takes the turn from a thread that has been in a system call all the time since `seen` was the holder. */
static bool take_away(struct thread *t, struct thread *seen)
{
	struct thread *holder = __atomic_load_n(&turns.holder, __ATOMIC_SEQ_CST);

	if (!holder || holder != seen || !change_state(holder, TURN_CALLS, TURN_TAKEN))
		return false;
	__atomic_store_n(&holder->turn.has, 0, __ATOMIC_SEQ_CST);
	set_state(holder, TURN_OUTSIDE);
	__atomic_store_n(&turns.holder, t, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->turn.has, 1, __ATOMIC_SEQ_CST);
	stat_inc(turns_taken_away);
	return true;
}

static u64 begun(void)
{
	return __atomic_load_n(&turns.progress, __ATOMIC_RELAXED);
}

/* Until the thread has the turn. */
static void await(struct thread *t)
{
	struct thread *seen = NULL, *holder;
	u64 progress = 0, now = host_clock_mono();

	while (!__atomic_load_n(&t->turn.has, __ATOMIC_SEQ_CST)) {
		futex_wait_ns(&t->turn.has, 0, PATIENCE_NS, FUTEX_WAIT_PRIVATE);
		if (host_clock_mono() - now < PATIENCE_NS)
			continue;
		holder = __atomic_load_n(&turns.holder, __ATOMIC_SEQ_CST);
		if (seen == holder && progress == begun() && take_away(t, seen))
			break;
		seen = holder;
		progress = begun();
		now = host_clock_mono();
	}
	settle();
}

/* The thread executes from here on. */
static void go_on(struct thread *t)
{
	set_state(t, TURN_RUNS);
	t->turn.over = 0;
	cpu_set_turn(t->cpu, (u64)TURN_INSNS << t->turn.longer);
}

/* The turn is the thread's from here on. */
static void begin(struct thread *t)
{
	go_on(t);
	turn_progress();
}

/* From outside. */
static void come_back(struct thread *t)
{
	set_state(t, TURN_READY);
	if (take_free(t)) {
		__atomic_store_n(&t->turn.has, 1, __ATOMIC_SEQ_CST);
		settle();
	} else {
		__atomic_add_fetch(&turns.bell, 1, __ATOMIC_SEQ_CST);
		sys3(__NR_futex, &turns.bell, FUTEX_WAKE_PRIVATE, 1);
		await(t);
	}
	begin(t);
}

/* ---- nobody can go on ---- */

/* The earliest time limit; and whether calls are to be tried again, or threads may come back. */
static u64 earliest(bool *others)
{
	u64 until = TURN_NEVER;

	*others = false;
	for (const struct thread *x = turns.first; x; x = x->turn.next) {
		if (state_of(x) == TURN_WAITS)
			until = MIN(until, x->turn.until);
		*others |= state_of(x) == TURN_OUTSIDE || x->turn.tries || x->turn.futex.shared;
	}
	return until;
}

static void idle(void)
{
	u32 bell = __atomic_load_n(&turns.bell, __ATOMIC_SEQ_CST);
	u64 now = host_clock_mono(), slice, left, until;
	bool others;

	until = earliest(&others);
	if (!turns.idle_since)
		turns.idle_since = now;
	left = until == TURN_NEVER ? TURN_NEVER : pin_clock_until(until);
	if (now - turns.idle_since >= left) {
		pin_clock_reach(until);
		return;
	}
	slice = others ? turns.slice : SLICE_ALONE_NS;
	turns.slice = MIN(2 * turns.slice, (u64)SLICE_MAX_NS);
	futex_wait_ns(&turns.bell, bell, MIN(slice, left - (now - turns.idle_since)), FUTEX_WAIT_PRIVATE);
	turns.progress++;
	if (others && event_space->opened && !(turns.progress % LOOK_EACH))
		session_reap();
}

void turn_wait(struct thread *t)
{
	struct thread *next;

	pin_clock_own(t);
	set_state(t, TURN_WAITS);
	t->turn.tried = turns.progress;
	for (;;) {
		next = next_of(t, t->turn.next);
		if (next == t)
			break;
		if (!next) {
			idle();
			continue;
		}
		hand(t, next);
		await(t);
		if (can_go_on(t))
			break;
	}
	go_on(t);
}

void turn_yield(struct thread *t)
{
	struct thread *next;

	pin_clock_own(t);
	turn_progress();
	set_state(t, TURN_READY);
	next = next_of(t, t->turn.next);
	if (next != t) {
		hand(t, next);
		await(t);
	}
	begin(t);
}

bool turn_is_over(struct thread *t)
{
	return t->turn.over || cpu_turn_is_over(t->cpu);
}

void turn_look(struct thread *t, bool gave_up)
{
	if (state_of(t) == TURN_READY) { /* it has just been made */
		await(t);
		begin(t);
	} else if (turns.first == t && turns.last == t) {
		cpu_set_turn(t->cpu, 0);
		t->turn.over = t->turn.on = 0;
	} else if (turn_is_over(t)) {
		t->turn.longer = gave_up ? MIN(t->turn.longer + 1, TURN_LONGER) : 0;
		turn_yield(t);
	}
}

/* ---- outside ---- */

/* A thread that waits in here, to be idle in the place of one that leaves. */
static struct thread *any_in_here(void)
{
	struct thread *x = turns.first;

	while (x && state_of(x) != TURN_WAITS)
		x = x->turn.next;
	return x;
}

/* Whoever wants the turn by now, and found that another one had it. */
static void give_to_who_came(void)
{
	for (struct thread *x = turns.first; x; x = x->turn.next)
		if (state_of(x) == TURN_READY && take_free(x)) {
			give(x);
			return;
		}
}

/* The thread does not take part for a while, or any more; behind: who comes after it. */
static void leave(struct thread *t, struct thread *behind)
{
	struct thread *next = next_of(t, behind);

	if (!next || next == t)
		next = any_in_here();
	if (next) {
		hand(t, next);
		return;
	}
	__atomic_store_n(&t->turn.has, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&turns.holder, NULL, __ATOMIC_SEQ_CST);
	give_to_who_came();
}

long turn_host(struct thread *t, const u64 *a, syscall_handler *host)
{
	long ret;

	set_state(t, TURN_CALLS);
	ret = host(t, a);
	if (likely(change_state(t, TURN_CALLS, TURN_RUNS)))
		return ret;
	while (state_of(t) == TURN_TAKEN)
		sys0(__NR_sched_yield);
	come_back(t);
	return ret;
}

long turn_outside(struct thread *t, const u64 *a, syscall_handler *host)
{
	long ret;

	pin_clock_own(t);
	turn_progress();
	set_state(t, TURN_OUTSIDE);
	leave(t, t->turn.next);
	ret = host(t, a);
	come_back(t);
	return ret;
}

long turn_interrupted(struct thread *t, bool may_restart)
{
	if (!may_restart || !thread_signal_restarts(t))
		return -EINTR;
	t->again_rax = t->nr;
	t->again_entered = 1;
	return SYSCALL_AGAIN;
}

/* ---- threads come and go ---- */

static void add(struct thread *t)
{
	t->turn.on = 1;
	t->turn.next = NULL;
	if (turns.last)
		turns.last->turn.next = t;
	else
		turns.first = t;
	turns.last = t;
}

static void drop(struct thread *t)
{
	struct thread **at = &turns.first, *before = NULL;

	while (*at != t) {
		before = *at;
		at = &before->turn.next;
	}
	*at = t->turn.next;
	if (turns.last == t)
		turns.last = before;
}

/* With its second thread a process begins to have turns. */
static void first_turn(struct thread *t)
{
	dbt_options.always |= CPU_WANT_LIMITS;
	if (turns.first != t)
		add(t);
	t->turn.on = t->turn.has = 1;
	turns.holder = t;
	begin(t);
}

void turn_clone(struct thread *t, struct thread *child, gva clear_tid)
{
	if (!held_still(PIN_SCHEDULE))
		return;
	if (!t->turn.on)
		first_turn(t);
	add(child);
	child->turn.state = TURN_READY;
	child->turn.clear_tid = clear_tid;
}

void turn_clone_failed(struct thread *child)
{
	if (child->turn.on)
		drop(child);
}

void turn_forked(struct thread *t, gva clear_tid)
{
	turns.holder = turns.first = turns.last = NULL;
	turns.settling = 0;
	t->turn = (struct turn){.clear_tid = clear_tid};
}

/* The kernel clears the word of ours when it is done with the thread, in place of the guest's. */
void turn_ends(struct thread *t)
{
	struct thread *behind = t->turn.next;

	if (!t->turn.on)
		return;
	drop(t);
	if (!turns.first)
		return;
	turns.dying = 1;
	turns.settling = 1;
	turns.clear_tid = t->turn.clear_tid;
	sys1(__NR_set_tid_address, &turns.dying);
	turn_progress();
	leave(t, behind);
}

/* ---- signals ---- */

/* One of those that it can be for has it, or there is none. */
static bool has_arrived(s32 tid, s32 signo)
{
	bool awaited = false;

	for (const struct thread *x = turns.first; x; x = x->turn.next) {
		if ((tid && x->tid != tid) || !thread_signal_arrives(x, signo))
			continue;
		if (is_interrupted(x))
			return true;
		awaited = true;
	}
	return !awaited;
}

void turn_signal_sent(s32 tid, s32 signo)
{
	for (u32 i = 0; i < SIGNAL_STEPS && !has_arrived(tid, signo); i++)
		futex_wait_ns(&turns.bell, turns.bell, SIGNAL_STEP_NS, FUTEX_WAIT_PRIVATE);
}
