/* See record.h. Layouts: the man page's "MMAP layout", include/uapi/linux/perf_event.h. */
#include "show/record.h"

#include <asm/perf_regs.h>
#include "rt/fmt.h"
#include "rt/string.h"
#include "show/names.h"

#define SWITCH_CPU_WIDE 15
#define CHAIN_SHOWN 128 /* addresses of a call chain, branches */

/* The bytes that are left of a record, and the text that is made of them. */
struct reader {
	const u8 *at, *end;
	const struct perf_attr *attr;
	char *buf;
	size_t size, len;
	bool cut;
};

static const char *const types[] = {
	[PERF_RECORD_MMAP] = "MMAP", [PERF_RECORD_LOST] = "LOST", [PERF_RECORD_COMM] = "COMM",
	[PERF_RECORD_EXIT] = "EXIT", [PERF_RECORD_THROTTLE] = "THROTTLE", [PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_RECORD_FORK] = "FORK", [PERF_RECORD_READ] = "READ", [PERF_RECORD_SAMPLE] = "SAMPLE",
	[PERF_RECORD_MMAP2] = "MMAP2", [PERF_RECORD_AUX] = "AUX", [PERF_RECORD_ITRACE_START] = "ITRACE_START",
	[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES", [PERF_RECORD_SWITCH] = "SWITCH",
	[SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE", [PERF_RECORD_NAMESPACES] = "NAMESPACES",
	[PERF_RECORD_KSYMBOL] = "KSYMBOL", [PERF_RECORD_BPF_EVENT] = "BPF_EVENT", [PERF_RECORD_CGROUP] = "CGROUP",
	[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
};

static const char *const modes[] = {
	"", " KERNEL", " USER", " HYPERVISOR", " GUEST_KERNEL", " GUEST_USER", " MODE_6", " MODE_7",
};

static const char *const registers[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss",
					"ds", "es", "fs", "gs", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};

static const char *const branch_types[] = {
	"", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET",
	"IRQ", "SERROR", "NO_TX", "EXTEND_ABI",
};

/* ---- reading ---- */

__attribute__((format(printf, 2, 3))) static void say(struct reader *r, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	rt_vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->len = rt_append(r->buf, r->size, r->len, "%s", text);
}

static bool has(struct reader *r, size_t n)
{
	if (!r->cut && n <= (size_t)(r->end - r->at))
		return true;
	if (!r->cut)
		say(r, " (cut)");
	r->cut = true;
	return false;
}

static u64 take(struct reader *r, size_t n)
{
	u64 v = 0;

	if (!has(r, n))
		return 0;
	memcpy(&v, r->at, n);
	r->at += n;
	return v;
}

static void number(struct reader *r, const char *name, size_t n)
{
	u64 v = take(r, n);

	if (!r->cut)
		say(r, " %s=%lu", name, v);
}

static void hex(struct reader *r, const char *name)
{
	u64 v = take(r, 8);

	if (!r->cut)
		say(r, " %s=%#lx", name, v);
}

static void pair(struct reader *r, const char *low, const char *high)
{
	number(r, low, 4);
	number(r, high, 4);
}

/* Padded with zeroes to a multiple of 8, up to `end`. */
static void string(struct reader *r, const char *name, const u8 *end)
{
	size_t n = end > r->at ? (size_t)(end - r->at) : 0;

	if (!has(r, n))
		return;
	say(r, " %s=\"%.*s\"", name, (int)MIN(strnlen((const char *)r->at, n), 100), (const char *)r->at);
	r->at += n;
}

/* ---- samples ---- */

static void show_count(struct reader *r, u64 format)
{
	number(r, "value", 8);
	if (!(format & PERF_FORMAT_GROUP)) {
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			number(r, "enabled", 8);
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			number(r, "running", 8);
	}
	if (format & PERF_FORMAT_ID)
		number(r, "id", 8);
	if (format & PERF_FORMAT_LOST)
		number(r, "lost", 8);
}

static void show_read(struct reader *r)
{
	u64 format = r->attr->read_format, n = 1;

	say(r, " read={");
	if (format & PERF_FORMAT_GROUP) {
		n = take(r, 8);
		say(r, " nr=%lu", n);
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			number(r, "enabled", 8);
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			number(r, "running", 8);
	}
	for (; n && !r->cut; n--)
		show_count(r, format);
	say(r, " }");
}

static void show_chain(struct reader *r)
{
	u64 n = take(r, 8);

	say(r, " chain=%lu:{", n);
	for (u64 i = 0; i < n && !r->cut; i++) {
		u64 ip = take(r, 8);

		if (r->cut || i > CHAIN_SHOWN)
			continue;
		if (ip == (u64)PERF_CONTEXT_USER)
			say(r, " USER");
		else if (ip == (u64)PERF_CONTEXT_KERNEL)
			say(r, " KERNEL");
		else
			say(r, " %#lx", ip);
	}
	say(r, " }");
}

static void show_raw(struct reader *r)
{
	u64 n = take(r, 4);

	say(r, " raw=%lu:", n);
	for (; n && has(r, 1); n--)
		say(r, "%02lx", take(r, 1));
}

static void show_branch(struct reader *r)
{
	struct perf_branch_entry b;

	if (!has(r, sizeof(b)))
		return;
	memcpy(&b, r->at, sizeof(b));
	r->at += sizeof(b);
	say(r, " %#lx->%#lx/%s%s%s", (u64)b.from, (u64)b.to, b.mispred ? "M" : "", b.predicted ? "P" : "",
	    branch_types[b.type]);
	if (b.cycles)
		say(r, "/%u", (u32)b.cycles);
}

static void show_branches(struct reader *r)
{
	u64 n = take(r, 8);

	say(r, " branches=%lu:{", n);
	if (r->attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		hex(r, "hw_idx");
	for (; n && !r->cut; n--)
		show_branch(r);
	say(r, " }");
}

static void show_registers(struct reader *r, const char *name, u64 mask)
{
	u64 abi = take(r, 8);

	say(r, " %s=%s{", name, abi == PERF_SAMPLE_REGS_ABI_64 ? "64" : abi ? "32" : "none");
	for (; abi && mask && !r->cut; mask &= mask - 1) {
		u32 nr = (u32)__builtin_ctzl(mask);

		hex(r, nr < ARRAY_SIZE(registers) ? registers[nr] : "xmm");
	}
	say(r, " }");
}

/* Its bytes are not shown. */
static void show_stack(struct reader *r)
{
	u64 n = take(r, 8);

	say(r, " stack=%lu", n);
	if (!n || !has(r, n))
		return;
	r->at += n;
	number(r, "dyn_size", 8);
}

static void show_front(struct reader *r, u64 type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		number(r, "identifier", 8);
	if (type & PERF_SAMPLE_IP)
		hex(r, "ip");
	if (type & PERF_SAMPLE_TID)
		pair(r, "pid", "tid");
	if (type & PERF_SAMPLE_TIME)
		number(r, "time", 8);
	if (type & PERF_SAMPLE_ADDR)
		hex(r, "addr");
	if (type & PERF_SAMPLE_ID)
		number(r, "id", 8);
	if (type & PERF_SAMPLE_STREAM_ID)
		number(r, "stream_id", 8);
	if (type & PERF_SAMPLE_CPU)
		pair(r, "cpu", "res");
	if (type & PERF_SAMPLE_PERIOD)
		number(r, "period", 8);
}

static void show_middle(struct reader *r, u64 type)
{
	if (type & PERF_SAMPLE_READ)
		show_read(r);
	if (type & PERF_SAMPLE_CALLCHAIN)
		show_chain(r);
	if (type & PERF_SAMPLE_RAW)
		show_raw(r);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		show_branches(r);
	if (type & PERF_SAMPLE_REGS_USER)
		show_registers(r, "regs_user", r->attr->sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		show_stack(r);
}

static void show_back(struct reader *r, u64 type)
{
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		number(r, "weight", 8);
	if (type & PERF_SAMPLE_DATA_SRC)
		hex(r, "data_src");
	if (type & PERF_SAMPLE_TRANSACTION)
		hex(r, "transaction");
	if (type & PERF_SAMPLE_REGS_INTR)
		show_registers(r, "regs_intr", r->attr->sample_regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		hex(r, "phys_addr");
	if (type & PERF_SAMPLE_CGROUP)
		number(r, "cgroup", 8);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		number(r, "data_page_size", 8);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		number(r, "code_page_size", 8);
	if (type & PERF_SAMPLE_AUX)
		number(r, "aux_size", 8);
}

/* ---- the others ---- */

static void show_build_id(struct reader *r)
{
	u64 n = take(r, 4) & 0xff;

	if (!has(r, 20))
		return;
	say(r, " build_id=");
	for (u64 i = 0; i < MIN(n, 20ul); i++)
		say(r, "%02x", r->at[i]);
	r->at += 20;
}

static void show_mmap(struct reader *r, const struct perf_event_header *h, const u8 *end)
{
	pair(r, "pid", "tid");
	hex(r, "addr");
	hex(r, "len");
	hex(r, "pgoff");
	if (h->type == PERF_RECORD_MMAP2) {
		if (h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			show_build_id(r);
		} else {
			pair(r, "maj", "min");
			number(r, "ino", 8);
			number(r, "ino_generation", 8);
		}
		pair(r, "prot", "flags");
	}
	string(r, "filename", end);
}

static void show_namespaces(struct reader *r)
{
	u64 n;

	pair(r, "pid", "tid");
	n = take(r, 8);
	for (u64 i = 0; i < n && !r->cut; i++) {
		number(r, "dev", 8);
		number(r, "ino", 8);
	}
}

/* end: where the trailer begins. */
static void show_body(struct reader *r, const struct perf_event_header *h, const u8 *end)
{
	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		show_mmap(r, h, end);
		break;
	case PERF_RECORD_LOST:
		number(r, "id", 8);
		number(r, "lost", 8);
		break;
	case PERF_RECORD_COMM:
		pair(r, "pid", "tid");
		string(r, "comm", end);
		break;
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
		pair(r, "pid", "ppid");
		pair(r, "tid", "ptid");
		number(r, "time", 8);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		number(r, "time", 8);
		number(r, "id", 8);
		number(r, "stream_id", 8);
		break;
	case PERF_RECORD_READ:
		pair(r, "pid", "tid");
		show_read(r);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		number(r, "lost", 8);
		break;
	case SWITCH_CPU_WIDE:
		pair(r, "next_prev_pid", "next_prev_tid");
		break;
	case PERF_RECORD_NAMESPACES:
		show_namespaces(r);
		break;
	case PERF_RECORD_CGROUP:
		number(r, "id", 8);
		string(r, "path", end);
		break;
	default:
		if (end > r->at)
			say(r, " (%lu bytes)", (u64)(end - r->at));
		r->at = end;
	}
}

#define TRAILER                                                                                                        \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |               \
	 PERF_SAMPLE_IDENTIFIER)

static void show_trailer(struct reader *r, u64 type)
{
	say(r, " |");
	show_front(r, type & TRAILER & ~(u64)PERF_SAMPLE_IDENTIFIER);
	if (type & PERF_SAMPLE_IDENTIFIER)
		number(r, "identifier", 8);
}

/* misc bits 13 and 14 mean something else in each kind of record. */
static const char *bit_13(u32 type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return " DATA";
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
		return " EXEC";
	case PERF_RECORD_SWITCH:
	case SWITCH_CPU_WIDE:
		return " OUT";
	}
	return " BIT_13";
}

static const char *bit_14(u32 type)
{
	switch (type) {
	case PERF_RECORD_SAMPLE:
		return " EXACT_IP";
	case PERF_RECORD_MMAP2:
		return " BUILD_ID";
	case PERF_RECORD_SWITCH:
	case SWITCH_CPU_WIDE:
		return " PREEMPT";
	}
	return " BIT_14";
}

static void show_header(struct reader *r, const struct perf_event_header *h)
{
	if (h->type < ARRAY_SIZE(types) && types[h->type])
		say(r, "%s", types[h->type]);
	else
		say(r, "RECORD_%u", h->type);
	say(r, "%s", modes[h->misc & PERF_RECORD_MISC_CPUMODE_MASK]);
	if (h->misc & 1u << 13)
		say(r, "%s", bit_13(h->type));
	if (h->misc & 1u << 14)
		say(r, "%s", bit_14(h->type));
}

size_t show_record(char *buf, size_t size, size_t at, const struct perf_event_header *record,
		   const struct perf_attr *attr)
{
	const u8 *body = (const u8 *)(record + 1), *end = (const u8 *)record + record->size;
	struct reader r = {.at = body, .end = MAX(end, body), .attr = attr, .buf = buf, .size = size, .len = at};
	u64 trailer = record->type != PERF_RECORD_SAMPLE && attr->sample_id_all ? attr->sample_type & TRAILER : 0;
	size_t words = 0;

	show_header(&r, record);
	for (u64 fields = trailer; fields; fields &= fields - 1)
		words++;
	if (record->type == PERF_RECORD_SAMPLE) {
		show_front(&r, attr->sample_type);
		show_middle(&r, attr->sample_type);
		show_back(&r, attr->sample_type);
	} else {
		show_body(&r, record, r.end - MIN(words * 8, (size_t)(r.end - body)));
	}
	if (trailer)
		show_trailer(&r, trailer);
	if (!r.cut && r.at < r.end)
		say(&r, " (+%lu bytes)", (u64)(r.end - r.at));
	return r.len;
}
