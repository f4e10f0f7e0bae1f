/*
 * New threads and processes: clone, clone3, fork, vfork.
 *
 * Two ways, by whether the child shares the parent's memory:
 *   CLONE_VM      (threads, vfork, posix_spawn) the child gets a struct thread with stacks of its own and begins in
 *                 clone_child() there.
 *   no CLONE_VM   (fork) the child has a copy of everything and goes on where the parent does, on the same
 *                 struct thread.
 *
 * The child's task slot is made and told to event/ before the kernel makes the child, so that inherited events count
 * from its first instruction; both are undone if the kernel refuses. All signals are blocked around the kernel's clone.
 */
#include <asm/errno.h>
#include <linux/sched.h>
#include "cpu/bank.h"
#include "dbt/dbt.h"
#include "dbt/siblings.h"
#include "event/files.h"
#include "event/task.h"
#include "os/loop.h"
#include "os/mm/own_memory.h"
#include "os/mm/vma.h"
#include "os/pin/pin.h"
#include "os/pin/turn.h"
#include "os/session/own_faults.h"
#include "os/session/pidns.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "os/task/clone.h"
#include "os/task/split.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/status.h"
#include "rt/string.h"
#include "rt/sys.h"

/* What the guest asked for, in clone3's terms. `stack` is the child's stack pointer, 0: the parent's. */
struct request {
	struct clone_args args;
	u64 size; /* of args as the guest gave it; 0: it called clone, fork or vfork */
	u64 stack;
	u64 seed; /* pin_new_task() */
};

/* The child's slot and its events; NULL: refused, *ret says why. */
static struct task *make_task(struct thread *t, const struct request *rq, long *ret)
{
	struct task *task = session_task_new(t->task, rq->args.flags & (CLONE_THREAD | CLONE_PARENT));

	if (!task) {
		*ret = refuse(EAGAIN, "the session has no task slot left");
		return NULL;
	}
	*ret = event_task_fork(t->cpu->slot, task_slot(task), rq->args.flags);
	if (*ret) {
		session_task_undo(task);
		return NULL;
	}
	if (rq->args.flags & CLONE_NEWPID)
		task->made_apart = 1;
	if (rq->args.flags & CLONE_THREAD) {
		__atomic_store_n(&t->task->threaded, 1, __ATOMIC_RELEASE);
		task->threaded = 1;
	}
	return task;
}

static void undo_task(struct task *task)
{
	event_task_exit(task_slot(task));
	session_task_undo(task);
}

/*
 * A copy of the parent's becomes the child's own, with its bank mapped behind it. The new task returns from its system
 * call with 0.
 */
static void begin_cpu(struct cpu *cpu, const struct task *task, const struct request *rq)
{
	cpu_take_bank(cpu);
	cpu->slot = task_slot(task);
	cpu->pending = cpu->variant = 0;
	dbt_guard(cpu, (gva)&cpu->guard.minus, ~0ul, NULL);
	cpu_set_gpr(cpu, REG_RESULT, 0);
	if (rq->stack)
		cpu_set_gpr(cpu, REG_SP, rq->stack);
}

/* What a child inherits of the parent's private state. The alternate stack stays with vfork and fork only. */
static void copy_thread(const struct thread *t, struct thread *child, u64 flags)
{
	child->proc = t->proc;
	child->sigmask = t->sigmask;
	child->trap_no = t->trap_no;
	child->trap_err = t->trap_err;
	child->trap_cr2 = t->trap_cr2;
	child->no_cpuid = t->no_cpuid;
	child->no_tsc = t->no_tsc;
	if ((flags & (CLONE_VM | CLONE_VFORK)) != CLONE_VM)
		child->altstack = t->altstack;
	else
		child->altstack.flags = 2; /* SS_DISABLE */
}

static int share_or_copy(struct thread *t, struct thread *child, u64 flags)
{
	if (flags & CLONE_SIGHAND) {
		child->sighand = t->sighand;
		__atomic_add_fetch(&child->sighand->refs, 1, __ATOMIC_RELAXED);
	} else {
		child->sighand = sighand_copy(t);
		if (!child->sighand)
			return -ENOMEM;
	}
	if (flags & CLONE_THREAD) {
		child->group = t->group;
		__atomic_add_fetch(&child->group->nr_threads, 1, __ATOMIC_RELAXED);
	} else {
		child->group = process_page_alloc(t->proc);
		if (!child->group) {
			sighand_put(t, child->sighand);
			return -ENOMEM;
		}
		child->group->nr_threads = 1;
	}
	__atomic_add_fetch(&child->group->refs, 1, __ATOMIC_RELAXED);
	return 0;
}

