/*
 * Closing and duplicating descriptors.
 *
 * pcl's own descriptors (see vfile_fd_hidden()) are not open as far as the guest can tell: no handler gets one as an
 * argument that is a descriptor (serve() of os/syscall.c). If the guest wants one of their numbers, they move away. In
 * a vfork child they cannot, because the number is kept in memory that the parent shares: EBUSY.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include "event/files.h"
#include "os/files/vfile.h"
#include "os/mm/own_memory.h"
#include "os/session/death.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#define CLOSE_RANGE_CLOEXEC 4u
#endif

#define MOVE_BELOW 4096ul /* higher numbers would make the process's table large, and fork slow */

long sys_close(struct thread *t, const u64 *a)
{
	long ret;

	if (unlikely(event_files_close(t->cpu->slot, (u32)a[0])))
		death_of_holders_at_close(t);
	genuine_forget((u32)a[0]);
	ret = syscall_pass(t, a);
	genuine_forget((u32)a[0]); /* another thread may have asked between */
	if (!ret)
		own_memory_closed((s32)a[0]);
	return ret;
}

/* The kernel has made new_fd a duplicate of old_fd. */
static long duplicated(struct thread *t, u32 old_fd, long new_fd)
{
	int ret;

	if (new_fd < 0 || old_fd == (u32)new_fd)
		return new_fd;
	if (unlikely(event_files_close(t->cpu->slot, (u32)new_fd)))
		death_of_holders_at_close(t);
	if (unlikely(genuine_is_known(old_fd)))
		genuine_note((u64)new_fd);
	else
		genuine_forget((u64)new_fd);
	ret = event_files_dup(t->cpu->slot, old_fd, new_fd);
	if (!ret)
		return new_fd;
	sys1(__NR_close, new_fd);
	genuine_forget((u64)new_fd);
	return refuse(-ret, "the number is too high for an event");
}

long sys_dup(struct thread *t, const u64 *a)
{
	return duplicated(t, (u32)a[0], syscall_pass(t, a));
}

static bool is_free(s32 fd)
{
	return sys2(__NR_fcntl, fd, F_GETFD) == -EBADF;
}

static bool are_free(s32 first, s32 n)
{
	for (s32 i = 0; i < n; i++)
		if (!is_free(first + i))
			return false;
	return true;
}

static void close_all(s32 first, s32 n)
{
	for (s32 i = 0; i < n; i++)
		sys1(__NR_close, first + i);
}

/* Where members look for the arena: see is_member() of os/session/fence.c. */
static void set_members_fds(s32 to)
{
	s32 pid = thread_current()->task->pid;

	for (u32 slot = 1; slot < arena_tasks_high(); slot++) {
		struct task *task = session_task(slot);

		if (task && task->pid == pid)
			__atomic_store_n(&task->fds, to, __ATOMIC_RELEASE);
	}
}

/*
 * All of pcl's own, or none: 0 or -EBUSY. Other threads may use them meanwhile, and open files of their own: nothing is
 * replaced.
 */
static long move_to(s32 to)
{
	s32 from = the_process.runtime_fd;

	for (s32 i = 0; i < SESSION_FDS; i++) {
		long fd = sys3(__NR_fcntl, from + i, F_DUPFD, to + i);

		if (fd == to + i)
			continue;
		if (!sys_is_error(fd))
			sys1(__NR_close, fd);
		close_all(to, i);
		return refuse(EBUSY, "pcl's own descriptor could not be moved");
	}
	__atomic_store_n(&the_process.runtime_fd, to, __ATOMIC_RELEASE);
	set_members_fds(to);
	close_all(from, SESSION_FDS);
	return 0;
}

/* Another process would look for them in vain: it shares this one's memory, or its descriptors. */
static bool another_uses_them(const struct thread *t)
{
	u32 files = event_ctx(t->cpu->slot)->files;
	bool shared = false;

	lock_acquire(&t->proc->threads_lock);
	for (const struct thread *other = t->proc->threads; other; other = other->next)
		shared |= other->group != t->group;
	lock_release(&t->proc->threads_lock);
	for (u32 slot = 1; slot < arena_tasks_high() && !shared; slot++) {
		const struct task *task = session_task(slot);

		shared = task && task->state == TASK_ALIVE && task->pid != t->task->pid &&
			 event_ctx(slot)->files == files;
	}
	return shared;
}

static long move_below_limit(void)
{
	struct rlimit lim = {0};

	sys2(__NR_getrlimit, RLIMIT_NOFILE, &lim);
	for (s32 to = (s32)MIN(lim.rlim_cur, MOVE_BELOW) - SESSION_FDS; to > 2; to--)
		if (are_free(to, SESSION_FDS))
			return move_to(to);
	return refuse(EBUSY, "no room to move pcl's own descriptor to");
}

