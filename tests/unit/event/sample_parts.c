/*
 * The parts of samples whose size depends on what is found: READ, call chains, branches, registers, the stack, and what
 * fits into one record.
 * covers: PERF_SAMPLE_BRANCH_ABORT_TX, PERF_SAMPLE_BRANCH_IN_TX, PERF_SAMPLE_BRANCH_NO_TX, PERF_SAMPLE_BRANCH_KERNEL
 */
#include "tests/unit/event/sampled.h"

/* ---- READ ---- */

#define READ_ALL                                                                                                       \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | PERF_FORMAT_LOST)

static void test_read_one(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_READ | PERF_SAMPLE_IP);
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd;

	attr.read_format = READ_ALL;
	fd = open_attr(&attr);
	run(1, 300);
	event_of(fd)->lost = 6;
	p = sample(fd, &snap);
	expect_long(p.left, 0);
	expect_long(p.value[0], 300);
	expect_long(p.enabled, 300);
	expect_long(p.running, 300);
	expect_long(p.value_id[0], event_of(fd)->id);
	expect_long(p.lost[0], 6);
	done(fd);
}

/* Each member counts for itself; the times are those of the one that is sampled. */
static void test_read_group(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_READ);
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd, sibling;

	attr.read_format = READ_ALL | PERF_FORMAT_GROUP;
	fd = fake_open(&attr, 0, -1, -1, 0);
	run(1, 100);
	attr.config = 1;
	sibling = fake_open(&attr, 0, -1, (s32)fd, 0);
	attr.config = 2; /* in quarters */
	expect(fake_open(&attr, 0, -1, (s32)fd, 0) > 0);
	attach_ring(sibling);
	run(1, 1000);
	p = sample(sibling, &snap);
	expect_long(p.left, 0);
	expect_long(p.nr, 3);
	expect_long(p.enabled, 1000);
	expect_long(p.value[0], 1100);
	expect_long(p.value[1], 500);
	expect_long(p.value[2], 250);
	expect_long(p.value_id[0], event_of(fd)->id);
	expect_long(p.value_id[1], event_of(sibling)->id);
	done(sibling);
}

/* Records of a child go to its root's ring and name the root; what it counted is its own. */
static void test_inherited(void)
{
	u64 type = PERF_SAMPLE_READ | PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER;
	struct perf_attr attr = sampling(type);
	struct snapshot snap = snapshot_of();
	struct event *root, *child;
	struct parsed p;
	long fd;

	attr.inherit = 1;
	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
	fd = open_attr(&attr);
	run(1, 1000);
	fake_fork(1, 2, 0);
	run(2, 70);
	root = event_of(fd);
	child = event_slot(root->children.first);
	snap.task = 2;
	write_sample(child, &snap, 1);
	p = parse_sample(take_record(), &attr);
	expect_long(p.pid, 1002);
	expect_long(p.identifier, root->id);
	expect_long(p.id, root->id);
	expect_long(p.stream_id, child->id);
	expect_long(p.value[0], 70);
	expect_long(p.enabled, 70);
	expect_long(p.value_id[0], root->id);
	fake_exit(2);
	snap.task = 1;
	p = sample(fd, &snap);
	expect_long(p.value[0], 1000);
	expect_long(p.enabled, 1070); /* Linux quirk: see event/sample_parts.c */
	expect_long(p.stream_id, root->id);
	done(fd);
}

/* What counts a CPU is one event to its reader, whichever task is sampled. */
static void test_per_cpu(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_READ | PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID);
	struct snapshot snap = snapshot_of();
	struct event *root;
	struct parsed p;
	long fd;

	attr.read_format = PERF_FORMAT_ID;
	event_sysctl()->paranoid = -1;
	fd = fake_open(&attr, -1, 0, -1, 0);
	expect(fd > 0);
	attach_ring(fd);
	fake_fork(1, 2, 0);
	run(1, 30);
	run(2, 12);
	root = event_of(fd);
	for (u32 nr = root->children.first; nr; nr = event_slot(nr)->in_family.next) {
		write_sample(event_slot(nr), &snap, 1);
		p = parse_sample(take_record(), &attr);
		expect_long(p.value[0], 42);
		expect_long(p.value_id[0], root->id);
		expect_long(p.id, root->id);
		expect_long(p.stream_id, root->id);
	}
	fake_exit(2);
	event_sysctl()->paranoid = 2;
	done(fd);
}

