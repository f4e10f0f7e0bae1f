/*
 * The parts of a sample whose size is only known when it is taken: between PERIOD and WEIGHT in the man page's order.
 * They are measured first, so that the record is reserved once, and then written in place. For sample.c only, but for
 * READ.
 */
#ifndef EVENT_SAMPLE_PARTS_H
#define EVENT_SAMPLE_PARTS_H

#include "event/event.h"
#include "event/sample.h"

#define SAMPLE_VARIABLE                                                                                                \
	(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |                       \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

#define SAMPLE_SIZE_MAX 65528u /* perf_event_header.size has 16 bits, records a multiple of 8 bytes */
#define SAMPLE_BRANCHES 32     /* depth of branch stacks */
#define SAMPLE_REGS 24	       /* of asm/perf_regs.h, without vector registers */

/* The event that a sample's reader knows: a child of a per-CPU event stands for that, as Linux has no such children. */
static inline u32 sample_stands_for(const struct event *e)
{
	return e->parent && !event_slot(e->parent)->task ? e->parent : event_nr(e);
}

/* What was made ready while measuring; lengths (_len) are in words of 8 bytes. */
struct sample_parts {
	u32 chain_head_len, chain_len; /* chain_len: of snapshot->chain, behind chain_head */
	u32 branch_head_len, nr_branch;
	u32 regs_len;
	u32 stack_size;		       /* bytes of the stack's dump */
	u64 chain_head[3];	       /* number, PERF_CONTEXT_USER, ip */
	u64 branch_head[2];	       /* number, hw_idx */
	struct perf_branch_entry branch[SAMPLE_BRANCHES];
	u64 regs[1 + SAMPLE_REGS];     /* abi, values */
};

/*
 * Bytes that the parts take in a record whose other fields take `fixed`: never more than SAMPLE_SIZE_MAX together. What
 * there is no room for is cut from the stack first, then from the call chain's outer end.
 */
u32 sample_parts_measure(struct sample_parts *p, const struct event *e, const struct snapshot *snap, u32 fixed);
void sample_parts_write(struct ring_out *o, const struct sample_parts *p, struct event *e, const struct snapshot *snap);

/* An inherited event's sample tells what it has counted itself, not what its family has. */
void sample_read_values(struct event *e, bool with_times, struct event_total *out);

/*
 * The values of an event or its group as in PERF_SAMPLE_READ, and in PERF_RECORD_READ (sideband.c); their length in
 * words.
 */
void sample_write_read(struct ring_out *o, struct event *sampled);
u32 sample_read_len(const struct event *sampled);

/*
 * Registers as REGS_USER and REGS_INTR have them: abi (NONE if regs is NULL), then those in mask. Returns how many
 * words.
 */
u32 sample_regs(u64 *at, const struct snapshot_regs *regs, u64 mask);

#endif
