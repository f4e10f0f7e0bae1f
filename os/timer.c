/* See timer.h. */
#include <asm/siginfo.h>
#include <linux/time.h>
#include "event/host.h"
#include "os/signal.h"
#include "os/syscall.h"
#include "os/timer.h"
#include "rt/log.h"
#include "rt/sys.h"

#define SHORTEST_NS 10000ul /* as the kernel's cpu-clock event: a shorter one would leave the thread no time */
#define LONGEST_NS  (1ul << 62)
#define NS_PER_SEC  1000000000ul

/* linux/prctl.h, Linux 6.15 */
#define PR_TIMER_CREATE_RESTORE_IDS_ 77
#define RESTORE_IDS_OFF 0
#define RESTORE_IDS_ON	1
#define ID_BASE	  0x70000000  /* + thread id, which is below 2^22 */
#define ID_MAX	  0x7fffffffu

/* The kernel's struct sigevent. */
struct ksigevent {
	u64 value;
	s32 signo, notify, tid;
	s32 pad[11];
};

/* While ids are chosen, no other thread may create a timer: the guest's would be taken for a choice too. */
static struct lock create_lock = {.rank = RANK_TIMERS};

static bool choose_ids(bool on)
{
	return sys2(__NR_prctl, PR_TIMER_CREATE_RESTORE_IDS_, on ? RESTORE_IDS_ON : RESTORE_IDS_OFF) == 0;
}

/* *id: the wish, if ids are chosen; the timer's. */
static bool try_create(const struct thread *t, s32 *id)
{
	struct ksigevent event = {
		.value = arena()->session_id, .signo = SIG_KICK, .notify = SIGEV_THREAD_ID, .tid = t->tid};

	return sys3(__NR_timer_create, CLOCK_MONOTONIC, &event, id) == 0;
}

static void delete(s32 id)
{
	sys1(__NR_timer_delete, id);
}

/*
 * A timer with an id far away from the guest's. The kernel goes on counting from the id that was created last, so one just before
 * the next that the guest would have got comes and goes too.
 */
static bool create_apart(const struct thread *t, s32 *id)
{
	s32 guests;
	bool done;

	if (!try_create(t, &guests))
		return false;
	delete(guests);
	if (!choose_ids(true))
		return false;
	*id = ID_BASE + t->tid;
	done = try_create(t, id);
	guests = (s32)((u32)(guests - 1) & ID_MAX);
	if (done && !try_create(t, &guests)) {
		delete(*id);
		done = false;
	} else if (done) {
		delete(guests);
	}
	choose_ids(false);
	return done;
}

static void create(struct thread *t)
{
	s32 id;
	bool done;

	lock_acquire(&create_lock);
	done = create_apart(t, &id) || try_create(t, &id);
	lock_release(&create_lock);
	if (done)
		t->timer = id + 1;
	curious(done);
}

static void set(struct thread *t, u64 ns)
{
	u64 value[4] = {0, 0, ns / NS_PER_SEC, ns % NS_PER_SEC};

	sys4(__NR_timer_settime, t->timer - 1, 0, value, 0);
}

static void start(struct thread *t, u64 now)
{
	t->clock_state = CLOCK_RUNNING;
	set(t, MAX(t->clock_end > now ? t->clock_end - now : 0, SHORTEST_NS));
}

void host_clock_limit(u64 ns)
{
	struct thread *t = thread_current();
	u64 now;

	if (ns > LONGEST_NS) {
		if (t->clock_state == CLOCK_RUNNING)
			set(t, 0);
		t->clock_state = CLOCK_OFF;
		return;
	}
	if (!t->timer)
		create(t);
	if (!t->timer)
		return;
	now = host_clock_perf();
	t->clock_end = now + ns;
	start(t, now);
}

void timer_pause_slow(struct thread *t)
{
	set(t, 0);
	t->clock_state = CLOCK_PAUSED;
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
	t->clock_fired = 1;
}

static void forget(struct thread *t)
{
	t->timer = 0;
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
	if (t->timer)
		sys1(__NR_timer_delete, t->timer - 1);
	forget(t);
}

long sys_timer_create(struct thread *t, const u64 *a)
{
	long ret;

	lock_acquire(&create_lock);
	ret = syscall_pass(t, a);
	lock_release(&create_lock);
	return ret;
}
