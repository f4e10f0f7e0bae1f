/* See sample_parts.h. Layouts: the man page's PERF_RECORD_SAMPLE; limits: as Linux 6.18 has them. */
#include "event/sample_parts.h"

#include <asm/perf_regs.h>
#include "event/attr.h"
#include "event/event.h"
#include "event/read.h"
#include "event/records_2009.h"

/* ---- READ ---- */

void sample_read_values(struct event *e, bool with_times, struct event_total *out)
{
	if (e->task)
		event_read_own(e, with_times, out);
	else
		event_read_total(e, with_times, out);
}

/* Linux quirk: here, and only here, the times include those of children that are gone, though the count does not. */
static void write_one(struct ring_out *o, struct event *e, u64 format, struct event_total *total)
{
	u64 word[5], *at = word;

	if (e->task) {
		total->enabled += event_tally(e)->child_enabled;
		total->running += event_tally(e)->child_running;
	}
	*at++ = total->count;
	at = read_put_times(at, format, total);
	at = read_put_ids(at, format, sample_primary_id(e), e->lost);
	ring_write(o, word, (u32)(at - word) * 8);
}

static void write_member(struct ring_out *o, struct event *e, u64 format)
{
	struct event_total total;
	u64 word[3], *at = word;

	sample_read_values(e, false, &total);
	*at++ = total.count;
	at = read_put_ids(at, format, sample_primary_id(e), e->lost);
	ring_write(o, word, (u32)(at - word) * 8);
}

/* The times are those of the event that is sampled, whichever of the group it is. */
static void write_group(struct ring_out *o, struct event *leader, u64 format, const struct event_total *total)
{
	u64 word[3], *at = word;
	struct event *s;

	*at++ = leader->nr_siblings + 1;
	at = read_put_times(at, format, total);
	ring_write(o, word, (u32)(at - word) * 8);
	write_member(o, leader, format);
	for_each_sibling(s, leader)
		write_member(o, s, format);
}

void sample_write_read(struct ring_out *o, struct event *sampled)
{
	struct event *e = event_slot(sample_stands_for(sampled));
	u64 format = e->attr.read_format;
	struct event_total total;

	if (e->of_2009) {
		records_2009_write_group(o, sampled);
		return;
	}
	sample_read_values(e, format & READ_TIMES, &total);
	if (format & PERF_FORMAT_GROUP)
		write_group(o, event_leader(e), format, &total);
	else
		write_one(o, e, format, &total);
}

u32 sample_read_len(const struct event *sampled)
{
	const struct event *e = event_slot(sample_stands_for(sampled));

	if (e->of_2009)
		return records_2009_group_len(sampled);
	return attr_read_size(e->attr.read_format, event_leader(e)->nr_siblings) / 8;
}

/* ---- CALLCHAIN ---- */

/*
 * attr.sample_max_stack limits the addresses, perf_event_max_contexts_per_stack the markers; without its marker there
 * is no address.
 */
static void measure_chain(struct sample_parts *p, const struct perf_attr *attr, const struct snapshot *snap, u32 room)
{
	bool marked = !attr->exclude_callchain_user && event_sysctl()->max_contexts_per_stack > 0;
	u32 n = 1, limit = marked ? attr->sample_max_stack : 0;

	if (marked)
		p->chain_head[n++] = PERF_CONTEXT_USER;
	if (limit) {
		p->chain_head[n++] = snap->ip;
		p->chain_len = MIN(MIN(snap->nr_chain, limit - 1), room / 8 - n);
	}
	p->chain_head_len = n;
	p->chain_head[0] = n - 1 + p->chain_len;
}

/* As the text of 2009 has it: the addresses of each mode in one word, and no markers. */
static void measure_chain_2009(struct sample_parts *p, const struct perf_attr *attr, const struct snapshot *snap,
			       u32 room)
{
	u32 limit = attr->sample_max_stack;

	p->chain_head_len = 1;
	if (limit) {
		p->chain_head[p->chain_head_len++] = snap->ip;
		p->chain_len = MIN(MIN(snap->nr_chain, limit - 1), room / 8 - 2);
	}
	p->chain_head[0] = records_2009_chain(p->chain_head_len - 1 + p->chain_len);
}

/* ---- BRANCH_STACK ---- */

static bool branch_chosen(u64 mask, u32 kind)
{
	if (mask & PERF_SAMPLE_BRANCH_ANY)
		return true;
	switch (kind) {
	case PERF_BR_COND:
		return mask & PERF_SAMPLE_BRANCH_COND;
	case PERF_BR_IND:
		return mask & PERF_SAMPLE_BRANCH_IND_JUMP;
	case PERF_BR_CALL:
		return mask & (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_CALL);
	case PERF_BR_IND_CALL:
		return mask & (PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_CALL);
	case PERF_BR_SYSCALL:
		return mask & PERF_SAMPLE_BRANCH_ANY_CALL;
	case PERF_BR_RET:
	case PERF_BR_SYSRET:
		return mask & PERF_SAMPLE_BRANCH_ANY_RETURN;
	}
	return false;
}

/* There are none. */
static bool only_in_transactions(u64 mask)
{
	return (mask & PERF_SAMPLE_BRANCH_IN_TX) && !(mask & PERF_SAMPLE_BRANCH_NO_TX);
}

/* Whether a branch was predicted is not known: neither bit is set. */
static struct perf_branch_entry branch_entry(u64 mask, const struct snapshot_branch *b)
{
	struct perf_branch_entry entry = {.from = b->from, .to = b->to};

	if (!(mask & PERF_SAMPLE_BRANCH_NO_CYCLES))
		entry.cycles = MIN(b->cycles, 0xffffu);
	if (mask & PERF_SAMPLE_BRANCH_TYPE_SAVE)
		entry.type = b->kind & 15;
	if (mask & PERF_SAMPLE_BRANCH_PRIV_SAVE)
		entry.priv = PERF_BR_PRIV_USER;
	return entry;
}