/*
 * Gives a number of ours to the guest: 0 or -EBUSY. They stay neighbours. The log's number is the whole session's and
 * cannot change.
 */
static long make_way(struct thread *t, s32 fd)
{
	if (fd == log_fd)
		return refuse(EBUSY, "pcl's own descriptor for messages");
	if (another_uses_them(t))
		return refuse(EBUSY, "pcl's own descriptor, which cannot move while another process shares it");
	return move_below_limit();
}

static bool put_program(s32 fd)
{
	return !sys_is_error(sys3(__NR_dup3, fd, the_process.runtime_fd + EXE_FD, 0));
}

void vfile_keep_program(s32 fd)
{
	if (fd < 0 || (!put_program(fd) && (move_below_limit() || !put_program(fd))))
		sys1(__NR_close, the_process.runtime_fd + EXE_FD);
	sys1(__NR_close, fd);
}

static long dup_to(struct thread *t, const u64 *a)
{
	s32 to = (s32)a[1];
	long ret = 0;

	if (vfile_fd_hidden(to) && !is_free((s32)a[0]))
		ret = make_way(t, to);
	return ret ? ret : duplicated(t, (u32)a[0], syscall_pass(t, a));
}

long sys_dup2(struct thread *t, const u64 *a)
{
	return dup_to(t, a);
}

long sys_dup3(struct thread *t, const u64 *a)
{
	return dup_to(t, a);
}

/* The host has done what was asked of an event's descriptor. */
static void note_async(struct thread *t, const u64 *a)
{
	struct {
		s32 type, id;
	} ex;
	s32 own = (s32)a[2];

	switch ((u32)a[1]) {
	case F_SETFL:
		perf_set_async(t, (s32)a[0], a[2] & O_ASYNC);
		break;
	case F_SETOWN:
		perf_set_owner(t, (s32)a[0], own < 0 ? F_OWNER_PGRP : F_OWNER_PID, own < 0 ? -own : own);
		break;
	case F_SETOWN_EX:
		if (!guest_read(&ex, a[2], sizeof(ex)))
			perf_set_owner(t, (s32)a[0], (u32)ex.type, ex.id);
		break;
	case F_SETSIG:
		perf_set_signal(t, (s32)a[0], (u32)a[2]);
		break;
	}
}

long sys_fcntl(struct thread *t, const u64 *a)
{
	long ret;

	/* Linux: only the owner may, or who has CAP_LEASE. The socket in the place of the event is the caller's. */
	if (a[1] == F_SETLEASE && perf_is_event(t, a[0]) && sys0(__NR_geteuid))
		return refuse(EACCES, "the inode that events share is root's");
	ret = syscall_pass(t, a);
	if (!ret && unlikely(perf_is_event(t, a[0])))
		note_async(t, a);
	return a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC ? duplicated(t, (u32)a[0], ret) : ret;
}

/* The end of the run of numbers from *first on that are not ours; moves *first past those that are. */
static u64 next_run(u64 *first, u64 last)
{
	u64 end = last;
	s32 ours[] = {the_process.runtime_fd, log_fd}; /* of neighbours the first */

	while (vfile_fd_hidden((s32)*first))
		(*first)++;
	for (unsigned i = 0; i < ARRAY_SIZE(ours); i++)
		if (vfile_fd_hidden(ours[i]) && (u64)ours[i] > *first && (u64)ours[i] <= end)
			end = (u64)ours[i] - 1;
	return end;
}

long sys_close_range(struct thread *t, const u64 *a)
{
	u64 first = (u32)a[0], last = (u32)a[1], flags = (u32)a[2];

	if ((flags & ~(u64)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) || first > last)
		return -EINVAL;
	if (flags & CLOSE_RANGE_UNSHARE) {
		long ret = sys1(__NR_unshare, CLONE_FILES);

		if (!ret)
			ret = event_files_unshare(t->cpu->slot);
		if (ret)
			return ret;
	}
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		if (event_files_close_range(t->cpu->slot, first, last))
			death_of_holders_at_close(t);
	while (first <= last) {
		u64 end = next_run(&first, last);
		long ret;

		if (first > last)
			break;
		ret = sys3(__NR_close_range, first, end, flags & CLOSE_RANGE_CLOEXEC);
		if (!(flags & CLOSE_RANGE_CLOEXEC))
			genuine_forget_range(first, end);
		if (ret)
			return ret;
		first = end + 1;
	}
	return 0;
}