static void share_undo(struct thread *t, struct thread *child, u64 flags)
{
	sighand_put(t, child->sighand);
	if (flags & CLONE_THREAD)
		__atomic_sub_fetch(&child->group->nr_threads, 1, __ATOMIC_RELAXED);
	if (__atomic_sub_fetch(&child->group->refs, 1, __ATOMIC_ACQ_REL) == 0)
		process_page_free(t->proc, child->group);
}

static void *stack_top(const struct thread *t)
{
	return (void *)(thread_area(t) + THREAD_RT_TOP);
}

/* The kernel's clone onto the child's own runtime stack. */
static long call_clone_vm(struct thread *child, struct request *rq)
{
	struct clone_args *a = &rq->args;

	if (!rq->size)
		return clone_onto(a->flags | a->exit_signal, a->flags & CLONE_PIDFD ? a->pidfd : a->parent_tid,
				  a->child_tid, a->tls, stack_top(child), child);
	a->stack = thread_area(child) + THREAD_RT_STACK;
	a->stack_size = THREAD_RT_TOP - THREAD_RT_STACK;
	return clone3_onto(a, rq->size, stack_top(child), child);
}

/* Who has executed another program, or was killed, could not give back what it had here. */
static void give_back(struct thread *t, struct thread *child)
{
	perf_free_buffers(child);
	sighand_put(t, child->sighand);
	if (__atomic_sub_fetch(&child->group->refs, 1, __ATOMIC_ACQ_REL) == 0)
		process_page_free(t->proc, child->group);
	thread_list_retire(child, 0);
}

/* A vfork child is gone from this memory when the call returns. */
static void finish_vfork(struct thread *t, struct thread *child)
{
	if (child->state == THREAD_EXITED)
		child->tid = 0;
	else
		give_back(t, child);
}

/* The same of those that nobody waited for. */
static void give_back_killed(struct thread *t)
{
	struct thread *child;

	while ((child = thread_list_take_gone(t)))
		give_back(t, child);
}

/* Where the kernel clears the child's number when it ends, 0: nowhere. */
static gva clear_tid(const struct request *rq)
{
	return rq->args.flags & CLONE_CHILD_CLEARTID ? rq->args.child_tid : 0;
}

#define NO_MAPPINGS "no more mappings, of which pcl has four for each thread (vm.max_map_count)"

/* A thread of this memory. NULL, and *ret: -errno. */
static struct thread *make_child(struct thread *t, const struct request *rq, struct task *task, long *ret)
{
	struct thread *child = thread_alloc(t->proc);
	u64 flags = rq->args.flags;

	if (!child) {
		*ret = refuse(ENOMEM, NO_MAPPINGS);
		return NULL;
	}
	copy_thread(t, child, flags);
	*ret = thread_map_bank(child, task);
	if (*ret == -ENOMEM)
		refuse(ENOMEM, NO_MAPPINGS);
	if (!*ret)
		*ret = share_or_copy(t, child, flags);
	if (*ret) {
		thread_list_retire(child, 0);
		return NULL;
	}
	child->task = task;
	child->cpu = thread_cpu(child);
	*child->cpu = *t->cpu;
	child->cpu->calls = NULL;
	begin_cpu(child->cpu, task, rq);
	child->clone_flags = flags;
	child->made = t->made;
	child->clear_tid = clear_tid(rq);
	child->pin.seed = rq->seed;
	child->nr = t->nr;
	thread_list_add(child);
	dbt_unprotect(child->clear_tid, sizeof(u32)); /* by the kernel, at its end */
	return child;
}

static long clone_vm(struct thread *t, struct request *rq, struct task *task)
{
	u64 flags = rq->args.flags;
	bool apart = !(flags & CLONE_THREAD); /* a process of its own */
	struct thread *child;
	long ret;

	if (apart)
		give_back_killed(t);
	child = make_child(t, rq, task, &ret);
	if (!child)
		return ret;
	if (apart)
		vma_sharers_changed(t);
	else
		turn_clone(t, child, clear_tid(rq));
	ret = call_clone_vm(child, rq);
	if (ret < 0) {
		turn_clone_failed(child);
		share_undo(t, child, flags);
		thread_list_retire(child, 0);
	} else if ((flags & CLONE_VFORK) && apart) {
		finish_vfork(t, child);
	}
	if (apart)
		vma_sharers_changed(t);
	return ret;
}

