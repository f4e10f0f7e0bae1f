/*
 * See sample.h. The fields that take 8 bytes each are made in an array on the stack: most records are nothing else, and
 * are written at once. Those of other sizes lie between them; see sample_parts.h.
 *
 * Linux quirk: the man page says that PERF_SAMPLE_ID is the group leader's; it is the event's own (its root's, if
 * inherited).
 */
#include "event/sample.h"

#include "event/event.h"
#include "event/records_2009.h"
#include "event/sample_parts.h"
#include "rt/log.h"

/* PERF_MEM_NA of Linux: every part of data_src says "not available". */
#define DATA_SRC_NA                                                                                                    \
	(PERF_MEM_S(OP, NA) | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) | PERF_MEM_S(LOCK, NA) |                     \
	 PERF_MEM_S(TLB, NA) | PERF_MEM_S(LVLNUM, NA))

/* A record's fields of 8 bytes: 9 in front of the parts of other sizes, 9 and the registers behind them. */
struct sample_words {
	struct perf_event_header header;
	u64 word[9 + 9 + SAMPLE_REGS];
};

u64 sample_primary_id(const struct event *e)
{
	return e->parent ? e->parent_id : e->id;
}

u64 sample_clock(const struct event *e)
{
	return e->attr.use_clockid ? host_clock_by_id(e->attr.clockid) : host_clock_perf();
}

/* ---- samples ---- */

/* Asked for by the session, or by an event of the cpu PMU: format "callstack" (pmu/sysfs.c). */
static bool wants_exact_chain(const struct perf_attr *attr)
{
	bool cpu_pmu =
		attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW;

	return event_space->call_stacks || (cpu_pmu && (attr->config1 & 1));
}

u32 sample_needs(const struct perf_attr *attr)
{
	u64 type = attr->sample_type, branches = attr->branch_sample_type;
	u32 needs = 0;

	if (type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR))
		needs |= SNAPSHOT_REGS;
	if ((type & PERF_SAMPLE_STACK_USER) && attr->sample_stack_user)
		needs |= SNAPSHOT_REGS | SNAPSHOT_STACK;
	if (type & PERF_SAMPLE_BRANCH_STACK)
		needs |= branches & PERF_SAMPLE_BRANCH_CALL_STACK ? SNAPSHOT_BRANCH_CALLS : SNAPSHOT_BRANCHES;
	if ((type & PERF_SAMPLE_CALLCHAIN) && !attr->exclude_callchain_user)
		needs |= wants_exact_chain(attr) ? SNAPSHOT_CALLS : SNAPSHOT_CHAIN;
	if (type & (PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE))
		needs |= SNAPSHOT_PAGES;
	if (type & PERF_SAMPLE_CGROUP)
		needs |= SNAPSHOT_CGROUP;
	if (type & PERF_SAMPLE_CPU)
		needs |= SNAPSHOT_CPU;
	/* Software events have no data access of their own: the addresses of page faults come by themselves. */
	if ((type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_DATA_PAGE_SIZE)) &&
	    attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT)
		needs |= SNAPSHOT_ADDR;
	return needs;
}

READS u64 pair(u32 low, u32 high)
{
	return low | (u64)high << 32;
}

READS u64 sample_time(const struct event *e, const struct snapshot *snap)
{
	return snap->time && !e->attr.use_clockid ? snap->time : sample_clock(e);
}

READS u64 ids_of(const struct event *e, task_id task)
{
	s32 pid, tid;

	host_task_ids(task, e->pidns, &pid, &tid);
	return pair((u32)pid, (u32)tid);
}

/* IDENTIFIER to PERIOD. */
static UNNOTED u64 *put_front(u64 *at, const struct event *e, const struct snapshot *snap, u64 period)
{
	u64 type = e->attr.sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		*at++ = sample_primary_id(e);
	if (type & PERF_SAMPLE_IP)
		*at++ = snap->ip;
	if (type & PERF_SAMPLE_TID)
		*at++ = ids_of(e, snap->task);
	if (type & PERF_SAMPLE_TIME)
		*at++ = sample_time(e, snap);
	if (type & PERF_SAMPLE_ADDR)
		*at++ = snap->addr;
	if (type & PERF_SAMPLE_ID)
		*at++ = sample_primary_id(e);
	if (type & PERF_SAMPLE_STREAM_ID)
		*at++ = event_slot(sample_stands_for(e))->id;
	if (type & PERF_SAMPLE_CPU)
		*at++ = pair(snap->cpu, 0);
	if (type & PERF_SAMPLE_PERIOD)
		*at++ = period;
	return at;
}

#define BACK                                                                                                           \
	(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |             \
	 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |             \
	 PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX)

/*
 * WEIGHT to AUX, of which there is none. The registers of a moment inside the kernel are not known, physical addresses
 * never.
 */
