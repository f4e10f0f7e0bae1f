/*
 * PERF_RECORD_SAMPLE read field by field in the man page's order, as a reader does who knows nothing of how it was
 * written. The record must be in one piece and followed by enough readable memory that a wrong count in it does no
 * harm.
 */
#ifndef TESTS_ABI_PARSE_SAMPLE_H
#define TESTS_ABI_PARSE_SAMPLE_H

#include "abi/perf.h"

struct parsed {
	u32 type, misc, size;
	u64 identifier, ip, pid, tid, time, addr, id, stream_id, cpu, res, period;
	u64 nr, value[16], enabled, running, value_id[16], lost[16];
	u64 chain_nr, raw_size, raw_data;
	const u64 *chain;
	u64 branch_nr, hw_idx;
	const u64 *branch;
	u64 abi_user, stack_size, dyn_size;
	const u64 *regs_user;
	const u8 *stack;
	u64 weight, data_src, txn, abi_intr, phys_addr, cgroup, data_page_size, code_page_size, aux_size;
	const u64 *regs_intr;
	u64 left; /* bytes behind the last field */
};

static const u64 *next_word;

static u64 word(void)
{
	return *next_word++;
}

static const u64 *words(u64 n)
{
	const u64 *at = next_word;

	next_word += n;
	return at;
}

static const u64 *parse_regs(u64 *abi, u64 mask)
{
	*abi = word();
	return words(*abi ? __builtin_popcountl(mask) : 0);
}

static void parse_read(struct parsed *p, u64 format)
{
	p->nr = 1;
	if (format & PERF_FORMAT_GROUP)
		p->nr = word();
	else
		p->value[0] = word();
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		p->enabled = word();
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		p->running = word();
	for (u64 i = 0; i < p->nr; i++) {
		if (format & PERF_FORMAT_GROUP)
			p->value[i] = word();
		if (format & PERF_FORMAT_ID)
			p->value_id[i] = word();
		if (format & PERF_FORMAT_LOST)
			p->lost[i] = word();
	}
}

static void parse_middle(struct parsed *p, const struct perf_attr *attr)
{
	u64 type = attr->sample_type, w;

	if (type & PERF_SAMPLE_READ)
		parse_read(p, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		p->chain_nr = word();
		p->chain = words(p->chain_nr);
	}
	if (type & PERF_SAMPLE_RAW) {
		w = word();
		p->raw_size = (u32)w;
		p->raw_data = w >> 32;
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		p->branch_nr = word();
		if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			p->hw_idx = word();
		p->branch = words(3 * p->branch_nr);
	}
	if (type & PERF_SAMPLE_REGS_USER)
		p->regs_user = parse_regs(&p->abi_user, attr->sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER) {
		p->stack_size = word();
		p->stack = (const u8 *)words(p->stack_size / 8);
		if (p->stack_size)
			p->dyn_size = word();
	}
}

static void parse_pair(u64 *low, u64 *high)
{
	u64 w = word();

	*low = (u32)w;
	*high = w >> 32;
}

static struct parsed parse_sample(const void *record, const struct perf_attr *attr)
{
	const struct perf_event_header *h = record;
	struct parsed p = {.type = h->type, .misc = h->misc, .size = h->size};
	u64 type = attr->sample_type;

	next_word = (const u64 *)(h + 1);
	p.identifier = type & PERF_SAMPLE_IDENTIFIER ? word() : 0;
	p.ip = type & PERF_SAMPLE_IP ? word() : 0;
	if (type & PERF_SAMPLE_TID)
		parse_pair(&p.pid, &p.tid);
	p.time = type & PERF_SAMPLE_TIME ? word() : 0;
	p.addr = type & PERF_SAMPLE_ADDR ? word() : 0;
	p.id = type & PERF_SAMPLE_ID ? word() : 0;
	p.stream_id = type & PERF_SAMPLE_STREAM_ID ? word() : 0;
	if (type & PERF_SAMPLE_CPU)
		parse_pair(&p.cpu, &p.res);
	p.period = type & PERF_SAMPLE_PERIOD ? word() : 0;
	parse_middle(&p, attr);
	p.weight = type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) ? word() : 0;
	p.data_src = type & PERF_SAMPLE_DATA_SRC ? word() : 0;
	p.txn = type & PERF_SAMPLE_TRANSACTION ? word() : 0;
	if (type & PERF_SAMPLE_REGS_INTR)
		p.regs_intr = parse_regs(&p.abi_intr, attr->sample_regs_intr);
	p.phys_addr = type & PERF_SAMPLE_PHYS_ADDR ? word() : 0;
	p.cgroup = type & PERF_SAMPLE_CGROUP ? word() : 0;
	p.data_page_size = type & PERF_SAMPLE_DATA_PAGE_SIZE ? word() : 0;
	p.code_page_size = type & PERF_SAMPLE_CODE_PAGE_SIZE ? word() : 0;
	p.aux_size = type & PERF_SAMPLE_AUX ? word() : 0;
	p.left = (u64)((const char *)record + h->size - (const char *)next_word);
	return p;
}

#endif
