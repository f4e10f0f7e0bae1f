/*
 * PERF_RECORD_SAMPLE, LOST and the sample_id trailers, byte by byte: every sample_type bit alone, all of them, and
 * random sets, read back by a parser that follows the man page field by field and knows nothing of the writer.
 * covers: PERF_SAMPLE_REGS_ABI_NONE, attr.precise_ip*, PERF_RECORD_MISC_EXACT_IP
 */
#include "tests/unit/event/sampled.h"

#define TYPE_ALL (PERF_SAMPLE_KNOWN & ~(u64)PERF_SAMPLE_WEIGHT_STRUCT)
#define DATA_SRC_NA 0x1e05080021ul /* what Linux 6.18 gives */

/* The same in the order of asm/perf_regs.h. */
static const u64 regs_in_order[24] = {
	0xa0, 0xb3, 0xc1, 0xd2, 0x56, 0xd7, 0xb5, 0x7ff000000000, 0x401000, 0x246, 0x33, 0x2b, 0, 0, 0, 0,
	8, 9, 10, 11, 12, 13, 14, 15,
};

/* ---- expectations ---- */

static void expect_regs(u64 abi, const u64 *got, u64 mask)
{
	u32 n = 0;

	expect_long(abi, PERF_SAMPLE_REGS_ABI_64);
	for (u32 i = 0; i < 24; i++)
		if (mask >> i & 1)
			expect_long(got[n++], regs_in_order[i]);
}

static void expect_front(const struct parsed *p, const struct event *e, u64 type)
{
	expect_long(p->identifier, type & PERF_SAMPLE_IDENTIFIER ? e->id : 0);
	expect_long(p->ip, type & PERF_SAMPLE_IP ? 0x401000 : 0);
	expect_long(p->pid, type & PERF_SAMPLE_TID ? 1001 : 0);
	expect_long(p->tid, type & PERF_SAMPLE_TID ? 1001 : 0);
	expect_long(p->time, type & PERF_SAMPLE_TIME ? 777 : 0);
	expect_long(p->addr, type & PERF_SAMPLE_ADDR ? 0xadd7 : 0);
	expect_long(p->id, type & PERF_SAMPLE_ID ? e->id : 0);
	expect_long(p->stream_id, type & PERF_SAMPLE_STREAM_ID ? e->id : 0);
	expect_long(p->cpu, type & PERF_SAMPLE_CPU ? 1 : 0);
	expect_long(p->res, 0);
	expect_long(p->period, type & PERF_SAMPLE_PERIOD ? 1234 : 0);
}

static void expect_middle(const struct parsed *p, u64 type)
{
	if (type & PERF_SAMPLE_CALLCHAIN) {
		expect_long(p->chain_nr, 2 + ARRAY_SIZE(chain));
		expect_long(p->chain[0], PERF_CONTEXT_USER);
		expect_long(p->chain[1], 0x401000);
		expect(!memcmp(p->chain + 2, chain, sizeof(chain)));
	}
	expect_long(p->raw_size, type & PERF_SAMPLE_RAW ? 4 : 0);
	expect_long(p->raw_data, 0);
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		expect_long(p->branch_nr, ARRAY_SIZE(branches));
		for (u32 i = 0; i < ARRAY_SIZE(branches); i++) {
			expect_long(p->branch[3 * i], branches[i].from);
			expect_long(p->branch[3 * i + 1], branches[i].to);
			expect_long(p->branch[3 * i + 2], MIN(branches[i].cycles, 65535u) << 4);
		}
	}
	if (type & PERF_SAMPLE_REGS_USER)
		expect_regs(p->abi_user, p->regs_user, REGS_ALL);
	if (type & PERF_SAMPLE_STACK_USER) {
		expect_long(p->stack_size, 256);
		expect_long(p->dyn_size, 256);
		expect(!memcmp(p->stack, stack, 256));
	}
}

