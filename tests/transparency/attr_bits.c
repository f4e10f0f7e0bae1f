/*
 * Each bit of the attr by itself, on each kind of event that every kernel has, counting and sampling: whether the event
 * opens, and the length of a read of it. By root and by a user without privilege.
 * covers: attr.type, attr.config, attr.exclude_*, attr.freq, attr.sample_freq, attr.sample_period, attr.sample_type,
 * attr.branch_sample_type, attr.inherit, attr.inherit_thread, attr.inherit_stat, attr.sigtrap, attr.sig_data,
 * attr.remove_on_exec, attr.watermark, attr.wakeup_watermark, attr.use_clockid, attr.clockid, attr.sample_max_stack,
 * attr.aux_watermark, attr.aux_sample_size, attr.namespaces, attr.sample_regs_*, attr.sample_stack_user,
 * PERF_TYPE_SOFTWARE, PERF_TYPE_BREAKPOINT, PERF_COUNT_SW_BPF_OUTPUT, PERF_COUNT_SW_CGROUP_SWITCHES,
 * PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_SAMPLE_BRANCH_USER, PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_KERNEL,
 * PERF_SAMPLE_BRANCH_HV, PERF_SAMPLE_BRANCH_PLM_ALL
 */
#include "tests/abi/breakpoint.h"

#define FLAGS	     64
#define SAMPLE_TYPES 26
#define BRANCH_TYPES 20

static volatile long word;

struct kind {
	const char *name;
	struct perf_attr attr;
	int user_only; /* pcl refuses it in kernel mode: doc/linux-quirks.md */
};

static void print_open(struct perf_attr attr)
{
	unsigned long v[8];
	long fd = perf_open(&attr, 0, -1, -1, 0), n;

	if (fd < 0) {
		printf(" %s", strerrorname_np((int)-fd));
		return;
	}
	n = read((int)fd, v, sizeof(v));
	printf(" %ld", n < 0 ? -errno : n);
	close((int)fd);
}

static const char *const flags[FLAGS] = {
	"disabled",
	"inherit",
	"pinned",
	"exclusive",
	"exclude_user",
	"exclude_kernel",
	"exclude_hv",
	"exclude_idle",
	"mmap",
	"comm",
	"freq",
	"inherit_stat",
	"enable_on_exec",
	"task",
	"watermark",
	"precise_ip 1",
	"precise_ip 2",
	"mmap_data",
	"sample_id_all",
	"exclude_host",
	"exclude_guest",
	"exclude_callchain_kernel",
	"exclude_callchain_user",
	"mmap2",
	"comm_exec",
	"use_clockid",
	"context_switch",
	"write_backward",
	"namespaces",
	"ksymbol",
	"bpf_event",
	"aux_output",
	"cgroup",
	"text_poke",
	"build_id",
	"inherit_thread",
	"remove_on_exec",
	"sigtrap",
};

static void test_flags(const struct kind *kind)
{
	for (int bit = 0; bit < FLAGS; bit++) {
		struct perf_attr attr = kind->attr;

		attr.flags ^= 1ul << bit;
		if (!attr.exclude_kernel && kind->user_only)
			continue;
		/* Linux 7.0 has flags there, which 6.18 and pcl refuse. */
		if ((bit == 38 || bit == 39) && linux_since(6, 19))
			continue;
		printf("%s, %s (flag %d):", kind->name, flags[bit] ? flags[bit] : "reserved", bit);
		print_open(attr);
		attr.sample_period = 1000000;
		print_open(attr);
		attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
		print_open(attr);
		putchar('\n');
	}
}

