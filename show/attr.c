/* struct perf_event_attr in words; see attr.h. Names: include/uapi/linux/perf_event.h, without their prefixes. */
#include <linux/perf_event.h>
#include "abi/perf_2009.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "show/attr.h"
#include "show/names.h"

#define FLAGS_AT 40	 /* byte offset of the bit-field */
#define PRECISE_SHIFT 15 /* precise_ip: two bits of it */
#define CONFIG3_AT 128	 /* newer than the Debian 12 header */

struct text {
	char *buf;
	size_t size, at;
};

static const struct show_flag types[] = {
	{PERF_TYPE_HARDWARE, "HARDWARE"}, {PERF_TYPE_SOFTWARE, "SOFTWARE"}, {PERF_TYPE_TRACEPOINT, "TRACEPOINT"},
	{PERF_TYPE_HW_CACHE, "HW_CACHE"}, {PERF_TYPE_RAW, "RAW"}, {PERF_TYPE_BREAKPOINT, "BREAKPOINT"}, {0, NULL},
};

static const struct show_flag hardware[] = {
	{0, "CPU_CYCLES"}, {1, "INSTRUCTIONS"}, {2, "CACHE_REFERENCES"}, {3, "CACHE_MISSES"},
	{4, "BRANCH_INSTRUCTIONS"}, {5, "BRANCH_MISSES"}, {6, "BUS_CYCLES"}, {7, "STALLED_CYCLES_FRONTEND"},
	{8, "STALLED_CYCLES_BACKEND"}, {9, "REF_CPU_CYCLES"}, {0, NULL},
};

static const struct show_flag software[] = {
	{0, "CPU_CLOCK"}, {1, "TASK_CLOCK"}, {2, "PAGE_FAULTS"}, {3, "CONTEXT_SWITCHES"}, {4, "CPU_MIGRATIONS"},
	{5, "PAGE_FAULTS_MIN"}, {6, "PAGE_FAULTS_MAJ"}, {7, "ALIGNMENT_FAULTS"}, {8, "EMULATION_FAULTS"}, {9, "DUMMY"},
	{10, "BPF_OUTPUT"}, {11, "CGROUP_SWITCHES"}, {0, NULL},
};

static const char *const caches[] = {"L1D", "L1I", "LL", "DTLB", "ITLB", "BPU", "NODE"};
static const char *const cache_ops[] = {"READ", "WRITE", "PREFETCH"};
static const char *const cache_results[] = {"ACCESS", "MISS"};

#define B(name) {1ul << __builtin_ctzl(PERF_SAMPLE_##name), #name}
static const struct show_flag sample_types[] = {
	B(IP), B(TID), B(TIME), B(ADDR), B(READ), B(CALLCHAIN), B(ID), B(CPU), B(PERIOD), B(STREAM_ID), B(RAW),
	B(BRANCH_STACK), B(REGS_USER), B(STACK_USER), B(WEIGHT), B(DATA_SRC), B(IDENTIFIER), B(TRANSACTION),
	B(REGS_INTR), B(PHYS_ADDR), B(AUX), B(CGROUP), B(DATA_PAGE_SIZE), B(CODE_PAGE_SIZE), B(WEIGHT_STRUCT),
	{0, NULL},
};
#undef B

static const struct show_flag read_formats[] = {
	{1, "TOTAL_TIME_ENABLED"}, {2, "TOTAL_TIME_RUNNING"}, {4, "ID"}, {8, "GROUP"}, {16, "LOST"}, {0, NULL},
};

static const struct show_flag bp_types[] = {{1, "R"}, {2, "W"}, {4, "X"}, {0, NULL}};

static const char *const bit_names[] = {
	"disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
	"mmap", "comm", "freq", "inherit_stat", "enable_on_exec", "task", "watermark", NULL, NULL, "mmap_data",
	"sample_id_all", "exclude_host", "exclude_guest", "exclude_callchain_kernel", "exclude_callchain_user", "mmap2",
	"comm_exec", "use_clockid", "context_switch", "write_backward", "namespaces", "ksymbol", "bpf_event",
	"aux_output", "cgroup", "text_poke", "build_id", "inherit_thread", "remove_on_exec", "sigtrap",
};

