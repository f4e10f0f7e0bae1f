/* The task slots; see session.h. Structures: os/session/arena.h. */
#include <asm/errno.h>
#include <asm/signal.h>
#include <linux/time.h>
#include <linux/time_types.h>
#include "cpu/bank.h"
#include "event/space.h"
#include "event/task.h"
#include "os/session/apart.h"
#include "os/session/death.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/session.h"
#include "perf/perf.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

/* A NEW slot whose creator is dead may still get its thread: that one has this long to begin. */
#define NEW_GRACE_NS 2000000000ul
#define REAP_FROM    4096 /* slots, and each power of 2 above */
#define DEAD_LOOKS   4 /* threads looked for in one allocation */

static u64 boottime(void)
{
	u64 ts[2];

	sys2(__NR_clock_gettime, CLOCK_BOOTTIME, ts);
	return ts[0] * 1000000000ul + ts[1];
}

static void push_free(struct task *task)
{
	task->next_slot = arena()->tasks_free;
	arena()->tasks_free = task_slot(task);
}

static void push_left(struct task *task)
{
	struct arena *a = arena();

	if (task->is_left)
		return;
	task->is_left = 1;
	task->next_slot = 0;
	if (a->tasks_left)
		arena_task(a->tasks_left_last)->next_slot = task_slot(task);
	else
		a->tasks_left = task_slot(task);
	a->tasks_left_last = task_slot(task);
}

static void session_lock(void)
{
	slock_acquire(&arena()->lock);
}

static void session_unlock(void)
{
	slock_release(&arena()->lock);
}

struct task *session_task(u32 slot)
{
	struct task *task;

	if (slot == 0 || slot >= arena_tasks_high())
		return NULL;
	task = arena_task(slot);
	return __atomic_load_n(&task->state, __ATOMIC_ACQUIRE) == TASK_FREE ? NULL : task;
}

u32 session_find_tid(u32 pidns, s32 tid)
{
	s32 its_pid, its_tid;
	u32 slot;

	for (slot = 1; slot < arena_tasks_high(); slot++) {
		struct task *task = session_task(slot);

		if (task && task->state == TASK_ALIVE && pidns_ids(task, pidns, &its_pid, &its_tid) && its_tid == tid &&
		    session_task_exists(task))
			return slot;
	}
	return 0;
}

u32 session_find_made(s32 tid)
{
	u32 slot;

	for (slot = 1; slot < arena_tasks_high(); slot++) {
		const struct task *task = session_task(slot);

		if (task && task->state == TASK_NEW && task->made && task->tid == tid && session_task_exists(task))
			return slot;
	}
	return 0;
}

bool session_task_exists(const struct task *task)
{
	return pidns_exists(task->pid, task->tid);
}

void session_task_ids(struct thread *t, struct task *task)
{
	pidns_begin(task, t->pid, t->tid);
	t->host_pid = task->pid;
	t->host_tid = task->tid;
}

static void task_fill(struct task *task)
{
	task->exec_tgid = 0;
	task->in_cache = 0;
	task->fds = task->own_fd = the_process.runtime_fd;
}

static void free_locked(struct task *task)
{
	if (task->state == TASK_FREE || task->is_left)
		return;
	__atomic_store_n(&task->state, TASK_FREE, __ATOMIC_RELEASE);
	push_free(task);
}

static long note_counts(void *arg)
{
	struct task *task = arg;
	u32 slot = task_slot(task);

	task->faults_at_exit[0] = host_task_count(slot, HOST_FAULTS_MIN);
	task->faults_at_exit[1] = host_task_count(slot, HOST_FAULTS_MAJ);
	task->switches_at_exit = host_task_count(slot, HOST_SWITCHES);
	task->migrations_at_exit = host_task_count(slot, HOST_MIGRATIONS);
	return 0;
}

/* Of others all is read from /proc: by one helper thread. */
void session_task_note(struct task *task)
{
	u32 slot = task_slot(task);

	task->cputime_at_exit = host_task_clock(slot);
	if (!event_task_measured(slot))
		return;
	if (slot == host_current() || section_self()->open)
		note_counts(task);
	else
		apart_run(note_counts, task);
}

/* The slot is still that living task's of thread group pid. */
static bool is_task_of(const struct task *task, u32 generation, s32 pid)
{
	return task->generation == generation && task->pid == pid &&
	       (task->state == TASK_ALIVE || (task->state == TASK_NEW && task->made));
}

/*
 * Ends, for a thread that is gone, its task if the slot is still that of this living task of thread group pid. Looks
 * again under the lock: others may be ending the same task, and the slot may be another's right after, of the same
 * process even.
 */
