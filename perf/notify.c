/* See notify.h and event/host.h. */
#include "perf/notify.h"

#include <asm/siginfo.h>
#include <asm/ioctls.h>
#include <asm/signal.h>
#include <asm/socket.h>
#include <asm-generic/errno.h>
#include <linux/eventpoll.h>
#include <linux/fcntl.h>
#include "event/async.h"
#include "event/files.h"
#include "event/ready.h"
#include "os/session/apart.h"
#include "os/session/process.h"
#include "os/sig/signal.h"
#include "perf/perf.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define AF_UNIX_ 1 /* asm and linux headers have the numbers of sockets for nobody but the C library */
#define SOCK_DGRAM_ 2
#define MSG_PEEK_ 2
#define MSG_DONTWAIT_ 0x40
#define MSG_NOSIGNAL_ 0x4000
#define DATAGRAM_SIZE 1	  /* so that one can be skipped */
#define SIGNALS_QUEUED 32 /* from this number on; of the others one is pending at a time */

struct address {
	u16 family;
	char name[46]; /* begins with a 0: abstract */
};

static u32 make_address(struct address *a, u64 inode)
{
	a->family = AF_UNIX_;
	a->name[0] = 0;
	return 3 + (u32)rt_snprintf(a->name + 1, sizeof(a->name) - 1, "pcl-%lx-%lx",
				     the_process.config.session_id, inode);
}

long notify_descriptor(bool cloexec)
{
	return sys3(__NR_socket, AF_UNIX_, SOCK_DGRAM_ | (cloexec ? O_CLOEXEC : 0), 0);
}

static bool listen_as(s32 fd, u64 inode)
{
	struct address a;
	long ret = sys3(__NR_bind, fd, &a, make_address(&a, inode));

	return !ret || ret == -EINVAL; /* it has its name already */
}

void perf_drain(s32 fd)
{
	char byte;

	while (sys6(__NR_recvfrom, fd, (long)&byte, sizeof(byte), MSG_DONTWAIT_, 0, 0) >= 0)
		;
}

/* All datagrams but one, which goes on telling others. Another one in its place would be a second signal. */
static void drain_but_one(s32 fd)
{
	s32 first = DATAGRAM_SIZE; /* to be skipped */
	char byte;

	while (!sys5(__NR_setsockopt, fd, SOL_SOCKET, SO_PEEK_OFF, &first, sizeof(first)) &&
	       sys6(__NR_recvfrom, fd, (long)&byte, sizeof(byte), MSG_DONTWAIT_ | MSG_PEEK_, 0, 0) >= 0 &&
	       sys6(__NR_recvfrom, fd, (long)&byte, sizeof(byte), MSG_DONTWAIT_, 0, 0) >= 0)
		;
}

/* A filter of the guest's own may kill for calls that it has not made itself. */
static bool is_filtered(void)
{
	return __atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED);
}

void perf_drain_for_others(struct thread *t, s32 fd)
{
	if (event_ready_owed(t->cpu->slot, (u32)fd)) {
		if (!is_filtered())
			drain_but_one(fd);
		return;
	}
	perf_drain(fd);
	event_ready_missed(t->cpu->slot, (u32)fd); /* meanwhile */
}

bool perf_listen(struct thread *t, s32 fd)
{
	u32 nr = event_files_lookup(t->cpu->slot, (u32)fd);

	return nr && listen_as(fd, event_slot(nr)->inode);
}

/* 0, or -errno. */
static long send_from(s32 fd, u64 inode)
{
	struct address a;
	u32 len = make_address(&a, inode);
	long ret = sys6(__NR_sendto, fd, (long)"", DATAGRAM_SIZE, MSG_DONTWAIT_ | MSG_NOSIGNAL_, (long)&a, len);

	return MIN(ret, 0l);
}

/*
 * After -EAGAIN: nothing is wrong with the sender, so it is the receiver who has more datagrams than its queue holds.
 */
static bool may_send(s32 fd)
{
	u32 waiting = 0, limit = 0, size = sizeof(limit);

	return !sys3(__NR_ioctl, fd, TIOCOUTQ, &waiting) &&
	       !sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_SNDBUF, &limit, &size) && waiting < limit;
}

/*
 * A section is committed, and this is what was put off. If it takes long another member does it instead, and a signal
 * has this thread go on behind it. None may come while the descriptor is open.
 */