static UNNOTED u64 *put_back(u64 *at, const struct event *e, const struct snapshot *snap)
{
	u64 type = e->attr.sample_type;

	if (likely(!(type & BACK)))
		return at;
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		*at++ = snap->weight;
	if (type & PERF_SAMPLE_DATA_SRC)
		*at++ = snap->data_src ? snap->data_src : DATA_SRC_NA;
	if (type & PERF_SAMPLE_TRANSACTION)
		*at++ = snap->txn;
	if (type & PERF_SAMPLE_REGS_INTR)
		at += sample_regs(at, snap->kernel ? NULL : snap->regs, e->attr.sample_regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		*at++ = 0;
	if (type & PERF_SAMPLE_CGROUP)
		*at++ = snap->cgroup;
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		*at++ = snap->data_page_size;
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		*at++ = snap->code_page_size;
	if (type & PERF_SAMPLE_AUX)
		*at++ = 0;
	return at;
}

/* As natively, only events with precise_ip say that the address is exact. */
READS u16 misc_of(const struct event *e, const struct snapshot *snap)
{
	u16 misc = snap->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;

	return snap->exact && e->attr.precise_ip ? misc | PERF_RECORD_MISC_EXACT_IP : misc;
}

READS struct perf_event_header header_of(const struct event *e, const struct snapshot *snap, u32 size)
{
	if (unlikely(e->of_2009))
		return records_2009_header(e, snap, size);
	return (struct perf_event_header){PERF_RECORD_SAMPLE, misc_of(e, snap), (u16)size};
}

/* front: bytes of *s in front of the parts; fixed: all of *s that is used. */
static bool write_with_parts(struct sample_words *s, u32 front, u32 fixed, struct event *e, const struct snapshot *snap,
			     u32 kill)
{
	u32 size = fixed;
	struct sample_parts parts;
	struct ring_out o;

	size += sample_parts_measure(&parts, e, snap, fixed);
	s->header.size = (u16)size;
	if (!ring_begin(&o, e, size))
		return false;
	ring_write(&o, s, front);
	sample_parts_write(&o, &parts, e, snap);
	ring_write(&o, (char *)s + front, fixed - front);
	return ring_end(&o, kill);
}

UNNOTED bool sample_write(struct event *e, const struct snapshot *snap, u64 period, u32 kill)
{
	struct sample_words s;
	struct ring_out o;
	u64 *front, *end;
	u32 fixed;

	front = put_front(s.word, e, snap, period);
	end = put_back(front, e, snap);
	fixed = (u32)((char *)end - (char *)&s);
	check_slow(fixed <= sizeof(s));
	s.header = header_of(e, snap, fixed);
	if (e->attr.sample_type & SAMPLE_VARIABLE)
		return write_with_parts(&s, (u32)((char *)front - (char *)&s), fixed, e, snap, kill);
	if (!ring_begin(&o, e, fixed))
		return false;
	ring_write(&o, &s, fixed);
	return ring_end(&o, kill);
}

/* ---- sample_id trailers ---- */

#define TRAILER                                                                                                        \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |               \
	 PERF_SAMPLE_IDENTIFIER)

u32 sample_id_size(const struct event *e)
{
	u32 size = 0;

	if (e->attr.sample_id_all)
		for (u64 fields = e->attr.sample_type & TRAILER; fields; fields &= fields - 1)
			size += 8;
	return size;
}

void sample_id_write(struct ring_out *o, const struct event *e, const struct sample_id_of *of)
{
	u64 type = e->attr.sample_id_all ? e->attr.sample_type : 0;
	u64 word[6], *at = word;

	if (type & PERF_SAMPLE_TID)
		*at++ = pair((u32)of->pid, (u32)of->tid);
	if (type & PERF_SAMPLE_TIME)
		*at++ = of->time;
	if (type & PERF_SAMPLE_ID)
		*at++ = sample_primary_id(e);
	if (type & PERF_SAMPLE_STREAM_ID)
		*at++ = event_slot(sample_stands_for(e))->id;
	if (type & PERF_SAMPLE_CPU)
		*at++ = pair(of->cpu, 0);
	if (type & PERF_SAMPLE_IDENTIFIER)
		*at++ = sample_primary_id(e);
	ring_write(o, word, (u32)(at - word) * 8);
}

/* ---- LOST ---- */

/* The record is the root's, whichever of its children finds out; the trailer names the task that does. */
u32 sample_lost_size(const struct event *e)
{
	return sizeof(struct perf_event_header) + 16 + sample_id_size(e);
}

static struct sample_id_of here(const struct event *root)
{
	task_id task = host_current();
	struct sample_id_of of = {.time = sample_clock(root), .cpu = host_task_cpu(task)};

	host_task_ids(task, root->pidns, &of.pid, &of.tid);
	return of;
}

void sample_lost_write(struct ring_out *o, const struct event *e, u64 lost)
{
	const struct event *root = event_root(e);
	struct sample_id_of of = here(root);
	struct {
		struct perf_event_header header;
		u64 id, lost;
	} record = {{PERF_RECORD_LOST, 0, (u16)sample_lost_size(e)}, root->id, lost};

	ring_write(o, &record, sizeof(record));
	sample_id_write(o, root, &of);
}

u32 sample_filler_size(const struct event *root)
{
	return sizeof(struct perf_event_header) + 8 + sample_id_size(root);
}

/* Among records of 2009 it has no type: their readers step over it by its size. */
void sample_filler_write(struct ring_out *o, const struct event *root, u32 size)
{
	struct sample_id_of of = here(root);
	struct {
		struct perf_event_header header;
		u64 lost;
	} record = {{root->of_2009 ? 0 : PERF_RECORD_LOST_SAMPLES, 0, (u16)size}, 1};
	u64 end = o->at + size;

	ring_write(o, &record, sizeof(record));
	o->at = end - sample_id_size(root);
	sample_id_write(o, root, &of);
}