/* ---- CALLCHAIN ---- */

static void test_chain_limits(void)
{
	static const struct {
		u16 max_stack;
		u32 contexts, have, nr;
	} table[] = {{127, 8, 5, 7}, {127, 8, 0, 2}, {3, 8, 5, 4}, {1, 8, 5, 2}, {127, 0, 5, 0}};
	struct perf_attr attr = sampling(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IP);
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd;

	for (u32 i = 0; i < ARRAY_SIZE(table); i++) {
		attr.sample_max_stack = table[i].max_stack;
		fd = open_attr(&attr);
		event_sysctl()->max_contexts_per_stack = (s32)table[i].contexts;
		snap.nr_chain = table[i].have;
		p = sample(fd, &snap);
		event_sysctl()->max_contexts_per_stack = 8;
		expect_long(p.left, 0);
		expect_long(p.chain_nr, table[i].nr);
		if (p.chain_nr > 1)
			expect_long(p.chain[1], p.ip);
		done(fd);
	}
	attr.exclude_callchain_user = 1;
	fd = open_attr(&attr);
	p = sample(fd, &snap);
	expect_long(p.chain_nr, 0);
	expect_long(p.left, 0);
	done(fd);
}

/* ---- BRANCH_STACK ---- */

/* mask, and the branches that are chosen, as bits of their places. */
static void test_branch_filters(void)
{
	static const struct {
		u64 mask;
		u32 chosen;
	} table[] = {
		{PERF_SAMPLE_BRANCH_ANY, 0x3f},
		{PERF_SAMPLE_BRANCH_COND, 1},
		{PERF_SAMPLE_BRANCH_IND_JUMP, 4},
		{PERF_SAMPLE_BRANCH_ANY_CALL, 0x18},
		{PERF_SAMPLE_BRANCH_CALL, 8},
		{PERF_SAMPLE_BRANCH_IND_CALL, 0x10},
		{PERF_SAMPLE_BRANCH_ANY_RETURN, 0x20},
		{PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_ANY_RETURN, 0x21},
		{PERF_SAMPLE_BRANCH_ABORT_TX, 0},
		{PERF_SAMPLE_BRANCH_NO_FLAGS, 0},
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_IN_TX, 0},
		{PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_TX, 0x3f},
	};
	struct perf_attr attr = sampling(PERF_SAMPLE_BRANCH_STACK);
	struct snapshot snap = snapshot_of();

	for (u32 i = 0; i < ARRAY_SIZE(table); i++) {
		struct parsed p;
		u32 n = 0;
		long fd;

		attr.branch_sample_type = table[i].mask | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_NO_CYCLES;
		fd = open_attr(&attr);
		p = sample(fd, &snap);
		expect_long(p.left, 0);
		expect_long(p.branch_nr, __builtin_popcount(table[i].chosen));
		for (u32 b = 0; b < ARRAY_SIZE(branches); b++)
			if (table[i].chosen >> b & 1) {
				expect_long(p.branch[n++], branches[b].from);
				expect_long(p.branch[n++], branches[b].to);
				expect_long(p.branch[n++], 0);
			}
		done(fd);
	}
}