static void end_gone(u32 slot, u32 generation, s32 pid)
{
	struct task *task = arena_task(slot);

	if (!is_task_of(task, generation, pid))
		return;
	perf_task_ends(slot);
	session_lock();
	if (is_task_of(task, generation, pid)) {
		if (event_space->opened)
			session_task_note(task);
		__atomic_store_n(&task->state, TASK_DEAD, __ATOMIC_RELEASE);
		event_task_exit(slot);
		free_locked(task);
	}
	session_unlock();
}

void session_task_gone(u32 slot)
{
	const struct task *task = session_task(slot);
	u32 generation = task ? __atomic_load_n(&task->generation, __ATOMIC_ACQUIRE) : 0;

	if (task && death_is_seen(task))
		end_gone(slot, generation, task->pid);
}

void session_exec_done(const struct task *self)
{
	u32 slot;

	for (slot = 1; slot < arena_tasks_high(); slot++)
		if (arena_task(slot) != self)
			end_gone(slot, arena_task(slot)->generation, self->pid);
}

struct task *session_find_self(u32 slot)
{
	struct task *found = session_task(slot);

	if (!found || (found->state != TASK_ALIVE && found->state != TASK_NEW))
		return NULL;
	session_task_ids(thread_current(), found);
	task_fill(found);
	if (!found->depth) /* below the launcher's namespace the kernel may not tell it */
		found->ppid = (s32)sys0(__NR_getppid);
	if (!found->start_time)
		found->start_time = boottime();
	__atomic_store_n(&found->state, TASK_ALIVE, __ATOMIC_RELEASE);
	return found;
}

bool session_is_dead(u32 slot)
{
	const struct task *task = session_task(slot);

	return !task || death_is_seen(task);
}

/* A task that nobody can end any more but us. */
static bool is_abandoned(const struct task *task)
{
	/* An execve under way may have changed the thread's id. */
	if (task->exec_tgid && pidns_exists(task->exec_tgid, task->exec_tgid))
		return false;
	if (task->state != TASK_NEW)
		return death_is_certain(task);
	return boottime() - task->start_time > NEW_GRACE_NS && death_is_certain(task);
}

/* Until its parent is back from clone, nobody knows its id. */
static bool may_be(const struct task *task, s32 tid)
{
	if (task->state != TASK_NEW)
		return false;
	return task->made && !pidns_own() ? task->tid == tid : boottime() - task->start_time < NEW_GRACE_NS;
}

bool session_expects(s32 tid)
{
	u32 slot = 1;

	while (slot < arena_tasks_high() && !may_be(arena_task(slot), tid))
		slot++;
	if (slot >= arena_tasks_high())
		return false;
	if (pidns_own())
		return !sys2(__NR_kill, tid, 0);
	return pidns_exists(tid, tid) && proc_is_zombie(tid, tid) != 1;
}

void session_reap(void)
{
	u32 slot, generation;

	for (slot = 1; slot < arena_tasks_high(); slot++) {
		struct task *task = session_task(slot);

		if (!task)
			continue;
		generation = task->generation;
		if (!is_abandoned(task))
			continue;
		perf_task_ends(slot);
		/* Two may reap at once, and the slot may be another task's by now. */
		session_lock();
		if (task->generation == generation && task->state != TASK_FREE) {
			event_task_exit(slot);
			free_locked(task);
		}
		session_unlock();
	}
}

/* Slots of exit_group's other threads: their events are done with, so they are free once the threads are gone. */
static void free_left_behind_locked(void)
{
	struct arena *a = arena();

	for (u32 looks = 0; a->tasks_left && looks < DEAD_LOOKS; looks++) {
		struct task *task = arena_task(a->tasks_left);

		a->tasks_left = task->next_slot;
		task->is_left = 0;
		if (task->state == TASK_DEAD && session_task_exists(task))
			push_left(task);
		else if (task->state == TASK_DEAD)
			free_locked(task);
	}
}

/* More slots than ever are about to be in use, or all: some may be of tasks that died without a word. */
static bool is_time_to_reap_locked(void)
{
	u32 high = arena()->tasks_high;

	return !arena()->tasks_free && high >= REAP_FROM && !(high & (high - 1));
}

static struct task *alloc_locked(const struct task *parent)
{
	struct arena *a = arena();
	struct task *task;
	u32 slot;

