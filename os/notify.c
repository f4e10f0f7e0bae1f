/* See notify.h and event/host.h. */
#include "os/notify.h"

#include <asm/siginfo.h>
#include <asm/signal.h>
#include <asm-generic/errno.h>
#include <linux/eventpoll.h>
#include <linux/fcntl.h>
#include "event/files.h"
#include "event/space.h"
#include "os/arena.h"
#include "os/signal.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define AF_UNIX_ 1 /* asm and linux headers have the numbers of sockets for nobody but the C library */
#define SOCK_DGRAM_ 2
#define MSG_DONTWAIT_ 0x40
#define NO_SIGPIPE 0x4000 /* MSG_NOSIGNAL */

/* Events of this process with O_ASYNC: their datagrams are taken when a signal comes, since nobody else may. */
#define ASYNC_FDS 64
static s32 async_fds[ASYNC_FDS]; /* descriptor + 1, 0: free */

struct address {
	u16 family;
	char name[46]; /* begins with a 0: abstract */
};

static u32 make_address(struct address *a, u64 inode)
{
	a->family = AF_UNIX_;
	a->name[0] = 0;
	return 3 + (u32)rt_snprintf(a->name + 1, sizeof(a->name) - 1, "pcl-%lx-%lx", arena()->session_id, inode);
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

void notify_drain(s32 fd)
{
	char byte;

	while (sys6(__NR_recvfrom, fd, (long)&byte, sizeof(byte), MSG_DONTWAIT_, 0, 0) >= 0)
		;
}

bool notify_listen_event(struct thread *t, s32 fd)
{
	u32 nr = event_files_lookup(t->cpu->slot, (u32)fd);

	return nr && listen_as(fd, event_slot(nr)->inode);
}

/* From a socket of its own, since members have none in common; it is rare that somebody sleeps. */
static void send_datagram(u64 inode)
{
	struct address a;
	u32 len = make_address(&a, inode);
	long fd = notify_descriptor(true);

	if (fd < 0)
		return;
	sys6(__NR_sendto, fd, (long)"", 0, MSG_DONTWAIT_ | NO_SIGPIPE, (long)&a, len);
	sys1(__NR_close, fd);
}

/* ---- signals ---- */

struct owner {
	s32 type, pid;
};

/* As the kernel's send_sigio(): without F_SETSIG there is no siginfo to speak of. */
static void fill_siginfo(struct ksiginfo *info, s32 fd, s32 signo, u32 kill)
{
	memset(info, 0, sizeof(*info));
	info->signo = signo ? signo : SIGIO;
	info->code = signo ? (s32)kill : SIG_CODE_KERNEL;
	if (!signo)
		return;
	info->addr = kill == POLL_HUP ? EPOLLHUP | EPOLLERR : EPOLLIN | EPOLLRDNORM; /* si_band */
	info->value = (u32)fd;
}

/* True if the signal is of this process to this process, and has been sent. */
static bool signal_self(const struct event *e, u32 kill)
{
	s32 pid = (s32)sys0(__NR_getpid), fd = e->async_fd;
	struct owner owner = {0, 0};
	struct ksiginfo info;

	if ((s32)e->async_tgid != pid || sys3(__NR_fcntl, fd, F_GETOWN_EX, &owner))
		return false;
	fill_siginfo(&info, fd, (s32)sys2(__NR_fcntl, fd, F_GETSIG), kill);
	if (owner.type == F_OWNER_TID)
		return !sys4(__NR_rt_tgsigqueueinfo, pid, owner.pid, info.signo, &info);
	return owner.type == F_OWNER_PID && owner.pid == pid && !sys3(__NR_rt_sigqueueinfo, pid, info.signo, &info);
}

void host_wake(u32 root, u32 pending_kill)
{
	const struct event *e = event_slot(root);
	bool waited = __atomic_load_n(&e->waiters, __ATOMIC_RELAXED);
	bool async = e->async_pid && pending_kill;

	if (async && !waited && signal_self(e, pending_kill))
		return;
	if (waited || async)
		send_datagram(e->inode);
}

static void note_fd(s32 fd, bool on)
{
	for (u32 i = 0; i < ASYNC_FDS; i++)
		if (async_fds[i] == fd + 1 || (on && !async_fds[i])) {
			async_fds[i] = on ? fd + 1 : 0;
			return;
		}
}

void notify_set_async(struct thread *t, s32 fd, bool on)
{
	struct event *e;
	u64 inode = 0;

	note_fd(fd, on);
	event_lock();
	e = event_files_get_locked(t->cpu->slot, (u32)fd);
	if (e) {
		e->async_fd = fd;
		e->async_tgid = (u32)t->pid;
		e->async_pid = on ? t->pid : 0;
		inode = e->inode;
	}
	event_unlock();
	if (e && on)
		listen_as(fd, inode);
}

void notify_signal_taken(struct thread *t)
{
	for (u32 i = 0; i < ASYNC_FDS; i++) {
		if (!async_fds[i])
			continue;
		if (event_files_lookup(t->cpu->slot, (u32)async_fds[i] - 1))
			notify_drain(async_fds[i] - 1);
		else
			async_fds[i] = 0;
	}
}