static long send_from_new(void *inode)
{
	u64 mask = SIG_IN_HANDLERS, old = 0;
	long ret;
	s32 fd;

	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, &old, 8);
	fd = (s32)notify_descriptor(true);
	ret = send_from(fd, *(u64 *)inode);
	sys1(__NR_close, fd);
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
	return ret;
}

#define OWN_LOOKS 1024

/*
 * The first of the task's descriptors that is the event; -1: none of the first OWN_LOOKS. A longer search may take
 * longer than to make a new one, and how long the table is may be what any member has written there.
 */
static s32 own_descriptor(u32 nr)
{
	u32 task = host_current();

	for (s32 fd = 0; nr && fd < OWN_LOOKS; fd++)
		if (event_files_lookup(task, (u64)fd) == nr)
			return fd;
	return -1;
}

/*
 * From the session's own socket, which no guest can mistake for one of its descriptors. Where that fails, because too
 * many that it has sent are not taken yet or because the receiver is in another network namespace, from the event's own
 * if the caller has it, or else from a new one. False: it does not arrive.
 */
static bool send_datagram(u32 root)
{
	const struct thread *t = thread_current();
	s32 fd = (t->has_left ? t->left_fd : __atomic_load_n(&the_process.runtime_fd, __ATOMIC_ACQUIRE)) + WAKER_FD;
	u64 inode = event_slot(root)->inode;
	long ret;

	ret = send_from(fd, inode);
	if (!ret || (ret == -EAGAIN && may_send(fd)))
		return !ret;
	if (unlikely(t->has_left))
		return !send_from_new(&inode);
	fd = own_descriptor(root);
	if (fd >= 0)
		return !send_from(fd, inode);
	return !apart_run(send_from_new, &inode);
}

/* ---- signals ---- */

/* The kernel's sig_specific_sicodes(), but for SIGIO: its si_code means something else. */
static bool has_own_codes(u32 signo)
{
	return signo < SIGNALS_QUEUED && ((SIG_SYNC | SIG_BIT(SIGCHLD) | SIG_BIT(SIGSYS)) & SIG_BIT(signo));
}

#define BAND_IN (EPOLLIN | EPOLLRDNORM)
#define BAND_HUP (EPOLLHUP | EPOLLERR)
#define BAND_ERR EPOLLERR

/* si_band for a si_code. */
static u64 band_of(u32 kill)
{
	return kill == POLL_HUP ? BAND_HUP : kill == POLL_ERR ? BAND_ERR : BAND_IN;
}

/*
 * Whom an event signals, and how, as this process has told the kernel: the event's own fields may be anybody's, and say
 * which signal a thread queues to itself. Events with the same place share an entry: the last one has it. In the child
 * of a fork the entries are its parent's: none is about its own threads.
 */
#define ASKED 4096u
static u64 asked[ASKED];

static u64 asked_word(u32 nr, u32 signo, u32 type, s32 owner)
{
	_Static_assert(EVENT_SLOTS <= 1 << 23, "an event's number has 23 bits");
	return (u64)nr << 41 | (u64)(signo & 127) << 34 | (u64)(type & 3) << 32 | (u32)owner;
}

static void asked_note(u32 nr, u32 signo, u32 type, s32 owner)
{
	__atomic_store_n(&asked[nr % ASKED], asked_word(nr, signo, type, owner), __ATOMIC_RELAXED);
}

/* The signal alone; of an event that this process has not named an owner of, nothing. */
static void asked_signal(u32 nr, u32 signo)
{
	u64 word = __atomic_load_n(&asked[nr % ASKED], __ATOMIC_RELAXED);

	if (word >> 41 == nr)
		asked_note(nr, signo, (u32)(word >> 32) & 3, (s32)word);
}

static bool asked_for(u32 nr, u32 signo, u32 type, s32 owner)
{
	u64 word = __atomic_load_n(&asked[nr % ASKED], __ATOMIC_RELAXED);

	return signo < 128 && type < 4 && word == asked_word(nr, signo, type, owner);
}

/* As the kernel's send_sigio_to_task(): without F_SETSIG there is no siginfo to speak of. */
static void fill_siginfo(struct ksiginfo *info, u32 signo, s32 fd, u32 kill)
{
	memset(info, 0, sizeof(*info));
	info->signo = SIGIO;
	info->code = SIG_CODE_KERNEL;
	if (!signo)
		return;
	info->signo = (s32)signo;
	info->code = has_own_codes(signo) ? SI_SIGIO : (s32)kill;
	info->addr = band_of(kill); /* si_band */
	info->value = (u32)fd;
}

