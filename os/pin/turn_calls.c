/*
 * System calls of a process that has turns, by what they wait for (turn.h). A call that is in no table does not wait,
 * or only for a file system.
 */
#include "os/pin/turn.h"

#include <asm-generic/errno.h>
#include <asm-generic/fcntl.h>
#include <asm-generic/poll.h>
#include <linux/stat.h>
#include <linux/time.h>
#include <linux/wait.h>
#include "os/pin/clock.h"
#include "os/pin/wait.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define MSG_DONTWAIT   0x40 /* linux/socket.h */
#define LOCK_NB	       4
#define PIPE_ATOMIC    4096u /* PIPE_BUF: so much fits into a pipe that poll(2) says can be written to */
#define EPOLL_PWAIT2   441
#define SETS_WORDS     64 /* of a set of descriptors, for 4096 */

/* How a call is done. */
enum kind {
	DIRECT,	 /* it makes or ends threads, or their process, and keeps the turn */
	HOST,	 /* does not wait */
	OUTSIDE, /* waits in the kernel */
	FUTEX,
	SLEEP,
	YIELD,
	LIMIT,	 /* has a time limit, and with the limit 0 does not wait */
	INPUT,	 /* waits until a descriptor can be read from, */
	OUTPUT,	 /* or written to */
	CHILD,
	LOCK,
	SIGNAL,
	CLEAR_TID,
};

static const u8 kinds[] = {
	[__NR_clone] = DIRECT + 1,
#define KIND(nr, kind) [__NR_##nr] = kind + 1
	KIND(fork, DIRECT),
	KIND(vfork, DIRECT),
	KIND(clone3, DIRECT),
	KIND(exit, DIRECT),
	KIND(exit_group, DIRECT),
	KIND(execve, DIRECT),
	KIND(execveat, DIRECT),
	KIND(rt_sigreturn, DIRECT),
	KIND(pause, OUTSIDE),
	KIND(rt_sigsuspend, OUTSIDE),
	KIND(semop, OUTSIDE),
	KIND(semtimedop, OUTSIDE),
	KIND(msgsnd, OUTSIDE),
	KIND(msgrcv, OUTSIDE),
	KIND(mq_timedsend, OUTSIDE),
	KIND(mq_timedreceive, OUTSIDE),
	KIND(connect, OUTSIDE),
	KIND(recvmmsg, OUTSIDE),
	KIND(sendmmsg, OUTSIDE),
	KIND(splice, OUTSIDE),
	KIND(tee, OUTSIDE),
	KIND(vmsplice, OUTSIDE),
	KIND(io_getevents, OUTSIDE),
	KIND(io_pgetevents, OUTSIDE),
	[449 /* futex_waitv */] = OUTSIDE + 1,
	[455 /* futex_wait */] = OUTSIDE + 1,
	KIND(futex, FUTEX),
	KIND(nanosleep, SLEEP),
	KIND(clock_nanosleep, SLEEP),
	KIND(sched_yield, YIELD),
	KIND(poll, LIMIT),
	KIND(ppoll, LIMIT),
	KIND(select, LIMIT),
	KIND(pselect6, LIMIT),
	KIND(epoll_wait, LIMIT),
	KIND(epoll_pwait, LIMIT),
	[EPOLL_PWAIT2] = LIMIT + 1,
	KIND(rt_sigtimedwait, LIMIT),
	KIND(read, INPUT),
	KIND(readv, INPUT),
	KIND(recvfrom, INPUT),
	KIND(recvmsg, INPUT),
	KIND(accept, INPUT),
	KIND(accept4, INPUT),
	KIND(write, OUTPUT),
	KIND(writev, OUTPUT),
	KIND(sendto, OUTPUT),
	KIND(sendmsg, OUTPUT),
	KIND(wait4, CHILD),
	KIND(waitid, CHILD),
	KIND(flock, LOCK),
	KIND(fcntl, LOCK),
	KIND(kill, SIGNAL),
	KIND(tkill, SIGNAL),
	KIND(tgkill, SIGNAL),
	KIND(rt_sigqueueinfo, SIGNAL),
	KIND(rt_tgsigqueueinfo, SIGNAL),
	KIND(set_tid_address, CLEAR_TID),
#undef KIND
};