/* A call stack is given whole; hw_idx says that there are no hardware entries which could be stitched together. */
static void measure_branches(struct sample_parts *p, const struct perf_attr *attr, const struct snapshot *snap)
{
	u64 mask = attr->branch_sample_type;
	bool stack = mask & PERF_SAMPLE_BRANCH_CALL_STACK;
	const struct snapshot_branch *b = stack ? snap->call : snap->branch;
	u32 left = stack ? snap->nr_call : snap->nr_branch, n = 0;

	if (!(mask & PERF_SAMPLE_BRANCH_USER) || only_in_transactions(mask))
		left = 0;
	for (; left && n < SAMPLE_BRANCHES; left--, b++)
		if (stack || branch_chosen(mask, b->kind))
			p->branch[n++] = branch_entry(mask, b);
	p->nr_branch = p->branch_head[0] = n;
	p->branch_head[1] = ~0ul;
	p->branch_head_len = mask & PERF_SAMPLE_BRANCH_HW_INDEX ? 2 : 1;
}

/* ---- registers and stack ---- */

u32 sample_regs(u64 *at, const struct snapshot_regs *regs, u64 mask)
{
	u32 n = 0;

	mask &= (1ul << SAMPLE_REGS) - 1;
	at[n++] = regs ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE;
	for (; regs && mask; mask &= mask - 1)
		at[n++] = snapshot_reg(regs, (u32)__builtin_ctzl(mask));
	return n;
}

/* What of attr.sample_stack_user is dumped: not beyond the end of user addresses, and what the record has room for. */
static u32 stack_size(const struct perf_attr *attr, const struct snapshot_regs *regs, u32 room)
{
	u64 sp = regs ? snapshot_sp(regs) : 0, size = MIN(attr->sample_stack_user, SAMPLE_SIZE_MAX);

	if (!sp || sp >= SNAPSHOT_USER_END)
		return 0;
	size = MIN(size, SNAPSHOT_USER_END - sp);
	return (u32)ALIGN_DOWN(MIN(size, room), 8ul);
}

/* Bytes that could not be read are zero: the ring's former contents are nobody's business. */
static void write_stack(struct ring_out *o, u32 size, const struct snapshot *snap)
{
	static const u64 zeroes[64];
	u32 dumped = MIN(size, snap->stack_size);

	ring_u64(o, size);
	if (!size)
		return;
	if (dumped)
		ring_write(o, snap->stack, dumped);
	for (u32 left = size - dumped, n; left; left -= n) {
		n = MIN(left, (u32)sizeof(zeroes));
		ring_write(o, zeroes, n);
	}
	ring_u64(o, dumped);
}

/* ---- RAW ---- */

static u32 raw_len(const struct snapshot *snap)
{
	return snap->raw ? snap->raw_size / 8 : 1;
}

/* Linux's form of an event without raw data: a size of 4, and four zeroes that make 8 bytes of it. */
static void write_raw(struct ring_out *o, const struct snapshot *snap)
{
	if (snap->raw)
		ring_write(o, snap->raw, snap->raw_size);
	else
		ring_u64(o, 4);
}

/* ---- all of them ---- */

u32 sample_parts_measure(struct sample_parts *p, const struct event *e, const struct snapshot *snap, u32 fixed)
{
	const struct perf_attr *attr = &e->attr;
	u64 type = attr->sample_type;
	u32 words;

	p->chain_head_len = p->chain_len = p->branch_head_len = p->nr_branch = p->regs_len = p->stack_size = 0;
	if (type & PERF_SAMPLE_BRANCH_STACK)
		measure_branches(p, attr, snap);
	if (type & PERF_SAMPLE_REGS_USER)
		p->regs_len = sample_regs(p->regs, snap->regs, attr->sample_regs_user);
	words = p->branch_head_len + 3 * p->nr_branch + p->regs_len;
	words += type & PERF_SAMPLE_READ ? sample_read_len(e) : 0;
	words += type & PERF_SAMPLE_RAW ? raw_len(snap) : 0;
	words += type & PERF_SAMPLE_STACK_USER ? 2 : 0;
	if (type & PERF_SAMPLE_CALLCHAIN)
		(e->of_2009 ? measure_chain_2009 : measure_chain)(p, attr, snap, SAMPLE_SIZE_MAX - fixed - words * 8);
	words += p->chain_head_len + p->chain_len;
	if (type & PERF_SAMPLE_STACK_USER)
		p->stack_size = stack_size(attr, snap->regs, SAMPLE_SIZE_MAX - fixed - words * 8);
	/* Without a stack there is no dyn_size. */
	if ((type & PERF_SAMPLE_STACK_USER) && !p->stack_size)
		words--;
	return words * 8 + p->stack_size;
}

void sample_parts_write(struct ring_out *o, const struct sample_parts *p, struct event *e, const struct snapshot *snap)
{
	u64 type = e->attr.sample_type;

	if (type & PERF_SAMPLE_READ)
		sample_write_read(o, e);
	ring_write(o, p->chain_head, p->chain_head_len * 8);
	if (p->chain_len)
		ring_write(o, snap->chain, p->chain_len * 8);
	if (type & PERF_SAMPLE_RAW)
		write_raw(o, snap);
	ring_write(o, p->branch_head, p->branch_head_len * 8);
	ring_write(o, p->branch, p->nr_branch * (u32)sizeof(p->branch[0]));
	ring_write(o, p->regs, p->regs_len * 8);
	if (type & PERF_SAMPLE_STACK_USER)
		write_stack(o, p->stack_size, snap);
}
