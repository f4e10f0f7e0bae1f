/*
 * What happens at a probe: see uprobes.h.
 *
 * Records: the kernel's struct uprobe_trace_entry_head. The address that was reached; or the function's, and the one
 * that it has returned to.
 */
#include "event/overflow.h"
#include "perf/perf.h"
#include "perf/sampling.h"
#include "perf/snapshot.h"
#include "perf/uprobes.h"
#include "rt/string.h"

/* As PERF_SAMPLE_RAW has it. */
struct uprobe_record {
	u32 size;
	u16 type; /* the tracepoint's id; 0: it has no name */
	u8 flags, preempt_count;
	s32 pid;
	u64 vaddr[2];
	u32 end;
} __attribute__((packed));

/* The record, its size word in front, is a multiple of 8. */
static u32 fill(struct uprobe_record *r, u32 row, s32 pid, gva func, gva at)
{
	const struct probe *p = probe_row(row);
	u32 addresses = func ? 2 : 1;

	memset(r, 0, sizeof(*r));
	r->type = p->state == PROBE_NAMED ? (u16)(PROBE_ID + p->event) : 0;
	r->pid = pid;
	r->vaddr[0] = func ? func : at;
	r->vaddr[1] = func ? at : 0;
	r->size = 8 + 8 * addresses + 4;
	return r->size;
}

void uprobe_tell(struct thread *t, u32 row, gva func, const struct snapshot_regs *regs)
{
	struct overflow_result result = {0};
	struct probe *p = probe_row(row);
	task_id task = t->cpu->slot;
	struct uprobe_record record;
	struct snapshot snap;

	__atomic_store_n(&p->hits, p->hits + 1, __ATOMIC_RELAXED);
	snapshot_take(t, regs, &snap);
	snapshot_set_address(t, 0, &snap);
	snap.raw = &record;
	snap.raw_size = sizeof(record.size) + fill(&record, row, host_task_tid(task), func, regs->rip);
	snap.comm = t->task->comm;
	event_trace(task, PROBE_ID + p->event, &snap, &result);
	sampling_result(t, &result, false);
}

bool uprobes_hit(struct thread *t, const struct snapshot_regs *regs)
{
	bool any = false, calls = false;
	u32 row;

	for (u32 i = 0; uprobe_site(regs->rip, i, &row); i++) {
		any = true;
		if (probe_row(row)->place.is_return)
			calls = true;
		else
			uprobe_tell(t, row, 0, regs);
	}
	if (calls)
		uprobe_call(t, regs);
	return any;
}