static enum kind kind_of(u64 nr)
{
	return nr < ARRAY_SIZE(kinds) && kinds[nr] ? (enum kind)(kinds[nr] - 1) : HOST;
}

static bool interrupted(const struct thread *t)
{
	return __atomic_load_n(&t->attention, __ATOMIC_RELAXED);
}

void turn_try_later(struct thread *t, u64 until)
{
	t->turn.until = until;
	t->turn.woken = 0;
	t->turn.tries = 1;
	turn_wait(t);
	t->turn.tries = 0;
}

/* ---- sleeping ---- */

static void write_rest(gva at, u64 until)
{
	u64 ns = pin_clock_until(until), rest[2] = {ns / NS_PER_S, ns % NS_PER_S};

	if (at)
		guest_write(at, rest, sizeof(rest));
}

static long sleep_until(struct thread *t, u64 until, gva rest)
{
	t->turn.until = until;
	t->turn.woken = t->turn.tries = 0;
	turn_wait(t);
	turn_progress();
	if (turn_is_due(until))
		return 0;
	write_rest(rest, until);
	return turn_interrupted(t, false);
}

static long sleep(struct thread *t, const u64 *a, syscall_handler *pinned)
{
	bool by_clock = t->nr == __NR_clock_nanosleep, absolute = by_clock && (a[1] & TIMER_ABSTIME);
	u64 until;

	if (!pin_sleep_until(t, a, &until)) /* a clock of CPU time, or a time that is none */
		return turn_outside(t, a, pinned);
	return sleep_until(t, until, absolute ? 0 : a[by_clock ? 3 : 1]);
}

/* ---- calls with a time limit ---- */

/* select and the like say what is left of their limit. */
static void write_left(struct thread *t, const struct pin_limit *limit, const u64 *a, u64 until)
{
	u64 ns = pin_clock_until(until), left[2] = {ns / NS_PER_S, ns % NS_PER_S};

	if (t->nr == __NR_select)
		left[1] /= 1000;
	if (t->nr == __NR_select || t->nr == __NR_pselect6 || t->nr == __NR_ppoll)
		guest_write(a[limit->arg], left, sizeof(left));
}

/* A wait for descriptors that also lets signals through that are blocked else. */
static bool has_mask(u64 nr, const u64 *a)
{
	return (nr == __NR_epoll_pwait || nr == EPOLL_PWAIT2) && a[4];
}

/* What select is asked for: it says in the same memory what there is. */
struct sets {
	u64 size, bits[3][SETS_WORDS];
};

static bool is_select(u64 nr)
{
	return nr == __NR_select || nr == __NR_pselect6;
}

/* False: there are too many, or they cannot be read. */
static bool read_sets(struct thread *t, const u64 *a, struct sets *sets)
{
	sets->size = 0;
	if (!is_select(t->nr) || (s32)a[0] <= 0)
		return true;
	sets->size = ((u64)(u32)a[0] + 63) / 64 * sizeof(u64);
	if (sets->size > sizeof(sets->bits[0]))
		return false;
	for (u32 i = 0; i < 3; i++)
		if (a[1 + i] && guest_read(sets->bits[i], a[1 + i], sets->size))
			return false;
	return true;
}

static void write_sets(const u64 *a, const struct sets *sets)
{
	for (u32 i = 0; i < 3 && sets->size; i++)
		if (a[1 + i])
			guest_write(a[1 + i], sets->bits[i], sets->size);
}

