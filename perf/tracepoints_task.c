/*
 * Tracepoints of what happens to tasks (pmu/tracepoint_task.h): gives them to event_trace(). See perf.h.
 *
 * A sample is of the task that Linux would have it happen in, with that task's registers. In two cases another task
 * records it, and some registers are missing: a birth by the child, if it is the first to know (its registers are still
 * the parent's, but for the stack pointer), and the end of a thread by the one that ends its process or finds it dead.
 */
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <errno.h>
#include "event/overflow.h"
#include "event/task.h"
#include "os/session/proc.h"
#include "os/session/session.h"
#include "os/sig/signal.h"
#include "perf/perf.h"
#include "perf/sampling.h"
#include "perf/snapshot.h"
#include "pmu/tracepoint_task.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define STRING_MAX ARENA_PATH
#define PRIO_PROCESS 0

/* As PERF_SAMPLE_RAW has it. */
struct record {
	u32 size;
	u8 data[sizeof(struct trace_signal_deliver) + sizeof(struct trace_rename) + STRING_MAX];
};

/* With a string behind it, for which *loc is in the structure; or NULL. */
static void make_record(struct record *r, task_id task, enum task_trace which, void *own, u32 size, u32 *loc,
			const char *string)
{
	u32 len = string ? (u32)MIN(strlen(string), STRING_MAX - 1ul) : 0, end = size;

	*(struct trace_entry *)own = (struct trace_entry){
		.type = (u16)tracepoint_id(TRACE_TASK, which), .pid = host_task_tid(task)};
	if (string) {
		*loc = size | (len + 1) << 16;
		end += len + 1;
	}
	memset(r, 0, sizeof(r->size) + ALIGN_UP(end, 8u) + 8);
	memcpy(r->data, own, size);
	if (string)
		memcpy(r->data + size, string, len);
	r->size = ALIGN_UP(end + (u32)sizeof(r->size), 8u) - (u32)sizeof(r->size);
}

/* Nothing behind the name: what is there in the slot may be left of an older one. */
static void copy_comm(char *to, const char *comm)
{
	memcpy(to, comm, strnlen(comm, TRACE_COMM - 1));
}

/* t records what happens to a task; regs: that task's, or none. */
static void trace(struct thread *t, task_id task, enum task_trace which, const struct record *record,
		 const struct snapshot_regs *regs, struct overflow_result *result)
{
	static const struct snapshot_regs none;
	struct snapshot snap = {.task = task, .regs = &none};

	if (t && task == t->cpu->slot)
		snapshot_take(t, regs, &snap);
	else if (regs)
		snapshot_take_for(t, task, regs, &snap);
	if (event_ctx(task)->needs & SNAPSHOT_CPU)
		snap.cpu = host_task_cpu(task);
	snap.kernel = true;
	snap.addr = snap.data_src = 0;
	snap.raw = record;
	snap.raw_size = sizeof(record->size) + record->size;
	snap.comm = arena_task(task)->comm;
	event_trace(task, tracepoint_id(TRACE_TASK, which), &snap, result);
}

/* It happens to t's own task, now. Signals of the samples' are for after a system call, if it is in one. */
static void trace_own(struct thread *t, enum task_trace which, void *own, u32 size, bool in_call)
{
	struct overflow_result result = {0};
	struct snapshot_regs regs;
	struct record record;

	perf_regs(t->cpu, &regs);
	make_record(&record, t->cpu->slot, which, own, size, NULL, NULL);
	trace(t, t->cpu->slot, which, &record, &regs, &result);
	sampling_result(t, &result, in_call);
}

static s16 oom_score_adj(void)
{
	char text[16];
	bool negative;
	u64 value;

	if (proc_read("self/oom_score_adj", text, sizeof(text)) <= 0)
		return 0;
	negative = text[0] == '-';
	if (strchr(text, '\n'))
		*(char *)strchr(text, '\n') = 0;
	if (rt_parse_u64(text + negative, &value))
		return 0;
	return (s16)(negative ? -(s64)value : (s64)value);
}

/* ---- births ---- */

