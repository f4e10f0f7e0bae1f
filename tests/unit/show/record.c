/* show_record(): each kind of record as a line. */
#include <stdlib.h>
#include "show/record.h"
#include "tests/unit/unit.h"

#define PAIR(low, high) ((u64)(low) | (u64)(high) << 32)
#define HEADER(type, misc, words) ((u64)(type) | (u64)(misc) << 32 | (u64)(words) * 8 << 48)

static const char *shown(const u64 *record, const struct perf_attr *attr)
{
	static char buf[1000];
	size_t n = show_record(buf, sizeof(buf), 0, (const struct perf_event_header *)record, attr);

	expect_long(n, strlen(buf));
	return buf;
}

#define SHOWN(attr, ...) shown((u64[]){__VA_ARGS__}, attr)

static u64 text(const char *s)
{
	u64 v = 0;

	memcpy(&v, s, strlen(s));
	return v;
}

static void test_samples(void)
{
	struct perf_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME};

	expect_str(SHOWN(&attr, HEADER(9, 0x4002, 4), 0x401136, PAIR(7, 8), 1000),
		   "SAMPLE USER EXACT_IP ip=0x401136 pid=7 tid=8 time=1000");
	expect_str(SHOWN(&attr, HEADER(9, 1, 5), 0x401136, PAIR(7, 8), 1000, 0),
		   "SAMPLE KERNEL ip=0x401136 pid=7 tid=8 time=1000 (+8 bytes)");
	expect_str(SHOWN(&attr, HEADER(9, 2, 3), 0x401136, PAIR(7, 8)), "SAMPLE USER ip=0x401136 pid=7 tid=8 (cut)");
	expect_str(SHOWN(&attr, HEADER(9, 2, 0)), "SAMPLE USER (cut)");

	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
			   PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	expect_str(SHOWN(&attr, HEADER(9, 2, 7), 1, 0x20, 3, 4, PAIR(5, 0), 6),
		   "SAMPLE USER identifier=1 addr=0x20 id=3 stream_id=4 cpu=5 res=0 period=6");
	attr.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR |
			   PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
	expect_str(SHOWN(&attr, HEADER(9, 2, 8), 1, 2, 3, 4, 5, 6, 7),
		   "SAMPLE USER weight=1 data_src=0x2 transaction=0x3 phys_addr=0x4 cgroup=5 data_page_size=6 "
		   "code_page_size=7");
}

static void test_sample_parts(void)
{
	struct perf_attr attr = {.sample_type = PERF_SAMPLE_READ,
				 .read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED};

	expect_str(SHOWN(&attr, HEADER(9, 2, 4), 10, 20, 3), "SAMPLE USER read={ value=10 enabled=20 id=3 }");
	attr.read_format |= PERF_FORMAT_GROUP;
	expect_str(SHOWN(&attr, HEADER(9, 2, 7), 2, 20, 10, 3, 11, 4),
		   "SAMPLE USER read={ nr=2 enabled=20 value=10 id=3 value=11 id=4 }");
	attr.sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	expect_str(SHOWN(&attr, HEADER(9, 2, 6), 3, -512ul, 0x10, 0x20, 4),
		   "SAMPLE USER chain=3:{ USER 0x10 0x20 } raw=4:00000000");
	expect_str(SHOWN(&attr, HEADER(9, 2, 3), ~0ul, 0x10),
		   "SAMPLE USER chain=18446744073709551615:{ 0x10 (cut) } raw=0:");
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	expect_str(SHOWN(&attr, HEADER(9, 2, 8), 2, 0x10, 0x20, 5 << 4 | PERF_BR_RET << 20, 0x30, 0x40, 1),
		   "SAMPLE USER branches=2:{ 0x10->0x20/RET/5 0x30->0x40/M }");
	attr.branch_sample_type |= PERF_SAMPLE_BRANCH_HW_INDEX;
	expect_str(SHOWN(&attr, HEADER(9, 2, 3), 0, 7), "SAMPLE USER branches=0:{ hw_idx=0x7 }");
	attr.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_user = 0x101;
	attr.sample_regs_intr = 1 << 23;
	expect_str(SHOWN(&attr, HEADER(9, 2, 9), 2, 0xa, 0x400, 8, 99, 8, 2, 0xf),
		   "SAMPLE USER regs_user=64{ ax=0xa ip=0x400 } stack=8 dyn_size=8 regs_intr=64{ r15=0xf }");
	expect_str(SHOWN(&attr, HEADER(9, 2, 4), 0, 0, 0), "SAMPLE USER regs_user=none{ } stack=0 regs_intr=none{ }");
}