/* The first steps of a new thread, on its own stack with all signals blocked. */
void clone_child(struct thread *t)
{
	t->tid = (s32)sys0(__NR_gettid);
	t->pid = t->clone_flags & CLONE_THREAD ? t->group->pid : t->tid;
	session_task_ids(t, t->task);
	if (t->clone_flags & CLONE_THREAD) {
		stat_inc(threads);
	} else {
		stat_inc(forks);
		t->group->pid = t->pid;
	}
	signal_thread_begin(t, t->clone_flags & CLONE_CLEAR_SIGHAND);
	thread_use_slot(t, t->cpu->slot);
	pin_task_begins(t, t->pin.seed);
	own_faults_task_begins(t);
	session_task_begin(t->task);
	event_task_moved(t->cpu->slot);
	perf_forked(t, t->cpu->slot, t->task->generation);
	perf_first_switch(t);
	perf_call_made(t, t->nr);
	signal_host_mask(t->sigmask & ~SIG_NEVER_BLOCKED);
	own_faults_settle(t);
	loop_run(t);
}

static long call_fork(struct request *rq)
{
	struct clone_args *a = &rq->args;

	a->stack = a->stack_size = 0;
	if (rq->size)
		return sys2(__NR_clone3, a, rq->size);
	return sys5(__NR_clone, a->flags | a->exit_signal, 0, a->flags & CLONE_PIDFD ? a->pidfd : a->parent_tid,
		    a->child_tid, a->tls);
}

/*
 * In the child of a fork: its number, without gettid, which a filter of the guest's may hand to a supervisor. The
 * kernel wrote it for the guest, or set_tid_address returns it; that is told the address that it has already.
 */
static s32 forked_tid(const struct request *rq)
{
	s32 tid;

	if ((rq->args.flags & CLONE_CHILD_SETTID) && !guest_read(&tid, rq->args.child_tid, sizeof(tid)) && tid > 0)
		return tid;
	tid = (s32)sys1(__NR_set_tid_address, clear_tid(rq));
	return tid > 0 ? tid : (s32)sys0(__NR_gettid);
}

/* In the child of a fork: the same struct thread, alone, with a slot of its own. */
static void begin_forked(struct thread *t, struct task *task, u64 flags, const struct request *rq)
{
	t->task = task;
	t->tid = t->pid = forked_tid(rq);
	session_task_ids(t, task);
	thread_use_slot(t, t->cpu->slot); /* before any lock of the session's */
	t->group->pid = t->pid;
	stat_inc(forks);
	t->group->nr_threads = 1;
	t->group->refs = 1;
	t->group->quiesce = 0;
	t->sighand->refs = 1;
	memset(t->held, 0, sizeof(t->held));
	t->dispatch.on = 0;
	t->sigtime.cause = 0;
	perf_fork_child(t);
	thread_list_keep_only(t);
	own_faults_task_begins(t);
	session_task_begin(task);
	event_task_moved(t->cpu->slot);
	perf_forked(t, t->cpu->slot, task->generation);
	perf_first_switch(t);
	signal_thread_begin(t, flags & CLONE_CLEAR_SIGHAND);
	t->regs_replaced = 1;
	t->clone_flags = flags;
	pin_task_begins(t, rq->seed);
	split_now(t);
}

/* In the child of a fork, first of all: as long as the parent's bank is mapped here, nothing may be counted. */
static void take_copy(struct thread *t, const struct task *task, const struct request *rq)
{
	int ret = thread_map_bank(t, task);

	if (ret) {
		log_printf(0, "a forked process cannot map its counters: error %d", -ret);
		for (;;)
			sys1(__NR_exit_group, PCL_FAILED);
	}
	begin_cpu(t->cpu, task, rq);
}

/* The locks of this memory are taken, so that no other thread holds one in the child's copy. */
static long clone_copy(struct thread *t, struct request *rq, struct task *task)
{
	u64 flags = rq->args.flags;
	long ret;

	siblings_before_fork(t->cpu, &arena()->siblings[task_slot(t->task) % ARENA_SIBLINGS], (u32)t->pid);
	perf_before_fork();
	lock_acquire(&t->sighand->lock);
	vma_before_fork();
	own_memory_lend_locked(task);
	dbt_before_fork();
	lock_acquire(&t->proc->threads_lock);
	ret = call_fork(rq);
	if (ret == 0)
		take_copy(t, task, rq);
	lock_release(&t->proc->threads_lock);
	dbt_after_fork(ret == 0);
	if (ret == 0)
		own_memory_borrowed_locked();
	else if (ret < 0)
		own_memory_lent_to_none_locked();
	vma_after_fork();
	lock_release(&t->sighand->lock);
	perf_after_fork();
	if (ret == 0) {
		t->clear_tid = clear_tid(rq);
		turn_forked(t, t->clear_tid);
		begin_forked(t, task, flags, rq);
	}
	return ret;
}

