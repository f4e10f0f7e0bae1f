/*
 * The calls that change user and group ids. They do so as natively, unless it was asked for otherwise; with
 * --users=split a process that gives up its session's user leaves the session (os/task/split.h).
 *
 * With --users=own nobody's ids change: a call that would change one fails with EPERM, as for a process without
 * CAP_SETUID or CAP_SETGID, and one that would change nothing succeeds. The kernel is called with -1 in place of each
 * id, which changes nothing: so what stays is what the kernel means by the ids, whatever a user namespace calls them,
 * and filters of the guest's see the call.
 *
 * Nothing else changes ids: what execve executes is the runtime, so set-user-ID bits have no effect, and unshare and
 * setns change only what the ids are called. After an execve the saved and the file-system ids are the effective
 * ones, so all through a session they are.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "os/session/proc.h"
#include "os/session/process.h"
#include "os/syscall.h"
#include "os/task/split.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#define NO_ID ((u32)-1)
#define OVERFLOW_ID 65534 /* how Linux shows an id that the namespace does not name */

struct kind {
	long get; /* the system call */
	bool groups;
	const char *why;
};

static const struct kind users = {__NR_getresuid, false,
				  "--users=own: all keep the user ids that pcl was started with"};
static const struct kind groups = {__NR_getresgid, true,
				   "--users=own: all keep the group ids that pcl was started with"};

/*
 * The user namespace names such an id. The kernel says so without a change of anything when it is asked to send with
 * it as the sender's: EINVAL comes before it looks who the sender is, and that the socket is not connected.
 */
static bool is_named(const struct kind *k, u32 id)
{
	struct {
		struct cmsghdr head;
		struct ucred sender;
	} control = {
		{CMSG_LEN(sizeof(struct ucred)), SOL_SOCKET, SCM_CREDENTIALS},
		{
			.pid = (s32)sys0(__NR_getpid),
			.uid = k->groups ? (u32)sys0(__NR_geteuid) : id,
			.gid = k->groups ? id : (u32)sys0(__NR_getegid),
		},
	};
	struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};

	return sys3(__NR_sendmsg, the_process.runtime_fd + WAKER_FD, &message, MSG_DONTWAIT | MSG_NOSIGNAL) != -EINVAL;
}

/* That id of the caller's is shown as itself. */
static bool is_shown_as_it_is(u32 id)
{
	struct stat st;

	return id != OVERFLOW_ID || (!sys4(__NR_newfstatat, proc_dir(), "thread-self/ns/user", &st, 0) &&
				     (u32)st.st_ino == the_process.config.user_namespace);
}

/* The errors of kernel/sys.c, in its order: EINVAL for an id that has no meaning, EPERM. */
static long keep(struct thread *t, const struct kind *k, u32 real, u32 effective, u32 saved)
{
	u32 asked[] = {real, effective, saved}, *own = (u32 *)t->scratch;
	bool others = false;
	long ret = thread_syscall(t, (long)t->nr, NO_ID, NO_ID, NO_ID, 0, 0, 0);

	if (ret && ret != -EINVAL)
		return ret;
	if (sys3(k->get, &own[0], &own[1], &own[2]))
		return refuse(EPERM, k->why);
	for (u32 i = 0; i < ARRAY_SIZE(asked); i++) {
		if (asked[i] == NO_ID || (asked[i] == own[i] && is_shown_as_it_is(own[i])))
			continue;
		if (!is_named(k, asked[i]))
			return -EINVAL;
		others = true;
	}
	return others ? refuse(EPERM, k->why) : 0;
}

static bool may_change(void)
{
	return likely(the_process.config.users != USERS_OWN);
}

/* ---- --users=split ---- */

/* The user ids that a privileged process has after the call; NO_ID: as it was. */
struct ids {
	u32 real, effective, saved;
};