static void expect_back(const struct parsed *p, u64 type)
{
	expect_long(p->weight, type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) ? 33 : 0);
	expect_long(p->data_src, type & PERF_SAMPLE_DATA_SRC ? DATA_SRC_NA : 0);
	expect_long(p->txn, type & PERF_SAMPLE_TRANSACTION ? 44 : 0);
	if (type & PERF_SAMPLE_REGS_INTR)
		expect_regs(p->abi_intr, p->regs_intr, REGS_ALL);
	expect_long(p->phys_addr, 0);
	expect_long(p->cgroup, type & PERF_SAMPLE_CGROUP ? 55 : 0);
	expect_long(p->data_page_size, type & PERF_SAMPLE_DATA_PAGE_SIZE ? 2097152 : 0);
	expect_long(p->code_page_size, type & PERF_SAMPLE_CODE_PAGE_SIZE ? 4096 : 0);
	expect_long(p->aux_size, 0);
}

static void test_type_precise(u64 type, u32 precise_ip)
{
	struct perf_attr attr = sampling(type);
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd;

	attr.precise_ip = precise_ip & 3;
	fd = open_attr(&attr);
	p = sample(fd, &snap);
	expect_long(p.type, PERF_RECORD_SAMPLE);
	expect_long(p.misc, PERF_RECORD_MISC_USER | (precise_ip ? PERF_RECORD_MISC_EXACT_IP : 0));
	expect_long(p.left, 0);
	expect_front(&p, event_of(fd), type);
	expect_middle(&p, type);
	expect_back(&p, type);
	expect(!take_record());
	done(fd);
}

static void test_type(u64 type)
{
	static u32 turn;

	test_type_precise(type, turn++ % 4);
}

static void test_types(void)
{
	u64 state = 1, type;

	test_type(0);
	for (u32 bit = 0; bit < 25; bit++)
		test_type(1ul << bit);
	test_type(TYPE_ALL);
	test_type((TYPE_ALL | PERF_SAMPLE_WEIGHT_STRUCT) & ~(u64)PERF_SAMPLE_WEIGHT);
	for (u32 i = 0; i < 500; i++) {
		state = state * 6364136223846793005ul + 1442695040888963407ul;
		type = state >> 30 & TYPE_ALL;
		test_type(type);
	}
}

/* The whole record of many fields, as the man page lists them, written out by hand. */
static void test_bytes(void)
{
	u64 type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		   PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
		   PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_PHYS_ADDR;
	struct perf_attr attr = sampling(type);
	struct snapshot snap = snapshot_of();
	long fd;
	u64 id;

	attr.sample_regs_user = 1ul << 7 | 1ul << 8; /* sp, ip */
	attr.sample_stack_user = 16;
	attr.precise_ip = 1;
	attr.read_format = PERF_FORMAT_ID;
	memcpy(stack, "0123456789abcdef", 16);
	snap.nr_chain = 1;
	fd = open_attr(&attr);
	run(1, 500);
	id = event_of(fd)->id;
	write_sample(event_of(fd), &snap, 1);
	expect(!memcmp(take_record(),
		       (u64[]){PERF_RECORD_SAMPLE | 0x4002ul << 32 | 22ul * 8 << 48, id, 0x401000, 1001 | 1001ul << 32,
			       777, 1, 500, id, 3, -512ul, 0x401000, 0x1001, 4, PERF_SAMPLE_REGS_ABI_64,
			       0x7ff000000000, 0x401000, 16, 0x3736353433323130, 0x6665646362613938, 16, 33, 0},
		       22 * 8));
	done(fd);
}

/* ---- modes, clocks, trailers, LOST ---- */

static void test_kernel(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR);
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd = open_attr(&attr);

	snap.kernel = true;
	snap.exact = false;
	p = sample(fd, &snap);
	expect_long(p.misc, PERF_RECORD_MISC_KERNEL);
	expect_long(p.abi_user, PERF_SAMPLE_REGS_ABI_64);
	expect_long(p.abi_intr, PERF_SAMPLE_REGS_ABI_NONE);
	expect(sample_excluded(&attr, &snap));
	attr.exclude_kernel = 0;
	expect(!sample_excluded(&attr, &snap));
	attr.exclude_user = 1;
	snap.kernel = false;
	expect(sample_excluded(&attr, &snap));
	done(fd);
}

static void test_clocks(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_TIME);
	struct snapshot snap = snapshot_of();
	long fd = open_attr(&attr);

	snap.time = 0;
	expect_long(sample(fd, &snap).time, fake_mono);
	done(fd);
	attr.use_clockid = 1;
	attr.clockid = 4; /* CLOCK_MONOTONIC_RAW */
	fd = open_attr(&attr);
	snap.time = 777;
	expect_long(sample(fd, &snap).time, fake_mono + 4000000);
	expect_long(sample_clock(event_of(fd)), fake_mono + 4000000);
	done(fd);
}