static void add_named(struct text *t, const char *field, u64 value, const struct show_flag *table)
{
	const char *name = table ? show_value(value, table) : NULL;

	if (name)
		t->at = rt_append(t->buf, t->size, t->at, "%s=%s", field, name);
	else
		t->at = rt_append(t->buf, t->size, t->at, "%s=%#lx", field, value);
}

static void add_set(struct text *t, const char *field, u64 value, const struct show_flag *table)
{
	if (!value)
		return;
	t->at = rt_append(t->buf, t->size, t->at, ", %s=", field);
	t->at = show_flags(t->buf, t->size, t->at, value, table, "0");
}

static void add_number(struct text *t, const char *field, u64 value)
{
	if (value)
		t->at = rt_append(t->buf, t->size, t->at, ", %s=%lu", field, value);
}

static void add_hex(struct text *t, const char *field, u64 value)
{
	if (value)
		t->at = rt_append(t->buf, t->size, t->at, ", %s=%#lx", field, value);
}

static void add_config(struct text *t, const struct perf_event_attr *a)
{
	u64 cache = a->config & 0xff, op = a->config >> 8 & 0xff, result = a->config >> 16 & 0xff;

	t->at = rt_append(t->buf, t->size, t->at, ", ");
	if (a->type == PERF_TYPE_HW_CACHE && cache < ARRAY_SIZE(caches) && op < ARRAY_SIZE(cache_ops) &&
	    result < ARRAY_SIZE(cache_results) && !(a->config >> 24))
		t->at = rt_append(t->buf, t->size, t->at, "config=%s|%s|%s", caches[cache], cache_ops[op],
				  cache_results[result]);
	else
		add_named(t, "config", a->config,
			  a->type == PERF_TYPE_HARDWARE ? hardware : a->type == PERF_TYPE_SOFTWARE ? software : NULL);
}

static void add_bits(struct text *t, u64 bits)
{
	for (unsigned i = 0; i < ARRAY_SIZE(bit_names); i++)
		if (bit_names[i] && (bits >> i & 1))
			t->at = rt_append(t->buf, t->size, t->at, ", %s", bit_names[i]);
	add_number(t, "precise_ip", bits >> PRECISE_SHIFT & 3);
	add_hex(t, "reserved_bits", bits >> ARRAY_SIZE(bit_names) << ARRAY_SIZE(bit_names));
}

static void add_breakpoint_or_config(struct text *t, const struct perf_event_attr *a)
{
	if (a->type == PERF_TYPE_BREAKPOINT) {
		add_set(t, "bp_type", a->bp_type, bp_types);
		add_hex(t, "bp_addr", a->bp_addr);
		add_number(t, "bp_len", a->bp_len);
	} else {
		add_hex(t, "bp_type", a->bp_type);
		add_hex(t, "config1", a->config1);
		add_hex(t, "config2", a->config2);
	}
}

size_t show_attr(char *buf, size_t size, size_t at, const void *attr, size_t len)
{
	struct text t = {buf, size, at};
	struct perf_event_attr a = {0};
	u64 bits, config3 = 0;

	memcpy(&a, attr, MIN(len, sizeof(a)));
	memcpy(&bits, (const char *)&a + FLAGS_AT, sizeof(bits));
	if (len >= CONFIG3_AT + sizeof(config3))
		memcpy(&config3, (const char *)attr + CONFIG3_AT, sizeof(config3));

	t.at = rt_append(buf, size, t.at, "{");
	add_named(&t, "type", a.type, types);
	t.at = rt_append(buf, size, t.at, ", size=%u", a.size);
	add_config(&t, &a);
	add_number(&t, a.freq ? "sample_freq" : "sample_period", a.sample_period);
	add_set(&t, "sample_type", a.sample_type, sample_types);
	add_set(&t, "read_format", a.read_format, read_formats);
	add_bits(&t, bits);
	add_number(&t, a.watermark ? "wakeup_watermark" : "wakeup_events", a.wakeup_events);
	add_breakpoint_or_config(&t, &a);
	add_hex(&t, "branch_sample_type", a.branch_sample_type);
	add_hex(&t, "sample_regs_user", a.sample_regs_user);
	add_number(&t, "sample_stack_user", a.sample_stack_user);
	if (a.use_clockid)
		t.at = rt_append(buf, size, t.at, ", clockid=%d", a.clockid);
	add_hex(&t, "sample_regs_intr", a.sample_regs_intr);
	add_number(&t, "aux_watermark", a.aux_watermark);
	add_number(&t, "sample_max_stack", a.sample_max_stack);
	add_number(&t, "aux_sample_size", a.aux_sample_size);
	add_hex(&t, "sig_data", a.sig_data);
	add_hex(&t, "config3", config3);
	return rt_append(buf, size, t.at, "}");
}

