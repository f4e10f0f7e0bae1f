/*
 * Waiting for children.
 *
 * A member that was killed told nobody its final clock and counts, but as a zombie it still has them. So while events
 * are open a wait is done in two steps: which child ended (it stays a zombie), then, after its tasks have been ended in
 * the session, the wait that was asked for, for that child.
 */
#include <asm/errno.h>
#include <asm/siginfo.h>
#include <linux/wait.h>
#include "event/space.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "rt/string.h"
#include "rt/sys.h"

#define WAIT4_OPTIONS (WNOHANG | WUNTRACED | WCONTINUED | __WNOTHREAD | __WCLONE | __WALL)

/* The head of the siginfo that waitid() fills in. */
struct child_info {
	s32 signo, err, code, pad;
	s32 pid;
	u32 uid;
	s32 status;
	u8 rest[100];
};
_Static_assert(sizeof(struct child_info) == 128, "siginfo_t");

/*
 * Waits for a change of a child and leaves it as it is; *info->pid is 0 if nothing changed (WNOHANG). If the child
 * ended, its tasks are ended too. Returns 0, -errno or SYSCALL_AGAIN.
 */
static long look(struct thread *t, s32 which, s32 id, u64 options, struct child_info *info)
{
	long ret;

	memset(info, 0, sizeof(*info));
	ret = thread_syscall(t, __NR_waitid, (u64)which, (u64)(s64)id, (u64)info, options | WNOWAIT, 0, 0);
	if (!ret && (info->code == CLD_EXITED || info->code == CLD_KILLED || info->code == CLD_DUMPED))
		session_process_gone(info->pid);
	return ret;
}

/* Another thread may have waited for the child in between: then it restarts. */
long sys_wait4(struct thread *t, const u64 *a)
{
	s32 pid = (s32)a[0], which = pid == -1 ? P_ALL : pid > 0 ? P_PID : P_PGID;
	u64 options = (u32)a[2];
	struct child_info info;
	long ret;

	if (!event_space->opened || (options & ~(u64)WAIT4_OPTIONS) || pid == INT32_MIN)
		return syscall_pass(t, a);
	do {
		ret = look(t, which, pid < 0 ? -pid : pid, options | WEXITED, &info);
		if (ret)
			return ret;
		if (!info.pid)
			return 0;
		ret = thread_syscall(t, __NR_wait4, (u64)info.pid, a[1], a[2], a[3], 0, 0);
	} while (ret == -ECHILD && pid != info.pid);
	return ret;
}

long sys_waitid(struct thread *t, const u64 *a)
{
	u64 options = (u32)a[3];
	struct child_info info;
	long ret;

	if (!event_space->opened || !(options & WEXITED) || (options & WNOWAIT))
		return syscall_pass(t, a);
	do {
		ret = look(t, (s32)a[0], (s32)a[1], options, &info);
		if (ret || !info.pid)
			return ret ? ret : syscall_pass(t, a);
		ret = thread_syscall(t, __NR_waitid, P_PID, (u64)info.pid, a[2], a[3], a[4], 0);
	} while (ret == -ECHILD && (a[0] != P_PID || (s32)a[1] != info.pid));
	return ret;
}