static long try_until(struct thread *t, const u64 *a, const struct pin_limit *limit, u64 until, syscall_handler *pinned,
		      syscall_handler *host)
{
	struct sets sets;
	u64 args[6];
	long ret;

	if (!read_sets(t, a, &sets))
		return turn_outside(t, a, pinned);
	for (;;) {
		for (u32 i = 0; i < ARRAY_SIZE(args); i++)
			args[i] = a[i];
		memset(t->pin.argument, 0, sizeof(t->pin.argument));
		args[limit->arg] = limit->in_ms ? 0 : (u64)t->pin.argument;
		ret = turn_host(t, args, host);
		if (ret != limit->passed || turn_is_due(until))
			break;
		if (interrupted(t)) {
			ret = turn_interrupted(t, false);
			write_sets(a, &sets);
			break;
		}
		write_sets(a, &sets);
		turn_try_later(t, until);
	}
	turn_progress();
	if (ret != SYSCALL_AGAIN && until != TURN_NEVER)
		write_left(t, limit, a, until);
	return ret;
}

static long limited(struct thread *t, const u64 *a, syscall_handler *pinned, syscall_handler *host)
{
	struct pin_limit limit;
	u64 ns;

	if (has_mask(t->nr, a))
		return turn_outside(t, a, pinned);
	if (!pin_wait_limit(t->nr, a, &limit, &ns) || !ns)
		return turn_host(t, a, pinned);
	return try_until(t, a, &limit, ns == TURN_NEVER ? TURN_NEVER : pin_clock_own(t) + ns, pinned, host);
}

/* ---- descriptors ---- */

static bool is_ready(s32 fd, s16 events)
{
	struct pollfd p = {.fd = fd, .events = events};

	return sys3(__NR_poll, &p, 1, 0) != 0; /* or it cannot be asked */
}

/* An event's descriptor is a socket to the host. */
static bool never_waits(const struct thread *t, const u64 *a)
{
	u64 nr = t->nr;
	u32 flags = 0;

	if (nr == __NR_recvfrom || nr == __NR_sendto)
		flags = (u32)a[3];
	else if (nr == __NR_recvmsg || nr == __NR_sendmsg)
		flags = (u32)a[2];
	return (flags & MSG_DONTWAIT) || perf_is_event(t, a[0]) ||
	       (sys3(__NR_fcntl, (s32)a[0], F_GETFL, 0) & O_NONBLOCK);
}

/* 0, or what the call returns instead. */
static long wait_for(struct thread *t, const u64 *a, s16 events)
{
	if (is_ready((s32)a[0], events) || never_waits(t, a))
		return 0;
	while (!is_ready((s32)a[0], events)) {
		if (interrupted(t))
			return turn_interrupted(t, true);
		turn_try_later(t, TURN_NEVER);
	}
	turn_progress();
	return 0;
}

static bool is_pipe(s32 fd)
{
	u64 stat[18]; /* struct stat */

	return !sys2(__NR_fstat, fd, stat) && S_ISFIFO((u32)stat[3]);
}

/* More than a pipe may have room for, in pieces: the reader may be a thread that wants the turn. */
static long write_pieces(struct thread *t, const u64 *a, syscall_handler *pinned)
{
	u64 args[6] = {a[0], a[1]}, done = 0;
	long ret = 0;

	while (done < a[2]) {
		args[1] = a[1] + done;
		args[2] = MIN(a[2] - done, (u64)PIPE_ATOMIC);
		ret = wait_for(t, a, POLLOUT);
		if (!ret)
			ret = turn_host(t, args, pinned);
		if (ret <= 0)
			break;
		done += (u64)ret;
	}
	return done ? (long)done : ret;
}

static long transfer(struct thread *t, const u64 *a, s16 events, syscall_handler *pinned)
{
	long ret;

	if (t->nr == __NR_write && a[2] > PIPE_ATOMIC && is_pipe((s32)a[0]) && !never_waits(t, a))
		return write_pieces(t, a, pinned);
	ret = wait_for(t, a, events);
	return ret ? ret : turn_host(t, a, pinned);
}

/* ---- children, locks ---- */

