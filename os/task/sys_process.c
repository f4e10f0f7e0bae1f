/* prctl, seccomp, membarrier and sched_setaffinity: what concerns pcl itself; the rest is the kernel's. */
#include <asm/errno.h>
#include <linux/membarrier.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include "event/event.h"
#include "os/session/pidns.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "os/task/user_dispatch.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define GET_REGISTRATIONS (1 << 9) /* Linux 6.3 */

/* The name is kept for the session's records too. */
static long set_name(struct thread *t, const u64 *a)
{
	char name[sizeof(t->task->comm)], old[sizeof(t->task->comm)];
	long ret = syscall_pass(t, a);

	if (ret)
		return ret;
	sys2(__NR_prctl, PR_GET_NAME, name);
	memcpy(old, t->task->comm, sizeof(old));
	memcpy(t->task->comm, name, sizeof(name));
	perf_renamed(t, old);
	return 0;
}

/*
 * From now on a call of pcl's own may be refused, or kill: see signal_barrier(). A filter that was not installed after
 * all does no harm.
 */
static long confine(struct thread *t, const u64 *a, bool strict)
{
	long ret;

	__atomic_store_n(&the_process.config.filtered, 1, __ATOMIC_RELAXED);
	ret = syscall_pass(t, a);
	t->strict |= strict && !ret;
	return ret;
}

long sys_seccomp(struct thread *t, const u64 *a)
{
	return confine(t, a, (u32)a[0] == SECCOMP_SET_MODE_STRICT);
}

/* Where the guest's rdtsc is emulated the processor does not make it fault. */
static long set_tsc(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	if (!ret)
		t->no_tsc = a[1] == PR_TSC_SIGSEGV;
	return ret;
}

/* Every process is registered for the global ones (os/session/fence.c): that is told if the guest asked for it, too. */
long sys_membarrier(struct thread *t, const u64 *a)
{
	static bool asked;
	long ret = syscall_pass(t, a);

	if ((s32)a[0] == MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED && !ret)
		asked = true;
	if ((s32)a[0] == GET_REGISTRATIONS && ret > 0 && !asked)
		ret &= ~MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
	return ret;
}

/* A thread that it moves while it runs is to look where it is. The caller does so anyway. */
long sys_sched_setaffinity(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);
	u32 other = !ret && a[0] && event_space->opened ? session_find_tid(pidns_own(), (s32)a[0]) : 0;

	if (other && event_is_followed(other))
		host_kick(other);
	return ret;
}

long process_prctl(struct thread *t, const u64 *a)
{
	switch ((int)a[0]) {
	case PR_SET_SECCOMP:
		return confine(t, a, a[1] == SECCOMP_MODE_STRICT);
	case PR_SET_NAME:
		return set_name(t, a);
	case PR_SET_MM:
		return refuse(EPERM, "the places of program, stack and brk area are pcl's");
	case PR_SET_SYSCALL_USER_DISPATCH:
		return user_dispatch_set(t, a[1], a[2], a[3], a[4]);
	case PR_SET_TSC:
		return set_tsc(t, a);
	default:
		return syscall_pass(t, a);
	}
}

long sys_set_tid_address(struct thread *t, const u64 *a)
{
	t->clear_tid = a[0];
	return syscall_pass(t, a);
}
