/* Tracepoints: the virtual tracefs, the driver that takes its ids, and the records that its format files describe. */
#include "pmu/tracefs.h"
#include "pmu/tracepoint.h"
#include "tests/unit/pmu/fake.h"

#define EVENTS "/sys/kernel/tracing/events"

static void (*const tracepoints)(void) __attribute__((used)) = tp_pmu_init;

static const char *text_of(const char *path)
{
	static char text[TRACEFS_TEXT];
	long n = tracefs_read(path, text, sizeof(text));

	expect(n < (long)sizeof(text));
	return n < 0 ? (n == -EISDIR ? "(directory)" : "(nothing)") : text;
}

static void test_paths(void)
{
	static const char *const nothing[] = {
		"/sys/kernel/tracing/trace", EVENTS "/irq", EVENTS "/sched/sched_waking",
		EVENTS "/sched/sched_switch/id", EVENTS "/syscalls/sys_enter_", EVENTS "/syscalls/sys_enter_nosuch",
		EVENTS "/syscalls/sys_enter", EVENTS "/syscalls/sys_enter_read/enable",
		EVENTS "/syscalls/sys_enter_read/id/x", EVENTS "/raw_syscalls/sys_enter_read", EVENTS "/header_page/x",
		EVENTS "/syscalls/sys_enter_rea", EVENTS "/syscalls/sys_enter_readx", "/sys/kernel/tracin",
		"/sys/kernel/tracingx", "/sys/kernel", "", "/",
	};

	for (u32 i = 0; i < ARRAY_SIZE(nothing); i++) {
		expect_long(tracefs_find(nothing[i]), PMU_NODE_NONE);
		expect_str(text_of(nothing[i]), "(nothing)");
	}
	expect(tracefs_has("/sys/kernel/tracing/trace"));
	expect_str(tracefs_missing("/sys/kernel/debug/tracing/events/signal/signal_generate/id"),
		   "signal:signal_generate happens inside the kernel, where pcl does not see it");
	expect(!tracefs_missing("/sys/kernel/tracing/events/signal/signal_generated/id"));
	expect(!tracefs_missing("/sys/kernel/events/signal/signal_generate/id"));
	expect(tracefs_has("/sys/kernel/debug/tracing"));
	expect(!tracefs_has("/sys/kernel/tracingx"));
	expect(!tracefs_has("/sys/kernel/debug"));
	expect_str(text_of("/sys/kernel/tracing"), "(directory)");
	expect_str(text_of(EVENTS "/ftrace"), "(directory)");
	expect_str(text_of(EVENTS "/syscalls/sys_exit_read/"), "(directory)");
	expect_str(text_of(EVENTS "/raw_syscalls/sys_enter/id"), "16\n");
	expect_str(text_of("/sys/kernel/debug/tracing/events/syscalls/sys_exit_read/id"), "33\n");
	expect_str(text_of(EVENTS "/sched"), "(directory)");
	expect(strstr(text_of(EVENTS "/sched/sched_switch/format"),
		      "ID: 24\nformat:\n\tfield:unsigned short common_type;"));
	expect(strstr(text_of(EVENTS "/ftrace/function/format"), "field:unsigned long ip;"));
	expect_str(text_of(EVENTS "/sched/sched_process_exec/id"), "1101\n");
	expect(strstr(text_of(EVENTS "/task/task_rename/format"),
		      "\tfield:char oldcomm[16];\toffset:12;\tsize:16;\tsigned:0;\n"));
	expect_str(text_of(EVENTS "/task/sched_process_exec/id"), "(nothing)");
	expect_str(text_of(EVENTS "/signal"), "(directory)");
}

#define COMMON                                                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                 \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* As Linux prints them, but for the ids. */
static void test_formats(void)
{
	expect_str(text_of(EVENTS "/syscalls/sys_enter_read/format"),
		   "name: sys_enter_read\nID: 32\nformat:\n" COMMON
		   "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		   "\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n"
		   "\tfield:char * buf;\toffset:24;\tsize:8;\tsigned:0;\n"
		   "\tfield:size_t count;\toffset:32;\tsize:8;\tsigned:0;\n"
		   "\nprint fmt: \"fd: 0x%08lx, buf: 0x%08lx, count: 0x%08lx\", ((unsigned long)(REC->fd)), "
		   "((unsigned long)(REC->buf)), ((unsigned long)(REC->count))\n");
	expect_str(text_of(EVENTS "/syscalls/sys_enter_getppid/format"),
		   "name: sys_enter_getppid\nID: 252\nformat:\n" COMMON
		   "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n");
	expect_str(text_of(EVENTS "/syscalls/sys_exit_read/format"),
		   "name: sys_exit_read\nID: 33\nformat:\n" COMMON
		   "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		   "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n\nprint fmt: \"0x%lx\", REC->ret\n");
	expect_str(text_of(EVENTS "/raw_syscalls/sys_enter/format"),
		   "name: sys_enter\nID: 16\nformat:\n" COMMON "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		   "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n"
		   "\nprint fmt: \"NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)\", "
		   "REC->id, REC->args[0], REC->args[1], REC->args[2], "
		   "REC->args[3], REC->args[4], REC->args[5]\n");
	expect_str(text_of(EVENTS "/raw_syscalls/sys_exit/format"),
		   "name: sys_exit\nID: 17\nformat:\n" COMMON "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		   "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n\n"
		   "print fmt: \"NR %ld = %ld\", REC->id, REC->ret\n");
}