	free_left_behind_locked();
	slot = a->tasks_free % ARENA_TASKS;
	if (!slot && a->tasks_high >= ARENA_TASKS)
		return NULL;
	section_settle(slot ? slot : arena_tasks_high());
	if (slot)
		a->tasks_free = arena_task(slot)->next_slot;
	else
		slot = a->tasks_high++;
	task = arena_task(slot);
	task->generation++;
	task->made = 0;
	task->start_time = boottime();
	task->pid = parent->pid;
	task->tid = parent->tid;
	task->depth = parent->depth;
	memcpy(task->inner, parent->inner, sizeof(parent->inner));
	task->fds = task->own_fd = parent->fds;
	task->children_apart = 0;
	task->made_apart = parent->children_apart;
	__atomic_store_n(&task->state, TASK_NEW, __ATOMIC_RELEASE);
	return task;
}

struct task *session_task_new(struct task *parent, bool sibling)
{
	struct task *task;

	session_lock();
	task = is_time_to_reap_locked() ? NULL : alloc_locked(parent);
	session_unlock();
	if (!task) {
		session_reap();
		session_lock();
		task = alloc_locked(parent);
		session_unlock();
	}
	if (!task)
		return NULL;
	cpu_new_bank(arena_bank(task_slot(task)));
	task->ppid = sibling ? parent->ppid : parent->pid;
	memcpy(task->comm, parent->comm, sizeof(task->comm));
	task->in_cache = task->threaded = task->fences = task->exit_traced = 0;
	task->exec_tgid = 0;
	task->cputime_at_exit = task->own_work = 0;
	return task;
}

/*
 * Without notes: the task may write the same, in no section. What is put back then would be its parent's, for good.
 */
static UNNOTED __attribute__((noinline)) void set_ids(struct task *task, s32 pid, s32 tid)
{
	task->pid = pid;
	task->tid = tid;
	task->made = 1;
}

void session_task_made(struct task *task, u32 generation, s32 pid, s32 tid)
{
	session_lock();
	if (task->generation == generation && task->state == TASK_NEW)
		set_ids(task, pid, tid);
	session_unlock();
}

void session_task_undo(struct task *task)
{
	session_task_free(task);
}

void session_task_begin(struct task *task)
{
	task_fill(task);
	/* Not before the thread's own start, however late the clone was: death_is_certain() compares. */
	task->start_time = boottime();
	__atomic_store_n(&task->state, TASK_ALIVE, __ATOMIC_RELEASE);
}

/*
 * The events read the final values through host.h while the task is DEAD; then nobody needs the slot: a later reader
 * finds its counts in the events.
 */
static bool end_task(struct task *task)
{
	u32 alive = TASK_ALIVE;

	if (event_space->opened)
		session_task_note(task);
	if (!__atomic_compare_exchange_n(&task->state, &alive, TASK_DEAD, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	perf_task_ends(task_slot(task));
	event_task_exit(task_slot(task));
	return true;
}

void session_task_end(struct task *task)
{
	if (end_task(task))
		session_task_free(task);
}

void session_group_end(struct task *self)
{
	u32 slot;

	for (slot = 1; slot < arena_tasks_high(); slot++) {
		struct task *task = session_task(slot);

		if (!task || task == self || task->state != TASK_ALIVE || task->pid != self->pid || !end_task(task))
			continue;
		session_lock();
		if (task->state == TASK_DEAD)
			push_left(task);
		session_unlock();
	}
	session_task_end(self);
}

/*
 * The process of the launcher's namespace that has that id in the caller's; *ns: the pid namespace that ends with it,
 * 0: none.
 */
static s32 outermost_pid(s32 pid, u32 *ns)
{
	u32 own = pidns_own(), slot;
	const struct pidns_ids *inner;
	s32 its_pid, its_tid;

	*ns = 0;
	for (slot = 1; slot < arena_tasks_high(); slot++) {
		const struct task *task = session_task(slot);

		if (!task || task->state != TASK_ALIVE || !pidns_ids(task, own, &its_pid, &its_tid) || its_pid != pid)
			continue;
		inner = pidns_inner(task);
		if (inner && inner->pid == 1)
			*ns = inner->ns;
		return task->pid;
	}
	return own ? 0 : pid;
}

/* With the first process of a pid namespace go all others that are in it. */
void session_process_gone(s32 pid)
{
	u32 slot, ns;
	s32 its_pid, its_tid;

	pid = outermost_pid(pid, &ns);
	for (slot = 1; pid && slot < arena_tasks_high(); slot++) {
		const struct task *task = arena_task(slot);

		end_gone(slot, task->generation, pid);
		if (unlikely(ns) && pidns_ids(task, ns, &its_pid, &its_tid))
			end_gone(slot, task->generation, task->pid);
	}
}

void session_task_free(struct task *task)
{
	session_lock();
	free_locked(task);
	session_unlock();
}

void session_exec_begin(struct task *task)
{
	task->exec_tgid = task->pid;
}

void session_exec_failed(struct task *task)
{
	task->exec_tgid = 0;
}