/* ---- the interface of 2009 ---- */

#define B(name) {1ul << __builtin_ctzl(PERF_SAMPLE_##name), #name}
static const struct show_flag record_types[] = {
	B(IP), B(TID), B(TIME), B(ADDR), {PERF_SAMPLE_READ, "GROUP"}, B(CALLCHAIN), {0, NULL},
};
#undef B

static const struct show_flag hw_event_flags[] = {
	{HW_EVENT_DISABLED, "disabled"}, {HW_EVENT_INHERIT, "inherit"}, {HW_EVENT_PINNED, "pinned"},
	{HW_EVENT_EXCLUSIVE, "exclusive"}, {HW_EVENT_EXCLUDE_USER, "exclude_user"},
	{HW_EVENT_EXCLUDE_KERNEL, "exclude_kernel"}, {HW_EVENT_EXCLUDE_HV, "exclude_hv"},
	{HW_EVENT_EXCLUDE_IDLE, "exclude_idle"}, {HW_EVENT_MMAP, "mmap"}, {HW_EVENT_MUNMAP, "munmap"},
	{HW_EVENT_COMM, "comm"}, {0, NULL},
};

/* raw|0xc0, HARDWARE|INSTRUCTIONS, 3|0. */
static void add_hw_config(struct text *t, u64 config)
{
	u64 type = config >> HW_EVENT_TYPE_SHIFT & HW_EVENT_TYPE, id = config & HW_EVENT_ID;
	const char *kind = type <= PERF_TYPE_TRACEPOINT ? show_value(type, types) : NULL, *name;

	if (config & HW_EVENT_RAW) {
		t->at = rt_append(t->buf, t->size, t->at, "config=raw|%#lx", config & ~HW_EVENT_RAW);
		return;
	}
	name = type == PERF_TYPE_HARDWARE ? show_value(id, hardware) : NULL;
	name = type == PERF_TYPE_SOFTWARE ? show_value(id, software) : name;
	t->at = kind ? rt_append(t->buf, t->size, t->at, "config=%s|", kind)
		     : rt_append(t->buf, t->size, t->at, "config=%lu|", type);
	t->at = name ? rt_append(t->buf, t->size, t->at, "%s", name) : rt_append(t->buf, t->size, t->at, "%lu", id);
}

size_t show_hw_event(char *buf, size_t size, size_t at, const struct perf_hw_event_2009 *hw)
{
	struct text t = {buf, size, at};

	t.at = rt_append(buf, size, t.at, "{");
	add_hw_config(&t, hw->config);
	add_number(&t, "irq_period", hw->irq_period);
	add_set(&t, "record_type", hw->record_type, record_types);
	add_set(&t, "read_format", hw->read_format, read_formats);
	add_set(&t, "flags", hw->flags, hw_event_flags);
	add_number(&t, "extra_config_len", hw->extra_config_len);
	add_number(&t, "wakeup_events", hw->wakeup_events);
	add_hex(&t, "__reserved_2", hw->reserved_2);
	add_hex(&t, "__reserved_3", hw->reserved_3);
	return rt_append(buf, size, t.at, "}");
}