/* The trailer's order is not the sample's. */
static void test_trailer(void)
{
	struct perf_attr attr =
		sampling(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD |
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	struct sample_id_of of = {7, 8, 9, 1};
	struct ring_out o;
	struct event *e;
	u64 want[6], *got;
	long fd = open_attr(&attr);

	expect_long(sample_id_size(event_of(fd)), 0);
	done(fd);
	attr.sample_id_all = 1;
	fd = open_attr(&attr);
	e = event_of(fd);
	expect_long(sample_id_size(e), 48);
	event_lock();
	expect(ring_begin(&o, e, 56));
	ring_u64(&o, 2 | 56ul << 48);
	sample_id_write(&o, e, &of);
	ring_end(&o, 0);
	event_unlock();
	got = take_record();
	memcpy(want, (u64[]){7 | 8ul << 32, 9, e->id, e->id, 1, e->id}, sizeof(want));
	expect(!memcmp(got + 1, want, sizeof(want)));
	done(fd);
}

/* A LOST record stands in front of the next one that finds room, and read(2) tells how many there were. */
static void test_lost(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_TID | PERF_SAMPLE_STACK_USER);
	struct perf_event_mmap_page *page;
	struct snapshot snap = snapshot_of();
	u64 values[2], *record;
	u32 lost = 0;
	long fd;

	attr.sample_id_all = 1;
	attr.sample_stack_user = 65528;
	attr.read_format = PERF_FORMAT_LOST;
	fd = open_attr(&attr);
	page = ring_page(ring);
	for (u64 head = ~0ul; lost < 3; lost += page->data_head == head) {
		head = page->data_head;
		write_sample(event_of(fd), &snap, 1);
	}
	while (take_record())
		;
	write_sample(event_of(fd), &snap, 1);
	record = take_record();
	expect_long((u32)record[0], PERF_RECORD_LOST);
	expect_long(record[0] >> 48, 32);
	expect_long(record[1], event_of(fd)->id);
	expect_long(record[2], 3);
	expect_long(record[3], 1001 | 1001ul << 32);
	expect_long((u32)*(u64 *)take_record(), PERF_RECORD_SAMPLE);
	expect_long(event_read(1, (u64)fd, values, sizeof(values)), 16);
	expect_long(values[1], 3);
	done(fd);
}

static void test_needs(void)
{
	struct perf_attr attr =
		sampling(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_RAW);

	expect_long(sample_needs(&attr), 0);
	attr.sample_type = TYPE_ALL;
	expect_long(sample_needs(&attr), SNAPSHOT_REGS | SNAPSHOT_CHAIN | SNAPSHOT_STACK | SNAPSHOT_BRANCHES |
						 SNAPSHOT_ADDR | SNAPSHOT_PAGES | SNAPSHOT_CGROUP | SNAPSHOT_CPU);
	attr.branch_sample_type |= PERF_SAMPLE_BRANCH_CALL_STACK;
	expect(sample_needs(&attr) & SNAPSHOT_BRANCH_CALLS &&
	       !(sample_needs(&attr) & (SNAPSHOT_BRANCHES | SNAPSHOT_CALLS)));
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	expect_long(sample_needs(&attr), SNAPSHOT_CHAIN);
	attr.config1 = 1;
	expect_long(sample_needs(&attr), SNAPSHOT_CALLS);
	attr.config1 = 0;
	event_space->call_stacks = 1;
	expect_long(sample_needs(&attr), SNAPSHOT_CALLS);
	event_space->call_stacks = 0;
	attr.exclude_callchain_user = 1;
	expect_long(sample_needs(&attr), 0);
	attr.sample_type = PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = 0;
	expect_long(sample_needs(&attr), 0);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.sample_type = PERF_SAMPLE_ADDR;
	expect_long(sample_needs(&attr), 0);
}

int main(void)
{
	sample_session();
	test_types();
	test_bytes();
	test_kernel();
	test_clocks();
	test_trailer();
	test_lost();
	test_needs();
	return unit_result();
}
