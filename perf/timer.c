/* See timer.h. */
#include <asm-generic/errno-base.h>
#include <asm/siginfo.h>
#include <asm/stat.h>
#include <linux/stat.h>
#include <linux/time.h>
#include "event/host.h"
#include "event/period.h"
#include "os/session/process.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "perf/timer.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/sys.h"

#define SHORTEST_NS 10000ul /* as the kernel's cpu-clock event: a shorter one would leave the thread no time */
#define LONGEST_NS  (1ul << 62)
#define LATE_MAX_NS 100000ul /* more is not the cost of an overflow */
#define NEVER	    (~0ul)
#define NS_PER_SEC  1000000000ul

#define GETRANDOM_WHOLE 256 /* bytes: getrandom(2) says that a signal does not cut these short */

/* linux/prctl.h, Linux 6.15 */
#define PR_TIMER_CREATE_RESTORE_IDS_ 77
#define RESTORE_IDS_OFF 0
#define RESTORE_IDS_ON	1
#define ID_BASE	  0x70000000  /* + thread id, which is below 2^22 */
#define ID_COARSE 0x400000   /* more */
#define ID_MAX	  0x7fffffffu

/* The kernel's struct sigevent. */
struct ksigevent {
	u64 value;
	s32 signo, notify, tid;
	s32 pad[11];
};

/* While ids are chosen, no other thread may create a timer: the guest's would be taken for a choice too. */
static struct lock create_lock WRITTEN_BY_FORK = {.rank = RANK_TIMERS};

static bool choose_ids(bool on)
{
	return sys2(__NR_prctl, PR_TIMER_CREATE_RESTORE_IDS_, on ? RESTORE_IDS_ON : RESTORE_IDS_OFF) == 0;
}

/* *id: the wish, if ids are chosen; the timer's. */
static bool try_create(const struct thread *t, bool coarse, s32 *id)
{
	struct ksigevent event = {
		.value = the_process.config.session_id, .signo = SIG_KICK, .notify = SIGEV_THREAD_ID, .tid = t->tid};

	return sys3(__NR_timer_create, coarse ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &event, id) == 0;
}

static void delete(s32 id)
{
	sys1(__NR_timer_delete, id);
}

/*
 * A timer with an id far away from the guest's. The kernel goes on counting from the id that was created last, so one
 * just before the next that the guest would have got comes and goes too.
 */
static bool create_apart(const struct thread *t, bool coarse, s32 *id)
{
	s32 guests;
	bool done;

	if (!try_create(t, coarse, &guests))
		return false;
	delete(guests);
	if (!choose_ids(true))
		return false;
	*id = ID_BASE + coarse * ID_COARSE + t->tid;
	done = try_create(t, coarse, id);
	guests = (s32)((u32)(guests - 1) & ID_MAX);
	if (done && !try_create(t, coarse, &guests)) {
		delete(*id);
		done = false;
	} else if (done) {
		delete(guests);
	}
	choose_ids(false);
	return done;
}

static void create(struct thread *t, bool coarse)
{
	s32 id;
	bool done;

	lock_acquire(&create_lock);
	done = create_apart(t, coarse, &id) || try_create(t, coarse, &id);
	lock_release(&create_lock);
	if (done)
		t->timer[coarse] = id + 1;
	curious(done);
}

static void set(struct thread *t, u64 ns)
{
	/* A coarse timer comes again: the thread may have been allowed to go on for a while. */
	u64 every = ns && t->clock_coarse ? PERIOD_TICK : 0;
	u64 value[4] = {0, every, ns / NS_PER_SEC, ns % NS_PER_SEC};

	sys4(__NR_timer_settime, t->timer[t->clock_coarse] - 1, 0, value, 0);
}

/* Limits may come faster than overflows can be handled: a thread gets at least the time that the last one took. */
static u64 shortest(const struct thread *t, u64 now)
{
	u64 late = now > t->clock_due ? now - t->clock_due : 0;

	return SHORTEST_NS + 2 * MIN(late, LATE_MAX_NS);
}

static void start(struct thread *t, u64 now)
{
	u64 left = t->clock_end > now ? t->clock_end - now : 0;

	left = MAX(left, shortest(t, now));
	t->clock_state = CLOCK_RUNNING;
	t->clock_due = now + left;
	set(t, left);
}

static void stop(struct thread *t, enum clock_state state)
{
	set(t, 0);
	t->clock_state = state;
	t->clock_due = NEVER;
}

static void create_outside(void *thread)
{
	struct thread *t = thread;

	create(t, t->clock_coarse);
}

/*
 * None runs. A section that is put back while create_lock is held would leave that to nobody, so it is left for it.
 * Once: there may be no timer to be had.
 */
