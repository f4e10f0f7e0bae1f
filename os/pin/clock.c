/* See clock.h. */
#include "os/pin/clock.h"

#include <asm/errno.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/time.h>
#include <linux/times.h>
#include "cpu/bank.h"
#include "dbt/dbt.h"
#include "dbt/translate.h"
#include "event/host.h"
#include "os/session/arena.h"
#include "os/pin/machine.h"
#include "os/pin/random.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define TSC_NS	  25u
#define TICK_NS	  10000000u		    /* of times(2) */
#define BOOT_NS	  (100000ul * NS_PER_S)	    /* CLOCK_MONOTONIC when the session begins */
_Static_assert(PIN_BOOT_TIME == 1893456000ul - 100000ul, "when that was 0");
#define EPOCH_NS  (1893456000ul * NS_PER_S) /* CLOCK_REALTIME then: 2030-01-01 */
#define TAI_NS	  (37ul * NS_PER_S)

/* Of a clock's number that is a CPU clock: linux/posix-timers.h. */
#define CPUCLOCK_KIND	3
#define CPUCLOCK_FD	3
#define CPUCLOCK_THREAD 4

/* This process's, or that of a vfork parent. Its threads change it. */
static struct {
	u64 now, cpu, children;
	s64 lag;
	struct pin_timer timer[PIN_TIMERS];
} clock;

/* ---- advancing ---- */

