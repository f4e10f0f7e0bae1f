/*
 * Tracepoints at system calls: gives event_trace() what the events of the tracepoint PMU (pmu/tracepoint.h) want. See
 * perf.h.
 */
#include <asm/errno.h>
#include <asm/unistd.h>
#include "event/overflow.h"
#include "perf/faults.h"
#include "perf/perf.h"
#include "perf/sampling.h"
#include "perf/snapshot.h"
#include "pmu/tracepoint.h"
#include "rt/guest.h"
#include "rt/string.h"

#define STRINGS_MAX 4 /* no system call has more arguments that are strings */
#define RESTARTSYS 512 /* the kernel's own errno of a call that it begins again */

/* Strings that the arguments are the addresses of. */
struct strings {
	const char *at[FILTER_WORDS]; /* of each word of the record */
	char text[STRINGS_MAX][FILTER_USTRING_SIZE];
};

static void read_strings(const struct tracepoint *tp, const struct tracepoint_record *record, struct strings *out)
{
	struct tracepoint_field f;
	u32 n = 0;

	memset(out->at, 0, sizeof(out->at));
	for (u32 i = 0; n < STRINGS_MAX && tracepoint_field(tp, i, &f); i++) {
		u64 addr;

		if (!tracepoint_is_string(&f))
			continue;
		memcpy(&addr, record->data + f.offset, sizeof(addr));
		if (guest_read_str(out->text[n], addr, FILTER_USTRING_SIZE) != -EFAULT)
			out->at[f.offset / 8] = out->text[n];
		n++;
	}
}

static void trace(struct thread *t, enum tracepoint_kind kind, s64 nr, const u64 *values,
		 const struct snapshot_regs *regs)
{
	struct overflow_result result = {0};
	struct tracepoint_record record;
	task_id task = t->cpu->slot;
	struct strings strings;
	struct tracepoint tp;
	struct snapshot snap;

	if (!(event_ctx(task)->units & EVENT_UNIT_TRACE << kind) || !tracepoint_by_id(tracepoint_id(kind, nr), &tp))
		return;
	tracepoint_fill(&tp, nr, host_task_tid(task), values, &record);
	snapshot_take(t, regs, &snap);
	snap.kernel = trace_is_raw(kind);
	snap.addr = snap.data_src = 0;
	snap.raw = &record;
	snap.raw_size = sizeof(record.size) + record.size;
	snap.comm = t->task->comm;
	if (unlikely(filter_wants_ustrings())) {
		read_strings(&tp, &record, &strings);
		snap.ustring = strings.at;
	}
	event_trace(task, tracepoint_id(kind, nr), &snap, &result);
	sampling_result(t, &result, true);
}

/* The kernel has put -ENOSYS into the result's register when it looks at a call. */
void perf_call_enter_slowly(struct thread *t)
{
	struct snapshot_regs regs;

	faults_call_begins(t);
	perf_regs(t->cpu, &regs);
	if (t->put_off.rip == regs.rip && t->put_off.rsp == regs.gpr[REG_SP]) {
		t->put_off.rip = 0;
		return;
	}
	regs.gpr[REG_RESULT] = -(u64)ENOSYS;
	trace(t, TRACE_RAW_ENTER, (s64)t->nr, t->args, &regs);
	trace(t, TRACE_ENTER, (s64)t->nr, t->args, &regs);
}

static void trace_exit(struct thread *t, s64 nr, u64 ret)
{
	struct snapshot_regs regs;

	perf_regs(t->cpu, &regs);
	regs.gpr[REG_RESULT] = ret;
	trace(t, TRACE_RAW_EXIT, nr, &ret, &regs);
	trace(t, TRACE_EXIT, nr, &ret, &regs);
}

/*
 * Linux quirk: after rt_sigreturn the number of the call is not known any more, and its result is what it has put
 * into the register.
 */
void perf_call_exit_slowly(struct thread *t, long ret)
{
	faults_call_ends(t);
	if (ret == SYSCALL_AGAIN && !t->again_entered) {
		t->put_off.rip = t->cpu->rip;
		t->put_off.rsp = cpu_get_gpr(t->cpu, REG_SP);
	} else if (ret == SYSCALL_AGAIN) {
		trace_exit(t, (s64)t->nr, -(u64)RESTARTSYS);
	} else if (t->nr == __NR_rt_sigreturn) {
		trace_exit(t, -1, cpu_get_gpr(t->cpu, REG_RESULT));
	} else {
		trace_exit(t, (s64)t->nr, (u64)ret);
	}
}

void perf_call_made_slowly(struct thread *t, u64 nr)
{
	trace_exit(t, (s64)nr, 0);
	t->attention |= t->trap_later;
	t->trap_later = 0;
}
