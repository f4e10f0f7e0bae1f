/*
 * Interrupting a thread whatever its signal queue holds; see fence.h.
 *
 * SIG_KICK is a real-time signal: where the user may queue no more, sending it fails. SIG_FENCE is a standard one,
 * which the kernel always accepts, but then without its siginfo: it arrives as SI_USER of process 0. So the sender
 * counts it in the target's slot first, and the handler takes such a signal for a fence while that is not 0. Two that
 * the kernel merges leave the count one too high: one signal SIG_FENCE that another process sends to the guest, later
 * and while the queue is full too, is lost.
 */
#include <asm/errno.h>
#include <asm/siginfo.h>
#include <asm/stat.h>
#include "os/session/fence.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

/* linux/membarrier.h */
#define GLOBAL_EXPEDITED 2
#define REGISTER_GLOBAL_EXPEDITED 4

#define BARRIER_PAUSES 10000u

/*
 * Any member may have written the ids, and these signals end whoever is no member. Members have the arena among their
 * descriptors, where their task says. Where the kernel does not let one look (that takes the permission to trace), or
 * hides the process, it is taken for a member.
 */
static bool is_member(const struct task *task, s32 pid, s32 tid)
{
	const struct thread *t = thread_current();
	struct stat own, its;
	char path[48];
	long ret;

	if ((t && t->host_pid == pid) || pidns_own() || sys2(__NR_fstat, the_process.runtime_fd + ARENA_FD, &own))
		return true;
	for (u32 i = 0; i < 2; i++) {
		s32 fd = __atomic_load_n(i ? &task->own_fd : &task->fds, __ATOMIC_ACQUIRE);

		rt_snprintf(path, sizeof(path), "%d/task/%d/fd/%d", pid, tid, fd + ARENA_FD);
		ret = sys4(__NR_newfstatat, proc_dir(), path, &its, 0);
		if (ret == -ENOENT)
			continue;
		if (ret || (its.st_dev == own.st_dev && its.st_ino == own.st_ino))
			return true;
	}
	rt_snprintf(path, sizeof(path), "%d/task/%d", pid, tid);
	return sys4(__NR_newfstatat, proc_dir(), path, &its, 0);
}

/*
 * -ESRCH if the thread is gone, or none of a member; -EPERM if it is in no pid namespace that this one can send signals
 * to.
 */
static long send(const struct task *task, s32 signo)
{
	struct ksiginfo info;
	s32 pid, tid;

	if (!pidns_ids(task, pidns_own(), &pid, &tid) || !tid)
		return session_is_dead(task_slot(task)) ? -ESRCH : -EPERM;
	if (!is_member(task, pid, tid))
		return -ESRCH;
	memset(&info, 0, sizeof(info));
	info.signo = signo;
	info.code = SIG_KICK_CODE;
	info.value = the_process.config.session_id;
	return sys4(__NR_rt_tgsigqueueinfo, pid, tid, signo, &info);
}

static bool take_count(u32 *fences)
{
	u32 n = __atomic_load_n(fences, __ATOMIC_RELAXED);

	while (n && !__atomic_compare_exchange_n(fences, &n, n - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return n;
}

static long send_fence(struct task *task)
{
	long ret;

	__atomic_fetch_add(&task->fences, 1, __ATOMIC_ACQ_REL);
	ret = send(task, SIG_FENCE);
	if (ret)
		take_count(&task->fences);
	return ret;
}

void signal_kick(struct task *task)
{
	if (send(task, SIG_KICK) == -EAGAIN)
		send_fence(task);
}

bool signal_is_kick(struct thread *t, int signo, const struct ksiginfo *info)
{
	bool known = info->value == the_process.config.session_id;

	if (signo == SIG_KICK)
		return known && (info->code == SIG_KICK_CODE || info->code == SI_TIMER);
	if (signo != SIG_FENCE)
		return false;
	if (info->code == SIG_KICK_CODE && known) {
		take_count(&t->task->fences);
		return true;
	}
	return info->code == SI_USER && !info->addr && take_count(&t->task->fences);
}

static bool registered;

void signal_fence_init(void)
{
	registered = !sys2(__NR_membarrier, REGISTER_GLOBAL_EXPEDITED, 0);
}

/* Children of a fork inherit the registration. */
bool signal_barrier_reaches(void)
{
	return registered;
}

/* Not where a filter of the guest's may forbid the call, or kill for it. */
static bool pass_barrier(void)
{
	return !__atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED) &&
	       !sys2(__NR_membarrier, GLOBAL_EXPEDITED, 0);
}

/*
 * Without it, time does the same, some hundred microseconds: what a processor has stored is visible to all in far less,
 * and a thread that does not run has nothing left to store.
 */
void signal_barrier(void)
{
	if (pass_barrier())
		return;
	for (u32 i = 0; i < BARRIER_PAUSES; i++)
		arch_pause();
}

/*
 * The kernel has marked the thread when the signal is sent, but if it runs on another processor it goes on until it is
 * interrupted. The barrier interrupts all processors that run members, and waits; on the way back to user mode each
 * looks for signals. Without a barrier it is the time that sections grant (rt/section.h): an interrupt was sent with
 * the signal, too.
 */
enum section_fence signal_fence(u32 slot)
{
	struct task *task = slot < ARENA_TASKS ? &arena()->tasks[slot] : NULL;
	long ret;

	if (!task)
		return FENCE_DEAD;
	ret = send_fence(task);
	if (ret) /* ids that no thread can have are nobody's */
		return ret == -ESRCH || ret == -EINVAL ? FENCE_DEAD : FENCE_FAILED;
	return pass_barrier() ? FENCE_PASSED : FENCE_SENT;
}
