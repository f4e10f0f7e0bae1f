/* See wait.h. */
#include "os/pin/wait.h"

#include <asm-generic/errno.h>
#include <asm-generic/socket.h>
#include <linux/futex.h>
#include <linux/time.h>
#include <linux/wait.h>
#include "event/host.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define NS_PER_MS  1000000ul
#define NS_PER_US  1000ul
#define MAX_S	   (1ul << 32)	/* a longer time is taken for this one */
#define REALTIME_S 1000000000ul /* a time of day is above, a time since the start below */
#define CPU_TIME_S 100000ul	/* that of a process: os/pin/clock.c */
#define PAST_NS	   1		/* in place of a time that is over: 0 would mean none */

enum form { MILLISECONDS, TIMESPEC, TIMEVAL };

/* Calls with a timeout from now on: which argument it is, and what says that it has passed. */
static const struct wait {
	u16 nr;
	u8 arg, form;
	s32 passed;
} waits[] = {
	{__NR_poll, 2, MILLISECONDS, 0},
	{__NR_ppoll, 2, TIMESPEC, 0},
	{__NR_select, 4, TIMEVAL, 0},
	{__NR_pselect6, 4, TIMESPEC, 0},
	{__NR_epoll_wait, 3, MILLISECONDS, 0},
	{__NR_epoll_pwait, 3, MILLISECONDS, 0},
	{441 /* epoll_pwait2 */, 3, TIMESPEC, 0},
	{__NR_rt_sigtimedwait, 2, TIMESPEC, -EAGAIN},
	{__NR_semtimedop, 3, TIMESPEC, -EAGAIN},
	{__NR_futex, 3, TIMESPEC, -ETIMEDOUT},
};

/* Until when, on the clock with that number: the call's arguments say so, or say nothing that the kernel would take. */
struct until {
	u64 clock_zero; /* what the clock says when virtual time is 0 */
	s32 clock;
	u64 ns;
};

static bool read_time(gva at, enum form form, u64 *ns)
{
	u64 time[2], unit = form == TIMEVAL ? NS_PER_US : 1;

	if (!at || guest_read(time, at, sizeof(time)) || (s64)time[0] < 0 || time[1] >= NS_PER_S / unit)
		return false;
	*ns = MIN(time[0], MAX_S) * NS_PER_S + time[1] * unit;
	return true;
}

static bool read_timeout(const struct wait *w, const u64 *a, u64 *ns)
{
	*ns = (u64)(s32)a[w->arg] * NS_PER_MS;
	return w->form == MILLISECONDS ? (s32)a[w->arg] > 0 : read_time(a[w->arg], w->form, ns);
}

static const struct wait *find(u64 nr)
{
	u32 i = 0;

	while (waits[i].nr != nr)
		i++;
	return &waits[i];
}

/* The kernel may change the timeout to what is left of it. */
long pin_wait(struct thread *t, const u64 *a, syscall_handler *host)
{
	const struct wait *w = find(t->nr);
	u64 ns, begin = pin_clock_own(t);
	bool limited = read_timeout(w, a, &ns);
	long ret = host(t, a);

	if (limited && ret == w->passed)
		pin_clock_reach(begin + ns);
	return ret;
}

bool pin_wait_limit(u64 nr, const u64 *a, struct pin_limit *out, u64 *ns)
{
	const struct wait *w = find(nr);
	bool in_ms = w->form == MILLISECONDS;

	*out = (struct pin_limit){.arg = w->arg, .in_ms = in_ms, .passed = w->passed};
	*ns = ~0ul;
	if (in_ms ? (s32)a[w->arg] < 0 : !a[w->arg])
		return true;
	if (in_ms)
		*ns = (u64)(s32)a[w->arg] * NS_PER_MS;
	return in_ms || read_time(a[w->arg], w->form, ns);
}

/* ---- absolute times ---- */

static bool read_until(s32 clock, gva at, struct until *out)
{
	out->clock = clock;
	return pin_clock_zero(clock, &out->clock_zero) && read_time(at, TIMESPEC, &out->ns);
}

/* What is left of it by virtual time. */
static u64 left(struct thread *t, const struct until *u)
{
	u64 now = u->clock_zero + pin_clock_now(t);

	return u->ns > now ? u->ns - now : 0;
}

static void reached(const struct until *u)
{
	if (u->ns > u->clock_zero)
		pin_clock_reach(u->ns - u->clock_zero);
}

static void store(struct thread *t, u64 ns)
{
	t->pin.argument[0] = ns / NS_PER_S;
	t->pin.argument[1] = ns % NS_PER_S;
}