static void test_branch_extras(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_BRANCH_STACK);
	struct snapshot_branch many[40];
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd;

	for (u32 i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct snapshot_branch){i, i + 1, PERF_BR_RET, i};
	snap.branch = many;
	snap.nr_branch = ARRAY_SIZE(many);
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX |
				  PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_PRIV_SAVE;
	fd = open_attr(&attr);
	p = sample(fd, &snap);
	expect_long(p.left, 0);
	expect_long(p.hw_idx, -1);
	expect_long(p.branch_nr, 32);
	for (u32 i = 0; i < 32; i++) {
		expect_long(p.branch[3 * i], i);
		expect_long(p.branch[3 * i + 2], i << 4 | PERF_BR_RET << 20 | (u64)PERF_BR_PRIV_USER << 30);
	}
	done(fd);

	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
	fd = open_attr(&attr);
	p = sample(fd, &snap);
	expect_long(p.branch_nr, ARRAY_SIZE(calls));
	expect_long(p.branch[0], 0x70);
	expect_long(p.branch[3], 0x80);
	done(fd);

	attr.branch_sample_type = PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY;
	fd = open_attr(&attr);
	expect_long(sample(fd, &snap).branch_nr, 0);
	done(fd);
}

/* ---- registers, stack, sizes ---- */

static void test_no_regs(void)
{
	struct perf_attr attr = sampling(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_STACK_USER);
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd = open_attr(&attr);

	snap.regs = NULL;
	p = sample(fd, &snap);
	expect_long(p.size, 8 + 3 * 8);
	expect_long(p.abi_user | p.abi_intr | p.stack_size, 0);
	done(fd);
}

static void test_stack_limits(void)
{
	static const struct {
		u64 sp;
		u32 asked, found, size, dyn;
	} table[] = {
		{0x7ff000000000, 256, 4096, 256, 256}, {0x7ff000000000, 256, 100, 256, 100},
		{0x7ff000000000, 4096, 0, 4096, 0},    {0x7ffffffff000 - 64, 256, 64, 64, 64},
		{0x7ffffffff000 - 60, 256, 60, 56, 56}, {0x7ffffffff000, 256, 0, 0, 0},
		{~0ul, 256, 0, 0, 0},		       {0, 256, 0, 0, 0},
		{0x7ff000000000, 0, 4096, 0, 0},
	};
	struct perf_attr attr = sampling(PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT);
	struct snapshot_regs at = regs;
	struct snapshot snap = snapshot_of();

	snap.regs = &at;
	for (u32 i = 0; i < ARRAY_SIZE(table); i++) {
		struct parsed p;
		long fd;

		attr.sample_stack_user = table[i].asked;
		at.gpr[4] = table[i].sp;
		snap.stack_size = table[i].found;
		fd = open_attr(&attr);
		p = sample(fd, &snap);
		expect_long(p.left, 0);
		expect_long(p.stack_size, table[i].size);
		expect_long(p.dyn_size, table[i].dyn);
		expect(!memcmp(p.stack, stack, p.dyn_size));
		for (u64 b = p.dyn_size; b < p.stack_size; b++)
			expect_long(p.stack[b], 0);
		expect_long(p.weight, 33);
		done(fd);
	}
}

/* A record has at most 65528 bytes, whatever is asked for. */
static void test_largest(void)
{
	static u64 long_chain[10000];
	struct perf_attr attr = sampling(PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR);
	struct snapshot snap = snapshot_of();
	struct parsed p;
	long fd;

	attr.sample_stack_user = 65528;
	fd = open_attr(&attr);
	p = sample(fd, &snap);
	expect_long(p.size, 65528);
	expect_long(p.left, 0);
	expect_long(p.stack_size, 65528 - 8 - 8 - 16 - 8 * (1 + __builtin_popcountl(REGS_ALL)));
	expect_long(p.abi_intr, PERF_SAMPLE_REGS_ABI_64);
	done(fd);

	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr.sample_max_stack = 20000;
	event_sysctl()->max_stack = 20000;
	snap.chain = long_chain;
	snap.nr_chain = ARRAY_SIZE(long_chain);
	fd = open_attr(&attr);
	p = sample(fd, &snap);
	expect_long(p.left, 0);
	expect(p.size <= 65528 && p.chain_nr > 8000 && p.stack_size == 0);
	event_sysctl()->max_stack = 127;
	done(fd);
}

int main(void)
{
	sample_session();
	test_read_one();
	test_read_group();
	test_inherited();
	test_per_cpu();
	test_chain_limits();
	test_branch_filters();
	test_branch_extras();
	test_no_regs();
	test_stack_limits();
	test_largest();
	return unit_result();
}