static bool gives_up(const struct ids *asked)
{
	u32 own[3];
	struct stat st;

	if (sys3(__NR_getresuid, &own[0], &own[1], &own[2]) || sys2(__NR_fstat, the_process.runtime_fd + ARENA_FD, &st))
		return false;
	return (asked->real == NO_ID ? own[0] : asked->real) != st.st_uid &&
	       (asked->effective == NO_ID ? own[1] : asked->effective) != st.st_uid &&
	       (asked->saved == NO_ID ? own[2] : asked->saved) != st.st_uid;
}

/* Another thread has the memory, too. */
static bool shares_memory(const struct thread *t)
{
	bool shares;

	lock_acquire(&t->proc->threads_lock);
	shares = t->proc->threads != t || t->next;
	lock_release(&t->proc->threads_lock);
	return shares;
}

/*
 * The call is made, and where it gives up the session's user, the process leaves the session, at once or with its next
 * program.
 */
static long pass_or_split(struct thread *t, const u64 *a, struct ids after)
{
	struct split split;
	long ret;

	if (the_process.config.users != USERS_SPLIT || !gives_up(&after))
		return syscall_pass(t, a);
	if (shares_memory(t)) {
		the_process.config.split_later = 1;
		return syscall_pass(t, a);
	}
	ret = split_begin(&split);
	if (ret)
		return refuse(EAGAIN, ret == -EFBIG ? "RLIMIT_FSIZE has no room for a session of its own, see --users"
						    : "no memory for a session of its own, see --users");
	ret = syscall_pass(t, a);
	if (!ret && split_is_due())
		split_session(t, &split);
	else
		split_cancel(&split);
	return ret;
}

/* setuid and setgid: -1 is no id to them. */
static long set_one(struct thread *t, const struct kind *k, const u64 *a)
{
	if (may_change() || (u32)a[0] == NO_ID)
		return syscall_pass(t, a);
	return keep(t, k, NO_ID, (u32)a[0], NO_ID);
}

static long set_two(struct thread *t, const struct kind *k, const u64 *a)
{
	return may_change() ? syscall_pass(t, a) : keep(t, k, (u32)a[0], (u32)a[1], NO_ID);
}

static long set_three(struct thread *t, const struct kind *k, const u64 *a)
{
	return may_change() ? syscall_pass(t, a) : keep(t, k, (u32)a[0], (u32)a[1], (u32)a[2]);
}

/* setfsuid and setfsgid have no errors: the result is the id as it was, and -1 leaves it so. */
static long set_files(struct thread *t, const u64 *a)
{
	return may_change() ? syscall_pass(t, a) : thread_syscall(t, (long)t->nr, NO_ID, 0, 0, 0, 0, 0);
}

long sys_setuid(struct thread *t, const u64 *a)
{
	u32 id = (u32)a[0];

	return may_change() ? pass_or_split(t, a, (struct ids){id, id, id}) : set_one(t, &users, a);
}

long sys_setgid(struct thread *t, const u64 *a)
{
	return set_one(t, &groups, a);
}

long sys_setreuid(struct thread *t, const u64 *a)
{
	u32 real = (u32)a[0], effective = (u32)a[1];
	bool saves = real != NO_ID || (effective != NO_ID && effective != (u32)sys0(__NR_getuid));

	return may_change() ? pass_or_split(t, a, (struct ids){real, effective, saves ? effective : NO_ID})
			    : set_two(t, &users, a);
}

long sys_setregid(struct thread *t, const u64 *a)
{
	return set_two(t, &groups, a);
}

long sys_setresuid(struct thread *t, const u64 *a)
{
	return may_change() ? pass_or_split(t, a, (struct ids){(u32)a[0], (u32)a[1], (u32)a[2]})
			    : set_three(t, &users, a);
}

long sys_setresgid(struct thread *t, const u64 *a)
{
	return set_three(t, &groups, a);
}

long sys_setfsuid(struct thread *t, const u64 *a)
{
	return set_files(t, a);
}

long sys_setfsgid(struct thread *t, const u64 *a)
{
	return set_files(t, a);
}