void pin_clock_reach(u64 to)
{
	u64 now = __atomic_load_n(&clock.now, __ATOMIC_RELAXED);

	while ((s64)(to - now) > 0 &&
	       !__atomic_compare_exchange_n(&clock.now, &now, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

bool pin_clock_has_come(u64 to)
{
	return __atomic_load_n(&clock.now, __ATOMIC_RELAXED) >= to;
}

u64 pin_clock_until(u64 to)
{
	u64 now = __atomic_load_n(&clock.now, __ATOMIC_RELAXED);

	return to > now ? to - now : 0;
}

/* A child of vfork uses the clock of its parent's memory. */
static bool is_vforked(const struct thread *t)
{
	return (t->clone_flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM;
}

u64 pin_clock_own(struct thread *t)
{
	u64 count = cpu_own_count(t->cpu, CELL_INSTRUCTIONS), ns = count - t->pin.seen + t->pin.late;

	t->pin.seen = count;
	t->pin.late = 0;
	t->pin.cpu += ns;
	if (!is_vforked(t))
		__atomic_add_fetch(&clock.cpu, ns, __ATOMIC_RELAXED);
	return __atomic_add_fetch(&clock.now, ns, __ATOMIC_RELAXED);
}

/* From here on it is not behind the host's by more than that. Of several threads the one with the smallest lag wins. */
static void follow(s64 lag)
{
	s64 most = __atomic_load_n(&clock.lag, __ATOMIC_RELAXED);

	while (lag < most &&
	       !__atomic_compare_exchange_n(&clock.lag, &most, lag, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static bool has_timer(void)
{
	return __atomic_load_n(&clock.timer[PIN_TIMER_REAL].due, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&clock.timer[PIN_TIMER_OTHER].due, __ATOMIC_RELAXED);
}

/*
 * Each question after a timer has expired follows its lag: after the first one that changes nothing. Before there is a
 * timer a tick of the host is precise enough, and cheaper.
 */
u64 pin_clock_now(struct thread *t)
{
	u64 mono = host_clock_by_id(has_timer() ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE), due;

	for (u32 i = 0; i < PIN_TIMERS; i++) {
		due = __atomic_load_n(&clock.timer[i].due, __ATOMIC_ACQUIRE);
		if (unlikely(due) && mono >= due)
			follow(__atomic_load_n(&clock.timer[i].lag, __ATOMIC_RELAXED));
	}
	pin_clock_own(t);
	pin_clock_reach(mono - (u64)__atomic_load_n(&clock.lag, __ATOMIC_RELAXED));
	return __atomic_load_n(&clock.now, __ATOMIC_RELAXED);
}

/* ---- timers ---- */

static void set_timer(struct pin_timer *to, u64 due, s64 lag)
{
	__atomic_store_n(&to->lag, lag, __ATOMIC_RELAXED);
	__atomic_store_n(&to->due, due, __ATOMIC_RELEASE);
}

/* A child of vfork's ITIMER_REAL is not its parent's. */
struct pin_timer pin_clock_timer(struct thread *t, u32 which, u64 ns)
{
	struct pin_timer *old = &clock.timer[is_vforked(t) ? PIN_TIMER_OTHER : which], new = {0};
	u64 now = pin_clock_now(t), mono = host_clock_mono();

	if (!ns)
		return new;
	new.due = mono + ns;
	new.lag = (s64)(mono - now);
	set_timer(old, old->due ? MIN(old->due, new.due) : new.due, old->due ? MIN(old->lag, new.lag) : new.lag);
	return new;
}

void pin_clock_timer_is(struct thread *t, struct pin_timer timer)
{
	pin_clock_now(t);
	if (!is_vforked(t))
		set_timer(&clock.timer[PIN_TIMER_REAL], timer.due, timer.lag);
}

u64 pin_clock_timer_left(struct thread *t)
{
	const struct pin_timer *timer = &clock.timer[PIN_TIMER_REAL];
	u64 now = pin_clock_now(t), end = timer->due - (u64)timer->lag;

	if (is_vforked(t) || !timer->due || host_clock_mono() >= timer->due)
		return 0;
	return end > now ? end - now : 1;
}

/* CPU time of the process. */
static u64 process_cpu(const struct thread *t)
{
	return is_vforked(t) ? t->pin.cpu : __atomic_load_n(&clock.cpu, __ATOMIC_RELAXED);
}

/* That of its children that it has waited for. */
static u64 children_cpu(const struct thread *t)
{
	return is_vforked(t) ? 0 : __atomic_load_n(&clock.children, __ATOMIC_RELAXED);
}

/* ---- tasks ---- */

static struct pin_end *end_of(s32 pid)
{
	return &arena()->pin_ends[(u32)pid % PIN_ENDS];
}

/* PR_SET_TSC outlives an execve. */
static bool counter_faults(void)
{
	s32 mode = PR_TSC_ENABLE;

	return !sys2(__NR_prctl, PR_GET_TSC, &mode) && mode == PR_TSC_SIGSEGV;
}

void pin_program_begins(struct thread *t, bool first)
{
	const struct pin_state *s = &the_process.config.pin_state;

	t->pin.seed = s->seed;
	t->pin.seen = cpu_own_count(t->cpu, CELL_INSTRUCTIONS);
	clock.now = s->now;
	clock.cpu = s->cpu;
	clock.children = s->children;
	clock.lag = s->lag;
	memcpy(clock.timer, s->timer, sizeof(clock.timer));
	dbt_options.stop_at_tsc = held_still(PIN_CLOCK);
	t->no_tsc = dbt_options.stop_at_tsc && counter_faults();
	dbt_options.always = held_still(PIN_CLOCK) ? CPU_WANT_BLOCKS : 0;
	if (first && held_still(PIN_RANDOM))
		pin_random_look();
}

void pin_task_begins(struct thread *t, u64 seed)
{
	t->pin = (struct pin_thread){.seed = seed, .seen = cpu_own_count(t->cpu, CELL_INSTRUCTIONS)};
	if (!held_still(PIN_CLOCK) || (t->clone_flags & CLONE_THREAD))
		return;
	*end_of(t->task->pid) = (struct pin_end){.now = clock.now};
	if (is_vforked(t))
		return;
	clock.cpu = clock.children = 0;
	clock.timer[PIN_TIMER_REAL].due = 0;
}

void pin_task_ends(struct thread *t)
{
	if (!held_still(PIN_CLOCK))
		return;
	pin_clock_own(t);
	*end_of(t->task->pid) = (struct pin_end){.now = clock.now, .cpu = process_cpu(t) + children_cpu(t)};
}

void pin_hand_over(struct thread *t, struct session_config *config)
{
	struct pin_state *s = &config->pin_state;

	if (!config->pin)
		return;
	if (t->pin.anew) {
		u64 has_random = s->has_random; /* its descriptors are what they were */

		*s = pin_first_state(host_clock_mono());
		s->has_random = has_random;
		return;
	}
	s->seed = pin_new_task(t);
	if (!held_still(PIN_CLOCK))
		return;
	s->now = pin_clock_own(t);
	s->cpu = process_cpu(t);
	s->children = children_cpu(t);
	s->lag = clock.lag;
	memcpy(s->timer, clock.timer, sizeof(s->timer));
	if (is_vforked(t))
		s->timer[PIN_TIMER_REAL].due = 0;
}

/* ---- what the guest is told ---- */

static u64 own_cpu(struct thread *t, bool of_thread)
{
	pin_clock_own(t);
	return of_thread ? t->pin.cpu : process_cpu(t);
}

bool pin_clock_zero(s32 id, u64 *ns)
{
	switch (id) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		*ns = BOOT_NS;
		return true;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
		*ns = EPOCH_NS;
		return true;
	case CLOCK_TAI:
		*ns = EPOCH_NS + TAI_NS;
		return true;
	}
	return false;
}

/* CPU clocks by process or thread number, of the caller itself. */
static bool is_own_clock(const struct thread *t, s32 id)
{
	s32 number = ~(id >> 3);

	return id < 0 && (id & CPUCLOCK_KIND) != CPUCLOCK_FD &&
	       (!number || number == (id & CPUCLOCK_THREAD ? t->tid : t->pid));
}

bool pin_clock_read(struct thread *t, s32 id, u64 *ns)
{
	u64 zero;

	if (pin_clock_zero(id, &zero))
		*ns = zero + pin_clock_now(t);
	else if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
		*ns = own_cpu(t, id == CLOCK_THREAD_CPUTIME_ID);
	else if (is_own_clock(t, id))
		*ns = own_cpu(t, id & CPUCLOCK_THREAD);
	else
		return false;
	return true;
}

long pin_clock_gettime(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 ns, ts[2];

	if (!pin_clock_read(t, (s32)a[0], &ns))
		return host(t, a);
	ts[0] = ns / NS_PER_S;
	ts[1] = ns % NS_PER_S;
	return guest_write(a[1], ts, sizeof(ts));
}

long pin_gettimeofday(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 ns = EPOCH_NS + pin_clock_now(t), tv[2] = {ns / NS_PER_S, ns % NS_PER_S / 1000}, zone = 0;

	if (a[0] && guest_write(a[0], tv, sizeof(tv)))
		return -EFAULT;
	return a[1] ? guest_write(a[1], &zone, sizeof(zone)) : 0;
}

long pin_time(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 s = (EPOCH_NS + pin_clock_now(t)) / NS_PER_S;

	return a[0] && guest_write(a[0], &s, sizeof(s)) ? -EFAULT : (long)s;
}

long pin_times(struct thread *t, const u64 *a, syscall_handler *host)
{
	struct tms tms = {
		.tms_utime = (long)(own_cpu(t, false) / TICK_NS),
		.tms_cutime = (long)(clock.children / TICK_NS),
	};

	if (a[0] && guest_write(a[0], &tms, sizeof(tms)))
		return -EFAULT;
	return (long)((BOOT_NS + pin_clock_now(t)) / TICK_NS);
}

/* All times are the user's. What the host has counted of faults, blocks and switches is left out. */
static long write_usage(gva to, u64 ns)
{
	struct rusage usage, all = {0};

	if (guest_read(&usage, to, sizeof(usage)))
		return -EFAULT;
	all.ru_utime.tv_sec = (long)(ns / NS_PER_S);
	all.ru_utime.tv_usec = (long)(ns % NS_PER_S / 1000);
	all.ru_maxrss = held_still(PIN_MEMORY) ? (long)(PIN_RESIDENT / 1024) : usage.ru_maxrss;
	return guest_write(to, &all, sizeof(all));
}

long pin_getrusage(struct thread *t, const u64 *a, syscall_handler *host)
{
	long ret = host(t, a);
	s32 who = (s32)a[0];

	if (ret)
		return ret;
	return write_usage(a[1], who == RUSAGE_CHILDREN ? clock.children : own_cpu(t, who == RUSAGE_THREAD));
}

/* The time since the start, and no load. */
u64 pin_clock_uptime(struct thread *t)
{
	return (BOOT_NS + pin_clock_now(t)) / NS_PER_S;
}

void pin_clock_waited(struct thread *t, s32 pid, gva usage)
{
	struct pin_end end;

	if (t->task->depth) /* the number is another one outside */
		return;
	end = *end_of(pid);
	end_of(pid)->cpu = 0;
	pin_clock_reach(end.now);
	__atomic_add_fetch(&clock.children, end.cpu, __ATOMIC_RELAXED);
	if (usage)
		write_usage(usage, end.cpu);
}

u64 pin_clock_ticks(struct thread *t)
{
	t->pin.late += TSC_NS;
	return BOOT_NS + pin_clock_now(t);
}
