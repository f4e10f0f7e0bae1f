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

#define ROOM 4096 /* for the arguments; the kernel's MAX_UCB_BUFFER_SIZE */

/* As PERF_SAMPLE_RAW has it: the size of what follows, with which the size word is a multiple of 8. */
struct uprobe_record {
	u32 size;
	u16 type; /* the tracepoint's id; 0: it has no name */
	u8 flags, preempt_count;
	s32 pid;
	u64 vaddr[2];
	u8 args[ROOM + 8];
} __attribute__((packed));

#define AT(field) ((u32)(offsetof(struct uprobe_record, field) - sizeof(u32)))

static u8 *after_size(struct uprobe_record *r)
{
	return (u8 *)r + sizeof(r->size);
}

static void fill(struct uprobe_record *r, const struct thread *t, u32 row, gva func, const struct snapshot_regs *regs)
{
	const struct probe *p = probe_row(row);
	bool named = p->state == PROBE_NAMED;
	u32 end = func ? AT(args) : AT(vaddr[1]);

	memset(r, 0, named ? sizeof(*r) : offsetof(struct uprobe_record, args) + 8);
	r->type = named ? (u16)(PROBE_ID + p->event) : 0;
	r->pid = host_task_tid(t->cpu->slot);
	r->vaddr[0] = func ? func : regs->rip;
	r->vaddr[1] = func ? regs->rip : 0;
	if (named)
		end = uprobe_fetch(t, row, func ? func : regs->rip, regs, after_size(r), end, AT(args) + ROOM);
	r->size = ALIGN_UP(end + (u32)sizeof(r->size), 8u) - (u32)sizeof(r->size);
}

void uprobe_trace(struct thread *t, u32 row, gva func, const struct snapshot_regs *regs)
{
	struct overflow_result result = {0};
	struct probe *p = probe_row(row);
	task_id task = t->cpu->slot;
	struct uprobe_record record;
	struct snapshot snap;

	__atomic_store_n(&p->hits, p->hits + 1, __ATOMIC_RELAXED);
	snapshot_take(t, regs, &snap);
	snapshot_set_address(t, 0, &snap);
	fill(&record, t, row, func, regs);
	snap.raw = &record;
	snap.raw_size = (u32)sizeof(record.size) + record.size;
	snap.comm = t->task->comm;
	event_trace(task, PROBE_ID + p->event, &snap, &result);
	sampling_result(t, &result, false);
}

bool uprobes_hit(struct thread *t, const struct snapshot_regs *regs)
{
	bool any = false, calls = false;

	for (u32 row = 0; uprobe_site(regs->rip, &row); row++) {
		any = true;
		if (probe_row(row)->place.is_return)
			calls = true;
		else
			uprobe_trace(t, row, 0, regs);
	}
	if (calls)
		uprobe_call(t, regs);
	return any;
}
