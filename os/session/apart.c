/* See apart.h. */
#include "os/session/apart.h"
#include "os/session/fence.h"

#include <asm/errno.h>
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include "dbt/dbt.h"
#include "event/space.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "rt/fmt.h"
#include "rt/stats.h"
#include "rt/sys.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

#define FLAGS	   (CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_CHILD_CLEARTID)
#define STACK_GAP  0x1000ul /* for what the caller still calls itself */
#define STACK_MIN  0xc000ul /* that the function has */
#define LEAVES_MAX 10000    /* looks whether the thread is gone; with a tracer on the host it may stay */

enum { APART_WORKS, APART_DONE, APART_RELEASED };

/* On the caller's stack. */
struct apart {
	struct thread *t;
	long (*fn)(void *arg);
	void *arg;
	long ret;
	u32 hold;	  /* the table is wanted after the function, until RELEASED */
	u32 failed;	  /* there was no table for it */
	u32 state;	  /* enum above */
	u32 tid;	  /* the kernel makes it 0 when the thread has left this memory */
	s32 pid_out, tid_out; /* hold: its ids as the launcher's /proc knows them */
};

bool apart_needed(void)
{
	const struct thread *t = thread_current();

	if (!t || !t->cpu || t->is_apart || t->has_left || !event_space)
		return false;
	return __atomic_load_n(&event_files_slot(event_ctx(t->cpu->slot)->files)->users, __ATOMIC_ACQUIRE) > 1;
}

static void set_state(struct apart *a, u32 state)
{
	__atomic_store_n(&a->state, state, __ATOMIC_RELEASE);
	sys3(__NR_futex, &a->state, FUTEX_WAKE, 1);
}

static void await_change(const u32 *word, u32 from)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == from)
		sys4(__NR_futex, word, FUTEX_WAIT, from, 0);
}

/* An empty table. Before Linux 5.9 it is a copy, which holds the guest's files open for as long as the thread lives. */
static bool leave_table(void)
{
	return !sys3(__NR_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) || !sys1(__NR_unshare, CLONE_FILES);
}

/* The other thread. */
void apart_begin(struct apart *a)
{
	struct thread *t = a->t;

	if (sys1(__NR_fchdir, proc_dir()) || !leave_table()) {
		a->failed = 1;
	} else {
		t->is_apart = 1;
		a->ret = a->fn(a->arg);
		if (a->hold)
			pidns_self(&a->pid_out, &a->tid_out);
		t->is_apart = 0;
	}
	if (a->hold) {
		set_state(a, APART_DONE);
		await_change(&a->state, APART_DONE);
	}
	thread_leave(0); /* which wakes the caller */
}

/* Until others cannot see it: unshare(CLONE_NEWUSER) and the like want a process of one thread. */
static void await_end(struct apart *a, s32 tid)
{
	u32 still;

	while ((still = __atomic_load_n(&a->tid, __ATOMIC_ACQUIRE)))
		sys4(__NR_futex, &a->tid, FUTEX_WAIT, still, 0);
	for (u32 i = 0; i < LEAVES_MAX && sys3(__NR_tgkill, a->t->group->pid, tid, 0) != -ESRCH; i++)
		sys0(__NR_sched_yield);
}

static long open_for_guest(const struct apart *a, u32 flags)
{
	char link[64];
	long fd;

	rt_snprintf(link, sizeof(link), "%d/task/%d/fd/%ld", a->pid_out, a->tid_out, a->ret);
	fd = sys4(__NR_openat, proc_dir(), link, flags, 0);
	return fd == -ENOENT || fd == -EACCES ? -ENOSYS : fd;
}

/*
 * Its own frame is small, whatever the compiler does to its callers: what is below belongs to the other thread. So no
 * signal may have this one go on elsewhere meanwhile. False: there was none.
 */
static bool __attribute__((noinline)) in_other_thread(struct apart *a, u32 flags)
{
	struct thread *t = a->t;
	u64 sp = (u64)__builtin_frame_address(0) - STACK_GAP, area = thread_area(t);
	u64 end = area + (sp - area < THREAD_RT_TOP ? THREAD_RT_STACK : THREAD_ALT_STACK);
	u64 mask = SIG_IN_HANDLERS, old = 0;
	long tid;

	if (sp < end + STACK_MIN)
		return false;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, &old, 8);
	tid = apart_clone(FLAGS, &a->tid, ALIGN_DOWN(sp, 16ul), a);
	if (tid > 0) {
		t->task->threaded = 1; /* the process's clock has that thread's time, too */
		if (a->hold) {
			await_change(&a->state, APART_WORKS);
			if (!a->failed && a->ret >= 0)
				a->ret = open_for_guest(a, flags);
			set_state(a, APART_RELEASED);
		}
		await_end(a, (s32)tid);
		stat_inc(aparts);
	}
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &old, 0, 8);
	return tid > 0 && !a->failed;
}

long apart_run(long (*fn)(void *arg), void *arg)
{
	struct apart a = {.t = thread_current(), .fn = fn, .arg = arg, .tid = ~0u};

	if (likely(!apart_needed()) || !in_other_thread(&a, 0))
		return fn(arg);
	return a.ret;
}

long apart_run_with_table(long (*fn)(void *arg), void *arg)
{
	struct apart a = {.t = thread_current(), .fn = fn, .arg = arg, .tid = ~0u};

	return !a.t->is_apart && in_other_thread(&a, 0) ? a.ret : -ENOSYS;
}

long dbt_host_apart(long (*fn)(void *arg), void *arg)
{
	return apart_run(fn, arg);
}

long apart_open(long (*fn)(void *arg), void *arg, u32 flags)
{
	struct apart a = {.t = thread_current(), .fn = fn, .arg = arg, .tid = ~0u, .hold = 1};

	return apart_needed() && in_other_thread(&a, flags) ? a.ret : -ENOSYS;
}

/*
 * Its own table is a copy at first, whose guest files are closed at once. An empty one would not do: is_member() looks
 * for the arena there.
 */
void apart_leave(void)
{
	struct thread *t = thread_current();
	s32 first = __atomic_load_n(&the_process.runtime_fd, __ATOMIC_ACQUIRE);

	if (!apart_needed() || sys3(__NR_close_range, 0, first - 1, CLOSE_RANGE_UNSHARE))
		return;
	sys3(__NR_close_range, first + SESSION_FDS, ~0u, 0);
	t->task->own_fd = first;
	t->left_fd = first;
	t->has_left = 1;
}

s32 apart_path(char *text, s32 dirfd, const char **path)
{
	const struct thread *t = thread_current();
	char of[24];

	if (!t->is_apart || **path == '/')
		return dirfd;
	if (dirfd == AT_FDCWD)
		rt_snprintf(of, sizeof(of), "cwd");
	else
		rt_snprintf(of, sizeof(of), "fd/%d", dirfd);
	rt_snprintf(text, ARENA_PATH + 64, "%d/task/%d/%s%s%s", t->host_pid, t->host_tid, of, **path ? "/" : "", *path);
	*path = text;
	return AT_FDCWD;
}