static int driver_takes(u64 id, struct event_source *s, bool exclude_kernel)
{
	struct perf_attr a = {.type = PERF_TYPE_TRACEPOINT, .config = id, .exclude_kernel = exclude_kernel};
	u32 nr;

	return pmu_find(&a, &nr, s);
}

static u64 word_of(const struct tracepoint_record *r, u32 offset, u32 size)
{
	u64 value = 0;

	memcpy(&value, r->data + offset, size);
	return value;
}

/* The record ends where its last field ends, and the fields of the table's row are as many as it says. */
static void check_record(const struct tracepoint *tp)
{
	u64 values[TRACE_ARGS] = {1, 2, 3, 4, 5, 6}, last;
	struct tracepoint_field f = {0};
	struct tracepoint_record r;
	u32 n = 0, end;

	if (tp->kind == TRACE_TASK) /* tests/abi/tracepoint_tasks.c sees those */
		return;
	while (tracepoint_field(tp, n, &f))
		n++;
	tracepoint_field(tp, n - 1, &f);
	end = MAX(f.offset + f.size, 16);
	memset(&r, 0xee, sizeof(r));
	tracepoint_fill(tp, tp->nr, 77, values, &r);
	expect_long((r.size + sizeof(r.size)) % 8, 0);
	expect_long(r.size, end + 4);
	expect_long(word_of(&r, 0, 2), tracepoint_id(tp->kind, tp->nr));
	expect_long(word_of(&r, 4, 4), 77);
	expect_long(word_of(&r, 8, 8), tp->nr);
	last = word_of(&r, end - 8, 8);
	if (end > 16)
		expect_long(last, tp->kind == TRACE_ENTER ? tp->nr_args : tp->kind == TRACE_RAW_ENTER ? TRACE_ARGS : 1);
	if (tp->kind == TRACE_ENTER)
		expect_long(n, 5 + tp->nr_args);
	expect_long(f.name_len > 0 && f.type_len > 0, 1);
}

/* Everything that is listed exists; every id is another one, and the driver takes it. */
static u32 walk(const char *dir)
{
	static u8 seen[65536];
	char name[TRACEFS_NAME];
	enum pmu_node kind;
	u32 n = 0;

	for (u32 i = 0; (kind = tracefs_entry(dir, i, name)) != PMU_NODE_NONE; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", dir, name);
		expect_long(tracefs_find(path), kind);
		expect(strcmp(name, "ftrace"));
		if (kind == PMU_NODE_DIR) {
			n += walk(path);
		} else if (!strcmp(name, "id")) {
			long id = strtol(text_of(path), NULL, 10);
			struct event_source s;
			struct tracepoint tp;

			expect(id > 0 && id < 65536 && !seen[id]);
			seen[id] = 1;
			expect_long(driver_takes((u64)id, &s, false), 0);
			expect_long(s.source, id);
			expect(s.hits && s.units);
			expect(tracepoint_by_id((u64)id, &tp));
			check_record(&tp);
			n++;
		}
	}
	return n;
}

/* Each event that has an id, and nothing else. */
static void test_available(u32 n)
{
	char path[256], *text = strdup(text_of("/sys/kernel/debug/tracing/available_events"));

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n--) {
		char *colon = strchr(line, ':');

		expect(colon);
		snprintf(path, sizeof(path), EVENTS "/%.*s/%s/id", (int)(colon - line), line, colon + 1);
		expect_long(tracefs_find(path), PMU_NODE_FILE);
	}
	expect_long(n, 0);
	free(text);
}

static void test_driver(void)
{
	struct perf_attr a = {.type = PERF_TYPE_TRACEPOINT, .config = 16, .sample_type = PERF_SAMPLE_BRANCH_STACK};
	struct event_source s;
	u32 nr;

	expect_long(driver_takes(0, &s, false), -EINVAL);
	expect_long(driver_takes(18, &s, false), -EINVAL);
	expect_long(driver_takes(31, &s, false), -EINVAL);
	expect_long(driver_takes(32 + 2 * 512, &s, false), -EINVAL);
	expect_long(driver_takes(~0ul, &s, false), -EINVAL);
	expect_long(driver_takes(1ul << 32 | 16, &s, false), -EINVAL);
	expect_long(pmu_find(&a, &nr, &s), -EOPNOTSUPP);
	/* What attr.exclude_kernel leaves of the raw ones is nothing. */
	expect_long(driver_takes(16, &s, true), 0);
	expect_long(s.units, 0);
	expect_long(driver_takes(33, &s, true), 0);
	expect(s.units);
	expect_long(driver_takes(1100, &s, true), 0);
	expect_long(s.units, 0);
	expect_long(driver_takes(1100 + 7, &s, true), -EINVAL);
	expect_long(driver_takes(1100 + 6, &s, false), 0); /* exceptions:page_fault_user */
	expect(s.units & CPU_WANT_TOUCH);
	expect(event_space->faults);
}

int main(void)
{
	fake_session();
	pmu_init();
	test_paths();
	test_formats();
	expect_long(walk("/sys/kernel/tracing"), 2 * 366 + 2 + 7);
	expect_long(walk("/sys/kernel/debug/tracing/events/ftrace"), 0);
	test_available(2 * 366 + 2 + 7);
	test_driver();
	return unit_result();
}