/* As absolute on the host's clock: so the call may be done again by the kernel. a: argument `arg` is the time. */
static long wait_until(struct thread *t, const u64 *a, u32 arg, const struct until *u, syscall_handler *host,
		       long passed)
{
	u64 ns = left(t, u), args[6];
	long ret;

	for (u32 i = 0; i < ARRAY_SIZE(args); i++)
		args[i] = a[i];
	store(t, ns ? host_clock_by_id(u->clock) + ns : PAST_NS);
	args[arg] = (u64)t->pin.argument;
	ret = host(t, args);
	if (ret == passed)
		reached(u);
	return ret;
}

/* clock_nanosleep, and nanosleep with its relative time. What is left by the host's clock counts after a signal. */
long pin_sleep(struct thread *t, const u64 *a, syscall_handler *host)
{
	bool by_clock = t->nr == __NR_clock_nanosleep;
	gva time = a[by_clock ? 2 : 0], rest = a[by_clock ? 3 : 1];
	u64 begin = pin_clock_own(t), ns, unslept;
	struct until until;
	long ret;

	if (by_clock && (a[1] & TIMER_ABSTIME))
		return read_until((s32)a[0], time, &until) ? wait_until(t, a, 2, &until, host, 0) : host(t, a);
	if (!read_time(time, TIMESPEC, &ns))
		return host(t, a);
	ret = host(t, a);
	if (!ret)
		pin_clock_reach(begin + ns);
	else if (ret == -EINTR && read_time(rest, TIMESPEC, &unslept) && unslept < ns)
		pin_clock_reach(begin + ns - unslept);
	return ret;
}

/* The clock of a futex call's absolute timeout. -1: it has none, or one that is relative. */
static s32 futex_clock(u64 op)
{
	switch ((s32)op & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
		return CLOCK_REALTIME;
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI2:
		return op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	}
	return -1;
}

static long futex_until(struct thread *t, const u64 *a, u32 arg, s32 clock, syscall_handler *host)
{
	struct until until;

	return read_until(clock, a[arg], &until) ? wait_until(t, a, arg, &until, host, -ETIMEDOUT) : host(t, a);
}

/* In virtual time; a time before its begin is over. */
static u64 in_virtual_time(const struct until *u)
{
	return u->ns > u->clock_zero ? u->ns - u->clock_zero : 0;
}

