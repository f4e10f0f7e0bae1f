/*
 * Descriptors that processes pass to each other: those that arrive may be events, and pcl's own are not open, so they
 * cannot be sent.
 */
#include <asm-generic/errno.h>
#include <asm/stat.h>
#include "os/files/vfile.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "perf/notify.h"
#include "perf/perf.h"
#include "perf/unfit.h"
#include "rt/guest.h"
#include "rt/sys.h"

#define SOL_SOCKET_ 1 /* asm and linux headers have the numbers of sockets for nobody but the C library */
#define SCM_RIGHTS_ 1
#define MSG_PEEK_ 2
#define MESSAGES 1024u /* UIO_MAXIOV: of one call */

/* struct msghdr, mmsghdr and cmsghdr of x86-64. */
struct message {
	u64 name;
	u32 name_len;
	u64 iov, iov_len, control, control_len;
	u32 flags;
};

struct numbered_message {
	struct message m;
	u32 len;
};

struct control {
	u64 len; /* with this header */
	s32 level, type;
};

/* What is done with each of a message's descriptors. True: it is the last. */
typedef bool see_passed(struct thread *t, s32 fd);

static bool see_some(struct thread *t, gva at, gva end, see_passed *see)
{
	s32 fd;

	for (; end - at >= sizeof(fd) && !guest_read(&fd, at, sizeof(fd)); at += sizeof(fd))
		if (see(t, fd))
			return true;
	return false;
}

/* As see(); false: there are no more descriptors. Another thread may write to the message meanwhile. */
static bool see_all(struct thread *t, gva message, see_passed *see)
{
	struct message m;
	struct control c;
	gva at, end;

	if (guest_read(&m, message, sizeof(m)))
		return false;
	end = m.control + m.control_len;
	for (at = m.control; at + sizeof(c) <= end; at += ALIGN_UP(c.len, 8ul)) {
		if (guest_read(&c, at, sizeof(c)) || c.len < sizeof(c) || c.len > end - at)
			break;
		if (c.level == SOL_SOCKET_ && c.type == SCM_RIGHTS_ && see_some(t, at + sizeof(c), at + c.len, see))
			return true;
	}
	return false;
}

static bool adopt(struct thread *t, s32 fd)
{
	event_files_adopt(t->cpu->slot, (u32)fd, notify_inode((u32)fd), true);
	return false;
}

/* The message stays in the queue. */
static bool adopt_copy(struct thread *t, s32 fd)
{
	event_files_adopt(t->cpu->slot, (u32)fd, notify_inode((u32)fd), false);
	return false;
}

static bool send(struct thread *t, s32 fd)
{
	event_files_sent(t->cpu->slot, (u32)fd);
	return false;
}

static bool unsend(struct thread *t, s32 fd)
{
	event_files_unsent(t->cpu->slot, (u32)fd);
	return false;
}

long sys_recvmsg(struct thread *t, const u64 *a)
{
	long ret;

	if (unlikely(perf_is_event(t, a[0])))
		return unfit(t, a, ENOTSOCK);
	ret = syscall_pass(t, a);
	if (unlikely(ret >= 0 && event_space->opened))
		see_all(t, a[1], a[2] & MSG_PEEK_ ? adopt_copy : adopt);
	return ret;
}

long sys_recvmmsg(struct thread *t, const u64 *a)
{
	long n;

	if (unlikely(perf_is_event(t, a[0])))
		return unfit(t, a, ENOTSOCK);
	n = syscall_pass(t, a);
	for (long i = 0; event_space->opened && i < n; i++)
		see_all(t, a[1] + (u64)i * sizeof(struct numbered_message), a[3] & MSG_PEEK_ ? adopt_copy : adopt);
	return n;
}

static bool is_own(struct thread *t, s32 fd)
{
	return vfile_fd_hidden(fd);
}

long sys_sendmsg(struct thread *t, const u64 *a)
{
	bool events = event_space->opened;
	long ret;

	if (unlikely(perf_is_event(t, a[0])))
		return unfit(t, a, ENOTSOCK);
	if (see_all(t, a[1], is_own))
		return -EBADF;
	if (unlikely(events))
		see_all(t, a[1], send);
	ret = syscall_pass(t, a);
	if (unlikely(events && ret < 0))
		see_all(t, a[1], unsend);
	return ret;
}

/* Messages [from, to) of the call. */
static void see_range(struct thread *t, gva messages, u32 from, u32 to, see_passed *see)
{
	for (; from < to; from++)
		see_all(t, messages + from * sizeof(struct numbered_message), see);
}

/* The first n messages of the call; not all need have been sent. */
static long send_some(struct thread *t, const u64 *a, u32 n)
{
	bool events = event_space->opened;
	long ret;

	if (unlikely(events))
		see_range(t, a[1], 0, n, send);
	ret = thread_syscall(t, (long)t->nr, a[0], a[1], n, a[3], 0, 0);
	if (unlikely(events))
		see_range(t, a[1], ret < 0 ? 0 : (u32)ret, n, unsend);
	return ret;
}

/* As the kernel: those before the first that cannot be sent are. */
long sys_sendmmsg(struct thread *t, const u64 *a)
{
	u32 n = MIN((u32)a[2], MESSAGES);

	if (unlikely(perf_is_event(t, a[0])))
		return unfit(t, a, ENOTSOCK);
	for (u32 i = 0; i < n; i++) {
		if (see_all(t, a[1] + i * sizeof(struct numbered_message), is_own))
			return i ? send_some(t, a, i) : -EBADF;
	}
	return send_some(t, a, n);
}

/* That number is hidden in a process of the session. */
static bool is_hidden_of_member(s32 fd)
{
	for (u32 slot = 1; slot < arena_tasks_high(); slot++) {
		const struct task *task = session_task(slot);

		if (task && (u32)fd - (u32)__atomic_load_n(&task->fds, __ATOMIC_RELAXED) < SESSION_FDS)
			return true;
	}
	return vfile_fd_hidden(fd);
}

static bool is_same_file(s32 fd, s32 other)
{
	struct stat a, b;

	return !sys2(__NR_fstat, fd, &a) && !sys2(__NR_fstat, other, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* The descriptor came from a process that knew it by that number: it is one of pcl's own there. */
static bool is_own_of_member(s32 fd, s32 number)
{
	if (!is_hidden_of_member(number))
		return false;
	for (s32 i = 0; i < SESSION_FDS; i++)
		if (is_same_file(fd, the_process.runtime_fd + i))
			return true;
	return log_fd > 2 && is_same_file(fd, log_fd);
}

long sys_pidfd_getfd(struct thread *t, const u64 *a)
{
	long fd = syscall_pass(t, a);

	if (fd < 0)
		return fd;
	if (unlikely(is_own_of_member((s32)fd, (s32)a[1]))) {
		sys1(__NR_close, fd);
		return -EBADF;
	}
	event_files_adopt(t->cpu->slot, (u64)fd, notify_inode((u64)fd), false);
	return fd;
}