static void use(struct thread *t, bool coarse)
{
	t->clock_coarse = coarse;
	t->clock_due = NEVER;
	if (t->timer[coarse])
		return;
	if (!t->section.open || t->section.after || !t->section.restartable) {
		create(t, coarse);
	} else if (t->timer_serial != t->section.serial) {
		t->timer_serial = t->section.serial;
		section_leave_for(create_outside, t);
	}
}

bool host_clock_limit(u64 ns, bool coarse)
{
	struct thread *t = thread_current();
	u64 now;

	if (ns > LONGEST_NS) {
		if (t->clock_state == CLOCK_RUNNING)
			stop(t, CLOCK_OFF);
		else
			t->clock_state = CLOCK_OFF;
		return true;
	}
	if (t->clock_state == CLOCK_RUNNING && t->clock_coarse != coarse)
		stop(t, CLOCK_OFF);
	if (t->clock_coarse != coarse || !t->timer[coarse])
		use(t, coarse);
	if (!t->timer[coarse]) {
		t->clock_state = CLOCK_OFF;
		return false;
	}
	now = host_clock_perf();
	t->clock_end = now + ns;
	start(t, now);
	return true;
}

/* ---- system calls ---- */

/*
 * Transfers in which a signal makes no difference: of ordinary files, and those that are too short to be done in parts.
 */
static bool is_whole_transfer(u64 fd, u64 bytes)
{
	struct stat st;

	if (bytes <= PAGE_SIZE)
		return true;
	return sys2(__NR_fstat, fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/*
 * Whether a signal could end the call. Those named here do not wait, or only where no signal ends it, or are begun
 * again by the kernel because the handler has SA_RESTART. Writes that end in the middle are gone on with, see
 * perf_timer_call_cut().
 */
static bool may_be_ended(long nr, const u64 *a)
{
	switch (nr) {
	case __NR_read:
	case __NR_pread64:
		return !is_whole_transfer(a[0], a[2]);
	case __NR_futex:
		return a[3] != 0; /* a time-out, or something else of the operations that do not wait */
	case __NR_getrandom:
		return a[1] > GETRANDOM_WHOLE;
	case __NR_poll:
		return a[2] != 0;
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
		return a[3] != 0;
#define CALL(name) case __NR_##name:
#include "os/unended.def"
#undef CALL
		return false;
	default:
		return true;
	}
}

void perf_timer_call_begins(struct thread *t, long nr, const u64 *a)
{
	u64 now;

	if (!may_be_ended(nr, a))
		return;
	now = host_clock_perf();
	stop(t, CLOCK_PAUSED);
	if (now >= t->clock_end && !t->clock_fired)
		t->clock_fired = CLOCK_FIRED;
}

bool perf_timer_call_cut(const struct thread *t, long nr, const u64 *a, long ret)
{
	if (nr != __NR_write && nr != __NR_sendto)
		return false;
	return t->clock_fired && ret > 0 && (u64)ret < a[2];
}

void timer_resume(struct thread *t)
{
	u64 now = host_clock_perf();

	if (now < t->clock_end) {
		start(t, now);
		return;
	}
	/* The limit is reached if the thread was not blocked: event_overflow() looks, and sets the timer again. */
	t->clock_state = CLOCK_OFF;
	if (!t->clock_fired)
		t->clock_fired = CLOCK_FIRED_IN_CALL;
}

static void forget(struct thread *t)
{
	t->timer[0] = t->timer[1] = 0;
	t->clock_due = NEVER;
	t->clock_state = CLOCK_OFF;
	t->clock_fired = 0;
}

void timer_after_fork(struct thread *t)
{
	lock_init(&create_lock, RANK_TIMERS);
	forget(t);
}

void timer_end(struct thread *t)
{
	for (u32 i = 0; i < ARRAY_SIZE(t->timer); i++)
		if (t->timer[i])
			sys1(__NR_timer_delete, t->timer[i] - 1);
	forget(t);
}

/* No guest memory is touched with create_lock. */
long sys_timer_create(struct thread *t, const u64 *a)
{
	struct ksigevent event;
	s32 id = 0;
	long ret;

	if (a[1] && guest_read(&event, a[1], sizeof(event)))
		return -EFAULT;
	guest_read(&id, a[2], sizeof(id)); /* the guest's wish, if it chooses ids */
	lock_acquire(&create_lock);
	ret = sys3(__NR_timer_create, a[0], a[1] ? &event : NULL, &id);
	lock_release(&create_lock);
	if (ret || !guest_write(a[2], &id, sizeof(id)))
		return ret;
	delete(id);
	return -EFAULT;
}