/* waitid says it in what it fills in. */
static bool has_none(u64 nr, const u64 *args, long ret)
{
	s32 info[4] = {0};

	if (nr == __NR_wait4)
		return ret == 0;
	return ret == 0 && !guest_read(info, args[2], sizeof(info)) && !info[0];
}

static long child(struct thread *t, const u64 *a, syscall_handler *pinned)
{
	u32 options = t->nr == __NR_wait4 ? 2 : 3;
	u64 args[6] = {a[0], a[1], a[2], a[3], a[4]};
	u64 info[16];
	long ret;

	if (a[options] & WNOHANG)
		return turn_host(t, a, pinned);
	args[options] |= WNOHANG;
	if (t->nr == __NR_waitid && !a[2])
		args[2] = (u64)info;
	while (has_none(t->nr, args, ret = turn_host(t, args, pinned))) {
		if (interrupted(t))
			return turn_interrupted(t, true);
		turn_try_later(t, TURN_NEVER);
	}
	turn_progress();
	return ret;
}

/* The same without waiting; false: it does not wait. */
static bool try_lock(u64 nr, const u64 *a, u64 *args)
{
	for (u32 i = 0; i < 6; i++)
		args[i] = a[i];
	if (nr == __NR_flock)
		args[1] |= LOCK_NB;
	else if ((u32)a[1] == F_SETLKW)
		args[1] = F_SETLK;
	else if ((u32)a[1] == F_OFD_SETLKW)
		args[1] = F_OFD_SETLK;
	return args[1] != a[1];
}

static long lock(struct thread *t, const u64 *a, syscall_handler *pinned)
{
	u64 args[6];
	long ret;

	if (!try_lock(t->nr, a, args))
		return turn_host(t, a, pinned);
	while ((ret = turn_host(t, args, pinned)) == -EAGAIN || ret == -EACCES) {
		if (interrupted(t))
			return turn_interrupted(t, true);
		turn_try_later(t, TURN_NEVER);
	}
	turn_progress();
	return ret;
}

/* ---- others ---- */

/* To one thread, or to the process; to others it is nothing to us. */
static long signal(struct thread *t, const u64 *a, syscall_handler *pinned)
{
	bool to_thread = t->nr == __NR_tkill || t->nr == __NR_tgkill || t->nr == __NR_rt_tgsigqueueinfo;
	u32 number = t->nr == __NR_tgkill || t->nr == __NR_rt_tgsigqueueinfo;
	long ret = turn_host(t, a, pinned);

	if (!ret && (s32)a[number + 1] && (to_thread || (s32)a[0] == t->pid || !(s32)a[0]))
		turn_signal_sent(to_thread ? (s32)a[number] : 0, (s32)a[number + 1]);
	return ret;
}

static long yield(struct thread *t)
{
	turn_yield(t);
	return 0;
}

void turn_note_call(struct thread *t, const u64 *a)
{
	if (kind_of(t->nr) == CLEAR_TID)
		t->turn.clear_tid = a[0];
}

/* Once a call has made its process one with turns, it is not looked at here any more. */
long turn_call(struct thread *t, const u64 *a, syscall_handler *pinned, syscall_handler *host)
{
	switch (kind_of(t->nr)) {
	case DIRECT:
		return pinned(t, a);
	case HOST:
	case CLEAR_TID:
		return turn_host(t, a, pinned);
	case OUTSIDE:
		return turn_outside(t, a, pinned);
	case FUTEX:
		return turn_futex(t, a, host);
	case SLEEP:
		return sleep(t, a, pinned);
	case YIELD:
		return yield(t);
	case LIMIT:
		return limited(t, a, pinned, host);
	case INPUT:
		return transfer(t, a, POLLIN, pinned);
	case OUTPUT:
		return transfer(t, a, POLLOUT, pinned);
	case CHILD:
		return child(t, a, pinned);
	case LOCK:
		return lock(t, a, pinned);
	case SIGNAL:
		return signal(t, a, pinned);
	}
	return turn_host(t, a, pinned);
}