bool pin_futex_until(struct thread *t, const u64 *a, u64 *out)
{
	bool relative = ((s32)a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
	struct until until;

	if (relative) {
		if (!read_time(a[3], TIMESPEC, out))
			return false;
		*out += pin_clock_own(t);
		return true;
	}
	if (!read_until(futex_clock(a[1]), a[3], &until))
		return false;
	*out = in_virtual_time(&until);
	return true;
}

bool pin_sleep_until(struct thread *t, const u64 *a, u64 *out)
{
	bool by_clock = t->nr == __NR_clock_nanosleep;
	s32 clock = by_clock ? (s32)a[0] : CLOCK_MONOTONIC;
	struct until until;

	if (!read_until(clock, a[by_clock ? 2 : 0], &until) || (by_clock && a[1] & ~(u64)TIMER_ABSTIME))
		return false;
	*out = by_clock && a[1] ? in_virtual_time(&until) : pin_clock_own(t) + until.ns;
	return true;
}

/* futex, futex_waitv, futex_wait, mq_timedsend, mq_timedreceive. */
long pin_futex(struct thread *t, const u64 *a, syscall_handler *host)
{
	switch (t->nr) {
	case 449: /* futex_waitv */
		return futex_until(t, a, 3, (s32)a[4], host);
	case 455: /* futex_wait */
		return futex_until(t, a, 4, (s32)a[5], host);
	case __NR_mq_timedsend:
	case __NR_mq_timedreceive:
		return futex_until(t, a, 4, CLOCK_REALTIME, host);
	}
	if (((s32)a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
		return pin_wait(t, a, host);
	return futex_clock(a[1]) < 0 ? host(t, a) : futex_until(t, a, 3, futex_clock(a[1]), host);
}

/* ---- timers ---- */

/* ITIMER_REAL expires in so many ns, 0: never. *left: what it had left until now, 0: that is what the host says. */
static long set_real(struct thread *t, const u64 *a, syscall_handler *host, u64 ns, u64 *left)
{
	struct pin_timer timer;
	long ret;

	*left = pin_clock_timer_left(t);
	timer = pin_clock_timer(t, PIN_TIMER_REAL, ns);
	ret = host(t, a);
	if (ret >= 0)
		pin_clock_timer_is(t, timer);
	return ret;
}

/* The kernel rounds, but never to 0. */
long pin_alarm(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 left;
	long ret = set_real(t, a, host, (u32)a[0] * NS_PER_S, &left);

	return ret > 0 && left ? (long)MAX((left + NS_PER_S / 2) / NS_PER_S, 1ul) : ret;
}

/* In the guest's struct itimerval, whose timer runs. */
static void tell_left(gva itimer, u64 ns)
{
	u64 us = MAX(ns / NS_PER_US, 1ul), left[2] = {us * NS_PER_US / NS_PER_S, us % (NS_PER_S / NS_PER_US)};

	guest_write(itimer + sizeof(left), left, sizeof(left));
}

/* Those of CPU time are left alone. */
long pin_itimer(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 value[4] = {0}, left;
	long ret;

	if ((u32)a[0] != ITIMER_REAL || (a[1] && guest_read(value, a[1], sizeof(value))) || (s64)value[2] < 0 ||
	    value[3] >= NS_PER_S / NS_PER_US)
		return host(t, a);
	ret = set_real(t, a, host, MIN(value[2], MAX_S) * NS_PER_S + value[3] * NS_PER_US, &left);
	if (!ret && a[2] && left)
		tell_left(a[2], left);
	return ret;
}

long pin_getitimer(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 left = (u32)a[0] == ITIMER_REAL ? pin_clock_timer_left(t) : 0;
	long ret = host(t, a);

	if (!ret && left)
		tell_left(a[1], left);
	return ret;
}

static long set_other(struct thread *t, const u64 *a, syscall_handler *host, u64 ns)
{
	pin_clock_timer(t, PIN_TIMER_OTHER, MAX(ns, (u64)PAST_NS));
	return host(t, a);
}

/*
 * timer_settime and timerfd_settime: an absolute time becomes the time that is left. Of which clock it is shows its
 * size; a time that is too small for both is CPU time.
 */
long pin_timer(struct thread *t, const u64 *a, syscall_handler *host)
{
	u64 *value = t->pin.argument, args[6];
	struct until until = {.clock = CLOCK_MONOTONIC};

	if (!a[2] || guest_read(value, a[2], sizeof(t->pin.argument)) || !(value[2] | value[3]))
		return host(t, a);
	if (!(a[1] & TIMER_ABSTIME) || (s64)value[2] < (s64)CPU_TIME_S || value[3] >= NS_PER_S)
		return set_other(t, a, host, MIN(value[2], MAX_S) * NS_PER_S + value[3]);
	for (u32 i = 0; i < ARRAY_SIZE(args); i++)
		args[i] = a[i];
	if (value[2] >= REALTIME_S)
		until.clock = CLOCK_REALTIME;
	pin_clock_zero(until.clock, &until.clock_zero);
	until.ns = MIN(value[2], MAX_S) * NS_PER_S + value[3];
	until.ns = MAX(left(t, &until), (u64)PAST_NS);
	value[2] = until.ns / NS_PER_S;
	value[3] = until.ns % NS_PER_S;
	args[1] &= ~(u64)TIMER_ABSTIME;
	args[2] = (u64)value;
	return set_other(t, args, host, until.ns);
}

/* A timeout of a socket's: nobody says when it has passed. Likewise of calls whose timeout is an argument. */
long pin_set_option(struct thread *t, const u64 *a, syscall_handler *host)
{
	s32 option = (s32)a[2];
	u64 ns = 0;
	bool on;

	if (t->nr == __NR_setsockopt)
		on = (s32)a[1] == SOL_SOCKET &&
		     (option == SO_RCVTIMEO_OLD || option == SO_SNDTIMEO_OLD || option == SO_RCVTIMEO_NEW ||
		      option == SO_SNDTIMEO_NEW) &&
		     read_time(a[3], TIMEVAL, &ns) && ns;
	else /* recvmmsg, io_getevents, io_pgetevents */
		on = read_time(a[4], TIMESPEC, &ns);
	return on ? set_other(t, a, host, ns) : host(t, a);
}

/* ---- children ---- */

static bool has_ended(gva status, u64 options)
{
	s32 value;

	if (!status || guest_read(&value, status, sizeof(value)))
		return !(options & (WUNTRACED | WCONTINUED));
	return (value & 0xff) != 0x7f && value != 0xffff;
}

/* wait4 and waitid: the child's time is the caller's, too. */
long pin_wait_child(struct thread *t, const u64 *a, syscall_handler *host)
{
	long ret = host(t, a);
	s32 info[5];

	if (t->nr == __NR_wait4) {
		if (ret > 0 && has_ended(a[1], a[2]))
			pin_clock_waited(t, (s32)ret, a[3]);
	} else if (!ret && a[2] && !(a[3] & WNOWAIT) && !guest_read(info, a[2], sizeof(info)) && info[4] > 0 &&
		   info[2] >= 1 /* CLD_EXITED */ && info[2] <= 3 /* CLD_DUMPED */) {
		pin_clock_waited(t, info[4], a[4]);
	}
	return ret;
}