void perf_trace_fork(struct thread *t, u32 parent, u32 child)
{
	const struct task *from = arena_task(parent), *made = arena_task(child);
	struct trace_newtask new = {
		.pid = made->tid, .clone_flags = t->made.flags, .oom_score_adj = oom_score_adj()};
	struct trace_process_fork fork = {.parent_pid = from->tid, .child_pid = made->tid};
	struct overflow_result result = {0};
	struct snapshot_regs regs;
	struct record record;

	perf_regs(t->cpu, &regs);
	if (t->cpu->slot == child)
		regs.gpr[REG_SP] = t->made.sp;
	regs.gpr[REG_RESULT] = -(u64)ENOSYS;
	copy_comm(new.comm, from->comm);
	copy_comm(fork.parent_comm, from->comm);
	copy_comm(fork.child_comm, from->comm);
	make_record(&record, parent, TRACE_NEWTASK, &new, sizeof(new), NULL, NULL);
	trace(t, parent, TRACE_NEWTASK, &record, &regs, &result);
	make_record(&record, parent, TRACE_PROCESS_FORK, &fork, sizeof(fork), NULL, NULL);
	trace(t, parent, TRACE_PROCESS_FORK, &record, &regs, &result);
	if (t->cpu->slot == parent)
		sampling_result(t, &result, true);
}

/* ---- names and programs ---- */

void perf_trace_rename(struct thread *t, s32 tid, const char *old, const char *name)
{
	struct trace_rename r = {.pid = tid, .oom_score_adj = oom_score_adj()};

	copy_comm(r.oldcomm, old);
	copy_comm(r.newcomm, name);
	trace_own(t, TRACE_RENAME, &r, sizeof(r), true);
}

void perf_trace_exec(struct thread *t, const char *filename, s32 old_tid)
{
	struct trace_process_exec exec = {.pid = t->task->tid, .old_pid = old_tid};
	struct overflow_result result = {0};
	struct snapshot_regs regs;
	struct record record;

	perf_regs(t->cpu, &regs);
	make_record(&record, t->cpu->slot, TRACE_PROCESS_EXEC, &exec, sizeof(exec), &exec.filename, filename);
	trace(t, t->cpu->slot, TRACE_PROCESS_EXEC, &record, &regs, &result);
	sampling_result(t, &result, true);
}

/* ---- ends ---- */

/* The kernel's task_struct.prio; 120 of one that is gone. */
static s32 prio_of(s32 tid)
{
	s32 realtime = 0;
	long nice = sys2(__NR_getpriority, PRIO_PROCESS, tid);

	if (!sys2(__NR_sched_getparam, tid, &realtime) && realtime)
		return 99 - realtime;
	return nice > 0 ? 140 - (s32)nice : 120;
}

static bool is_last(const struct task *self)
{
	for (u32 slot = 1; slot < arena_tasks_high(); slot++) {
		const struct task *task = arena_task(slot);

		if (task != self && task->state == TASK_ALIVE && task->pid == self->pid)
			return false;
	}
	return true;
}

void perf_trace_exit(u32 slot)
{
	struct task *task = arena_task(slot);
	struct trace_process_exit end = {
		.pid = task->tid, .prio = prio_of(task->tid), .group_dead = is_last(task)};
	struct thread *t = thread_current();
	struct overflow_result result = {0};
	bool own = t && t->cpu->slot == slot;
	struct snapshot_regs regs;
	struct record record;

	if (__atomic_exchange_n(&task->exit_traced, 1, __ATOMIC_RELAXED))
		return;
	copy_comm(end.comm, task->comm);
	if (own)
		perf_regs(t->cpu, &regs);
	make_record(&record, slot, TRACE_PROCESS_EXIT, &end, sizeof(end), NULL, NULL);
	trace(t, slot, TRACE_PROCESS_EXIT, &record, own ? &regs : NULL, &result);
}

/* ---- page faults ---- */

void perf_trace_page_fault(struct thread *t, struct snapshot *snap, u64 error_code)
{
	struct trace_page_fault_user f = {.address = snap->addr, .ip = snap->regs->rip, .error_code = error_code};
	u32 id = tracepoint_id(TRACE_TASK, TRACE_PAGE_FAULT_USER);
	struct overflow_result result = {0};
	struct record record;

	make_record(&record, t->cpu->slot, TRACE_PAGE_FAULT_USER, &f, sizeof(f), NULL, NULL);
	snap->kernel = true;
	snap->addr = 0;
	snap->raw = &record;
	snap->raw_size = sizeof(record.size) + record.size;
	snap->comm = t->task->comm;
	event_trace(t->cpu->slot, id, snap, &result);
	sampling_result(t, &result, false);
}

/* ---- signals ---- */

void perf_trace_signal(struct thread *t, const struct ksiginfo *info, u64 handler, u64 flags)
{
	struct trace_signal_deliver d = {
		.sig = info->signo, .error = info->err, .code = info->code, .sa_handler = handler, .sa_flags = flags};

	/* It would cause itself, again and again. */
	if (d.sig == SIGTRAP && d.code == TRAP_PERF && *(const u32 *)info->rest == PERF_TYPE_TRACEPOINT)
		return;
	trace_own(t, TRACE_SIGNAL_DELIVER, &d, sizeof(d), false);
}