/*
 * In the parent: the slot may be another task's already. In a pid namespace of its own the parent does not learn the
 * ids that the task has outside; then the child is the one that tells.
 */
static void note_made(struct thread *t, struct task *task, u32 generation, s32 pid, s32 tid)
{
	if (t->task->depth)
		return;
	session_task_made(task, generation, pid, tid);
	if (event_space->opened)
		perf_forked(t, (u32)(task - arena()->tasks), generation);
}

static long clone_any(struct thread *t, struct request *rq)
{
	struct task *task;
	u32 generation;
	u64 mask;
	long ret;

	if ((rq->args.flags & (CLONE_SIGHAND | CLONE_VM)) == CLONE_SIGHAND ||
	    (rq->args.flags & (CLONE_THREAD | CLONE_SIGHAND)) == CLONE_THREAD)
		return -EINVAL;
	if ((rq->args.flags & CLONE_NEWPID) && !pidns_usable())
		return refuse(EPERM, PIDNS_UNUSABLE);
	mask = SIG_ALL_ASYNC;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	if (t->attention) {
		t->host_blocked = 1;
		return SYSCALL_AGAIN;
	}
	rq->seed = pin_new_task(t);
	t->made.flags = rq->args.flags;
	t->made.sp = cpu_get_gpr(t->cpu, REG_SP);
	if (!(rq->args.flags & CLONE_THREAD))
		own_memory_shared(rq->args.flags);
	own_faults_begin(t);
	task = make_task(t, rq, &ret);
	if (task) {
		generation = task->generation;
		ret = rq->args.flags & CLONE_VM ? clone_vm(t, rq, task) : clone_copy(t, rq, task);
		if (ret < 0)
			undo_task(task);
		else if (ret > 0)
			note_made(t, task, generation, rq->args.flags & CLONE_THREAD ? t->pid : (s32)ret, (s32)ret);
	}
	signal_host_mask(t->sigmask & ~SIG_NEVER_BLOCKED);
	ret ? own_faults_end(t) : own_faults_settle(t); /* 0: the child of a fork */
	return ret;
}

long sys_clone(struct thread *t, const u64 *a)
{
	struct request rq = {.stack = a[1]};

	rq.args.flags = (u32)a[0] & ~(u64)CSIGNAL;
	rq.args.exit_signal = a[0] & CSIGNAL;
	rq.args.pidfd = rq.args.parent_tid = a[2];
	rq.args.child_tid = a[3];
	rq.args.tls = a[4];
	return clone_any(t, &rq);
}

long sys_fork(struct thread *t, const u64 *a)
{
	return clone_any(t, &(struct request){.args.exit_signal = SIGCHLD});
}

long sys_vfork(struct thread *t, const u64 *a)
{
	struct request rq = {.args.flags = CLONE_VFORK | CLONE_VM, .args.exit_signal = SIGCHLD};

	return clone_any(t, &rq);
}

/*
 * Bytes beyond the structure that this program knows must be zero, or the kernel would do what we do not understand.
 * By aligned words, as the kernel does: it finds one that is not zero before what cannot be read.
 */
static long check_zero(gva at, u64 n)
{
	u64 chunk, word = 0;

	for (; n; at += chunk, n -= chunk) {
		chunk = MIN(n, sizeof(word) - at % sizeof(word));
		if (guest_read(&word, at, chunk))
			return -EFAULT;
		if (word)
			return -E2BIG;
	}
	return 0;
}

long sys_clone3(struct thread *t, const u64 *a)
{
	struct request rq = {.size = MIN(a[1], sizeof(rq.args))};
	long ret;

	if (a[1] > PAGE_SIZE)
		return -E2BIG;
	if (a[1] < CLONE_ARGS_SIZE_VER0)
		return -EINVAL;
	ret = check_zero(a[0] + rq.size, a[1] - rq.size);
	if (ret)
		return ret;
	if (guest_read(&rq.args, a[0], rq.size))
		return -EFAULT;
	rq.stack = rq.args.stack + rq.args.stack_size;
	/* The kernel's addresses have the sign. */
	if (!rq.args.stack != !rq.args.stack_size || (s64)(rq.args.stack | rq.args.stack_size | rq.stack) < 0)
		return -EINVAL;
	return clone_any(t, &rq);
}