static long queue_to_self(const struct thread *t, u32 type, const struct ksiginfo *info)
{
	if (type == F_OWNER_TID)
		return sys4(__NR_rt_tgsigqueueinfo, t->pid, t->tid, info->signo, info);
	return sys3(__NR_rt_sigqueueinfo, t->tid, info->signo, info); /* to its process */
}

/* If the queue is full, SIGIO without a siginfo, and -EAGAIN unless that fails too. */
static long queue_or_sigio(const struct thread *t, u32 type, const struct ksiginfo *info)
{
	const struct ksiginfo sigio = {.signo = SIGIO, .code = SIG_CODE_KERNEL};
	long ret = queue_to_self(t, type, info), err = 0;

	if (ret == -EAGAIN)
		err = queue_to_self(t, type, &sigio);
	return err ? err : ret;
}

/* True if it is the calling thread that is to be signalled, and it has been. */
static bool signal_self(struct event *e, u32 kill)
{
	u32 signo = __atomic_load_n(&e->async_signo, __ATOMIC_RELAXED);
	u32 type = __atomic_load_n(&e->async_type, __ATOMIC_RELAXED);
	const struct thread *t = thread_current();
	struct ksiginfo info;
	long ret;

	if (!t || t->task->pid != e->async_pid || t->tid != e->async_owner || type == F_OWNER_PGRP ||
	    !asked_for(event_nr(e), signo, type, t->tid))
		return false;
	fill_siginfo(&info, signo, e->async_fd, kill);
	ret = queue_or_sigio(t, type, &info);
	return !ret || ret == -EAGAIN;
}

/*
 * If its queue is full, the receiver has yet to take what is in there. So it also finds what was not sent before that
 * was full: hence the second try.
 */
static void send_news(struct event *e)
{
	u32 root = event_nr(e);

	if (send_datagram(root))
		return;
	async_not_sent(e);
	send_datagram(root);
}

/*
 * To those who wait only, where a datagram would also signal: the program may not expect a signal at all just then. A
 * wakeup of another task that is to signal may come in between, and is told once more. By the descriptor that has set
 * O_ASYNC, since the kernel keeps the last one for si_fd; where it is closed the datagram signals.
 */
static void send_quietly(struct event *e)
{
	u32 root = event_nr(e), owed = async_owed(e);
	s32 fd = e->async_fd;
	bool own = e->async_pid == thread_current()->task->pid && !is_filtered() &&
		   event_files_lookup(host_current(), (u32)fd) == root;
	long flags = !own ? 0 : sys2(__NR_fcntl, fd, F_GETFL);
	bool signals = !sys_is_error(flags) && flags & FASYNC;

	if (signals)
		sys3(__NR_fcntl, fd, F_SETFL, flags & ~(long)FASYNC);
	send_datagram(root);
	if (!signals)
		return;
	sys3(__NR_fcntl, fd, F_SETFL, flags);
	if (async_owed(e) != owed)
		send_datagram(root);
}

void host_wake(u32 root, u32 pending_kill)
{
	struct event *e = event_slot(root);
	bool waited = __atomic_load_n(&e->waiters, __ATOMIC_RELAXED);
	bool async = e->async_pid && e->async_owner && pending_kill;

	if (async)
		e->async_by = host_current();
	if (!waited && (!async || signal_self(e, pending_kill)))
		return;
	if (async)
		send_news(e);
	else if (e->async_pid)
		send_quietly(e);
	else
		send_datagram(root);
}

void perf_set_async(struct thread *t, s32 fd, bool on)
{
	struct event *e;
	u64 inode = 0;

	event_lock();
	e = event_files_get_locked(t->cpu->slot, (u32)fd);
	if (e && on && !e->async_pid) {
		e->async_fd = fd;
		async_reset(e);
		inode = e->inode;
	}
	if (e && on != !!e->async_pid)
		__atomic_store_n(&e->async_pid, on ? t->task->pid : 0, __ATOMIC_RELEASE);
	event_unlock();
	if (inode)
		listen_as(fd, inode);
}

/*
 * The owner is what the guest said. The kernel cannot be asked later: of a process that was named by a thread that
 * does not lead it says 0.
 */