static void test_sample_types(const struct kind *kind)
{
	for (int bit = 0; bit < SAMPLE_TYPES; bit++) {
		struct perf_attr attr = kind->attr;

		attr.sample_period = 1000000;
		attr.sample_type = 1ul << bit;
		printf("%s, sample_type %d:", kind->name, bit);
		print_open(attr);
		attr.sample_regs_user = attr.sample_regs_intr = 0xff;
		attr.sample_stack_user = 64;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
		print_open(attr);
		putchar('\n');
	}
	for (int bit = 0; bit < BRANCH_TYPES; bit++) {
		struct perf_attr attr = kind->attr;

		attr.sample_period = 1000000;
		attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | 1ul << bit;
		printf("%s, branch_sample_type %d:", kind->name, bit);
		print_open(attr);
		putchar('\n');
	}
}

/* Whose branches are recorded, as that needs privilege. */
static void test_branch_privilege(const struct kind *kind)
{
	static const u64 of[] = {PERF_SAMPLE_BRANCH_USER, PERF_SAMPLE_BRANCH_KERNEL, PERF_SAMPLE_BRANCH_HV,
				 PERF_SAMPLE_BRANCH_PLM_ALL, 0};

	printf("%s, branches of:", kind->name);
	for (unsigned i = 0; i < ARRAY_SIZE(of); i++) {
		struct perf_attr attr = kind->attr;

		attr.sample_period = 1000000;
		attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = of[i] | PERF_SAMPLE_BRANCH_ANY;
		print_open(attr);
	}
	putchar('\n');
}

/* Fields that only some events have a use for. */
static void test_fields(const struct kind *kind)
{
	struct perf_attr attr = kind->attr;

	printf("%s, fields:", kind->name);
	attr.aux_watermark = 4096;
	print_open(attr);
	attr.aux_sample_size = 64;
	print_open(attr);
	attr = kind->attr;
	attr.sample_max_stack = 8;
	print_open(attr);
	attr.sample_max_stack = 1000;
	print_open(attr);
	attr = kind->attr;
	attr.sig_data = 7;
	print_open(attr);
	attr.sigtrap = attr.remove_on_exec = 1;
	print_open(attr);
	attr = kind->attr;
	attr.wakeup_watermark = 100;
	print_open(attr);
	attr.watermark = 1;
	print_open(attr);
	attr = kind->attr;
	attr.clockid = 99;
	print_open(attr);
	attr.use_clockid = 1;
	print_open(attr);
	attr = kind->attr;
	attr.inherit = attr.inherit_thread = 1;
	print_open(attr);
	attr.inherit_stat = 1;
	print_open(attr);
	attr = kind->attr;
	attr.freq = 1;
	attr.sample_freq = 1000;
	print_open(attr);
	attr.sample_freq = 100000000;
	print_open(attr);
	attr.freq = 0;
	attr.sample_period = 1ul << 63;
	print_open(attr);
	putchar('\n');
}

static void test_kind(const struct kind *kind)
{
	test_flags(kind);
	test_sample_types(kind);
	test_branch_privilege(kind);
	test_fields(kind);
}

int main(void)
{
	struct kind kinds[] = {
		{"task-clock", perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK), 0},
		{"cpu-clock", perf_attr_sw(PERF_COUNT_SW_CPU_CLOCK), 0},
		{"page-faults", perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS), 0},
		{"minor-faults", perf_attr_sw(PERF_COUNT_SW_PAGE_FAULTS_MIN), 0},
		{"switches", perf_attr_sw(PERF_COUNT_SW_CONTEXT_SWITCHES), 0},
		{"dummy", perf_attr_sw(PERF_COUNT_SW_DUMMY), 0},
		{"cgroup-switches", perf_attr_sw(PERF_COUNT_SW_CGROUP_SWITCHES), 1},
		{"bpf-output", perf_attr_sw(PERF_COUNT_SW_BPF_OUTPUT), 0},
		{"breakpoint", bp_attr(HW_BREAKPOINT_W, (void *)&word, 8), 1},
	};

	if (!perf_linux_is_new() || perf_result() == 77) {
		printf("no perf_event_open as that of Linux 6.15 and later\n");
		return 77;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		test_kind(&kinds[i]);
	fflush(stdout);
	if (as_nobody()) {
		for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
			test_kind(&kinds[i]);
		exit(0);
	}
	return 0;
}