static void test_others(void)
{
	struct perf_attr attr = {.sample_type =
					 PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP};

	expect_str(SHOWN(&attr, HEADER(3, 1 << 13, 4), PAIR(7, 8), text("ls"), 0), "COMM EXEC pid=7 tid=8 comm=\"ls\"");
	attr.sample_id_all = 1;
	expect_str(SHOWN(&attr, HEADER(3, 0, 6), PAIR(7, 8), text("ls"), PAIR(7, 8), 990, 5),
		   "COMM pid=7 tid=8 comm=\"ls\" | pid=7 tid=8 time=990 identifier=5");
	expect_str(SHOWN(&attr, HEADER(1, 2, 9), PAIR(7, 8), 0x1000, 0x2000, 0, text("/bin/ls"), PAIR(7, 8), 990, 5),
		   "MMAP USER pid=7 tid=8 addr=0x1000 len=0x2000 pgoff=0 filename=\"/bin/ls\" | pid=7 tid=8 time=990 "
		   "identifier=5");
	expect_str(SHOWN(&attr, HEADER(99, 0, 6), 1, 2, PAIR(7, 8), 990, 5),
		   "RECORD_99 (16 bytes) | pid=7 tid=8 time=990 identifier=5");
	attr.sample_id_all = 0;
	expect_str(SHOWN(&attr, HEADER(10, 2, 10), PAIR(7, 8), 0x1000, 0x2000, 0, PAIR(8, 1), 77, 0, PAIR(5, 2),
			 text("/bin/l")),
		   "MMAP2 USER pid=7 tid=8 addr=0x1000 len=0x2000 pgoff=0 maj=8 min=1 ino=77 ino_generation=0 prot=5 "
		   "flags=2 "
		   "filename=\"/bin/l\"");
	expect_str(SHOWN(&attr, HEADER(10, 0x6002, 10), PAIR(7, 8), 0x1000, 0x2000, 0, 2 | 0xbbaaul << 32, 0, 0,
			 PAIR(5, 2), text("x")),
		   "MMAP2 USER DATA BUILD_ID pid=7 tid=8 addr=0x1000 len=0x2000 pgoff=0 build_id=aabb prot=5 flags=2 "
		   "filename=\"x\"");
	expect_str(SHOWN(&attr, HEADER(2, 0, 3), 4, 5), "LOST id=4 lost=5");
	expect_str(SHOWN(&attr, HEADER(4, 0, 4), PAIR(7, 1), PAIR(8, 2), 50), "EXIT pid=7 ppid=1 tid=8 ptid=2 time=50");
	expect_str(SHOWN(&attr, HEADER(7, 0, 4), PAIR(7, 1), PAIR(8, 2), 50), "FORK pid=7 ppid=1 tid=8 ptid=2 time=50");
	expect_str(SHOWN(&attr, HEADER(5, 0, 4), 50, 4, 5), "THROTTLE time=50 id=4 stream_id=5");
	expect_str(SHOWN(&attr, HEADER(8, 0, 3), PAIR(7, 8), 12), "READ pid=7 tid=8 read={ value=12 }");
	expect_str(SHOWN(&attr, HEADER(14, 0x6002, 1)), "SWITCH USER OUT PREEMPT");
	expect_str(SHOWN(&attr, HEADER(15, 0, 2), PAIR(7, 8)), "SWITCH_CPU_WIDE next_prev_pid=7 next_prev_tid=8");
	expect_str(SHOWN(&attr, HEADER(16, 0, 5), PAIR(7, 8), 1, 3, 4), "NAMESPACES pid=7 tid=8 dev=3 ino=4");
	expect_str(SHOWN(&attr, HEADER(19, 0, 3), 6, text("/")), "CGROUP id=6 path=\"/\"");
	expect_str(SHOWN(&attr, HEADER(13, 0, 2), 6), "LOST_SAMPLES lost=6");
}

/* Whatever the bytes are, nothing beyond the record is read (under ASan) and the text is terminated. */
static void test_garbage(void)
{
	struct perf_attr attr = {.sample_type = PERF_SAMPLE_KNOWN, .read_format = PERF_FORMAT_KNOWN, .sample_id_all = 1,
				 .sample_regs_user = ~0ul, .sample_regs_intr = ~0ul, .branch_sample_type = ~0ul};
	u64 state = 1;

	for (u32 i = 0; i < 20000; i++) {
		u64 words = i % 30 + 1, *record = malloc(words * 8);
		char buf[200];

		for (u32 w = 0; w < words; w++) {
			state = state * 6364136223846793005ul + 1442695040888963407ul;
			record[w] = state >> (i % 64);
		}
		record[0] = HEADER(i % 24, state >> 48, words);
		expect(show_record(buf, sizeof(buf), 0, (void *)record, &attr) == strlen(buf));
		free(record);
	}
}

int main(void)
{
	test_samples();
	test_sample_parts();
	test_others();
	test_garbage();
	return unit_result();
}