void perf_set_owner(struct thread *t, s32 fd, u32 type, s32 owner)
{
	long signo = sys2(__NR_fcntl, fd, F_GETSIG);
	struct event *e;
	u32 nr = 0;

	event_lock();
	e = event_files_get_locked(t->cpu->slot, (u32)fd);
	if (e) {
		e->async_signo = (u32)signo;
		e->async_type = type;
		e->async_owner = owner;
		nr = event_nr(e);
	}
	event_unlock();
	if (!nr)
		return;
	async_send_again(event_slot(nr)); /* nothing that was for another one */
	asked_note(nr, (u32)signo, type, owner);
}

void perf_set_signal(struct thread *t, s32 fd, u32 signo)
{
	struct event *e;
	u32 nr = 0;

	event_lock();
	e = event_files_get_locked(t->cpu->slot, (u32)fd);
	if (e) {
		if (e->async_signo != signo)
			async_reset(e);
		e->async_signo = signo;
		nr = event_nr(e);
	}
	event_unlock();
	if (nr)
		asked_signal(nr, signo);
}

/* ---- their delivery ---- */

/*
 * What a signal is: of a wakeup that signals and is known, of a datagram that was only for those who wait, or one
 * cannot tell.
 */
enum meaning { OF_WAKEUP, OF_DATAGRAM, UNSURE };

static enum meaning correct_locked(struct event *e, struct ksiginfo *info)
{
	u32 says = info->addr == BAND_HUP ? POLL_HUP : info->addr == BAND_ERR ? POLL_ERR : POLL_IN, kill;

	if (!e->async_pid || e->async_signo != (u32)info->signo || e->async_type == F_OWNER_PGRP)
		return UNSURE;
	kill = async_take(e, says, info->signo >= SIGNALS_QUEUED);
	if (!kill)
		return OF_DATAGRAM;
	info->code = info->code == SI_SIGIO ? SI_SIGIO : (s32)kill;
	info->addr = band_of(kill);
	return OF_WAKEUP;
}

/*
 * The news that found the descriptor's queue full, after it was emptied. Signals that merge have been merged. What is
 * queued too often is dropped as it is taken.
 */
static void send_again(struct thread *t, u32 nr, const struct ksiginfo *info)
{
	struct event *e = event_slot(nr);
	u32 n = async_send_again(e);

	while (info->signo >= SIGNALS_QUEUED && n-- && !queue_or_sigio(t, e->async_type, info))
		;
}

static bool taken_of(struct thread *t, s32 fd, struct ksiginfo *info)
{
	enum meaning meaning = UNSURE;
	struct ksiginfo again = *info;
	struct event *e;
	u32 nr = 0;

	if (!perf_is_event(t, (u32)fd))
		return true;
	event_lock();
	e = event_files_get_locked(t->cpu->slot, (u32)fd);
	if (e) {
		nr = event_nr(e);
		meaning = correct_locked(e, info);
	}
	event_unlock();
	if (meaning != OF_DATAGRAM)
		perf_drain_for_others(t, fd);
	if (meaning == OF_WAKEUP)
		send_again(t, nr, &again);
	return meaning != OF_DATAGRAM;
}

/* Without F_SETSIG the signal does not say of which descriptor it is. */
static void taken_of_any(struct thread *t)
{
	const struct event_files *files = event_files_slot(event_ctx(t->cpu->slot)->files);

	for (u32 fd = 0; fd < MIN(__atomic_load_n(&files->high, __ATOMIC_RELAXED), EVENT_FDS); fd++) {
		u32 nr = event_files_lookup(t->cpu->slot, fd);

		if (nr && event_slot(nr)->async_pid && genuine_is(fd))
			perf_drain_for_others(t, (s32)fd);
	}
}

bool perf_signal_of_descriptor(const struct ksiginfo *info)
{
	if (has_own_codes((u32)info->signo))
		return info->code == SI_SIGIO;
	return info->code == POLL_IN || info->code == POLL_HUP || info->code == POLL_ERR;
}

bool perf_signal_taken(struct thread *t, struct taken_signal *sig)
{
	struct ksiginfo *info = (struct ksiginfo *)sig->info;

	if (likely(!event_space->opened))
		return true;
	if (perf_signal_of_descriptor(info))
		return taken_of(t, (s32)info->value, info);
	if (sig->signo == SIGIO && info->code == SIG_CODE_KERNEL)
		taken_of_any(t);
	return true;
}
