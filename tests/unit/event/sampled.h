/*
 * What the tests of samples share: one snapshot of known values, events with a ring, and a reader of that. Included
 * once by each test program.
 */
#ifndef TESTS_UNIT_EVENT_SAMPLED_H
#define TESTS_UNIT_EVENT_SAMPLED_H

#include "event/ring.h"
#include "event/sample.h"
#include "tests/abi/parse_sample.h"
#include "tests/unit/event/fake.h"

#define PAGES 64
#define REGS_ALL 0xff0ffful /* without ds, es, fs, gs */

static struct ring *ring;
static u64 read_to; /* head after the last record that was taken */

static const u64 chain[] = {0x1001, 0x1002, 0x1003, 0x1004, 0x1005};
static u8 stack[4096];
static const struct snapshot_regs regs = {
	.gpr = {0xa0, 0xc1, 0xd2, 0xb3, 0x7ff000000000, 0xb5, 0x56, 0xd7, 8, 9, 10, 11, 12, 13, 14, 15},
	.rip = 0x401000,
	.rflags = 0x246,
};
static const struct snapshot_branch branches[] = {
	{0x10, 0x11, PERF_BR_COND, 5}, {0x20, 0x21, PERF_BR_UNCOND, 0}, {0x30, 0x31, PERF_BR_IND, 70000},
	{0x40, 0x41, PERF_BR_CALL, 0}, {0x50, 0x51, PERF_BR_IND_CALL, 0}, {0x60, 0x61, PERF_BR_RET, 9},
};
static const struct snapshot_branch calls[] = {{0x70, 0x71, PERF_BR_CALL, 0}, {0x80, 0x81, PERF_BR_IND_CALL, 0}};

static inline struct snapshot snapshot_of(void)
{
	return (struct snapshot){
		.task = 1, .ip = 0x401000, .exact = true, .cpu = 1, .time = 777, .addr = 0xadd7, .weight = 33,
		.txn = 44, .code_page_size = 4096, .data_page_size = 2097152, .cgroup = 55, .regs = &regs,
		.chain = chain, .nr_chain = ARRAY_SIZE(chain), .stack = stack, .stack_size = sizeof(stack),
		.branch = branches, .nr_branch = ARRAY_SIZE(branches), .call = calls, .nr_call = ARRAY_SIZE(calls),
	};
}

/* ---- events and their ring ---- */

static inline struct event *event_of(long fd)
{
	return event_slot(event_files_lookup(fake_current, (u64)fd));
}

static inline void attach_ring(long fd)
{
	event_lock();
	ring = ring_new(PAGES, false, 0);
	ring_attach(event_of(fd), ring);
	event_unlock();
	read_to = 0;
}

static inline struct perf_attr sampling(u64 type)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);

	attr.sample_type = type;
	attr.sample_regs_user = attr.sample_regs_intr = REGS_ALL;
	attr.sample_stack_user = 256;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	return attr;
}

static inline long open_attr(struct perf_attr *attr)
{
	long fd = fake_open(attr, 0, -1, -1, 0);

	expect(fd > 0);
	attach_ring(fd);
	return fd;
}

/* The next record of the ring, copied out; NULL: there is none. The ring is as empty as it was afterwards. */
static inline void *take_record(void)
{
	static u64 copy[8192 + 8];
	struct perf_event_mmap_page *page = ring_page(ring);
	u8 *data = (u8 *)page + PAGE_SIZE;
	u64 mask = PAGES * PAGE_SIZE - 1;
	u32 size;

	if (page->data_head == read_to)
		return NULL;
	size = ((struct perf_event_header *)(data + (read_to & mask)))->size;
	memset(copy, 0xee, sizeof(copy));
	for (u32 i = 0; i < size; i++)
		((u8 *)copy)[i] = data[(read_to + i) & mask];
	read_to += size;
	page->data_tail = read_to;
	expect(page->data_head >= read_to);
	return copy;
}

static inline void write_sample(struct event *e, const struct snapshot *snap, u64 period)
{
	event_lock();
	sample_write(e, snap, period, 1); /* POLL_IN */
	event_unlock();
}

static inline struct parsed sample(long fd, const struct snapshot *snap)
{
	void *record;

	write_sample(event_of(fd), snap, 1234);
	record = take_record();
	expect(record != NULL);
	return parse_sample(record, &event_of(fd)->attr);
}

static inline void done(long fd)
{
	event_lock();
	ring_attach(event_of(fd), NULL);
	event_unlock();
	expect_empty();
}

/* A new session in which they are taken. */
static inline void sample_session(void)
{
	for (u32 i = 0; i < sizeof(stack); i++)
		stack[i] = (u8)(i * 7 + 1);
	fake_session();
}

#endif
