/*
 * See tracepoint.h. The `tracepoint` PMU: PERF_TYPE_TRACEPOINT. perf/tracepoints.c tells event_trace() of what happens.
 *
 * Linux quirk: the tracepoints of one system call happen in user mode as far as attr.exclude_kernel is concerned, and
 * their samples have the user's address; the raw ones happen in kernel mode. attr.exclude_user is not looked at.
 * tests/abi/tracepoint.c
 *
 * Layouts: the kernel's struct trace_entry, syscall_trace_enter and syscall_trace_exit, as the format files have them.
 */
#include "pmu/tracepoint.h"

#include <asm-generic/errno.h>
#include "cpu/cpu.h"
#include "event/filter.h"
#include "event/space.h"
#include "pmu/probe_format.h"
#include "pmu/tracepoint_task.h"
#include "rt/arch.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

/* Ids: the kernel's begin behind the types of its own trace records. */
#define ID_RAW 16u
#define ID_CALLS 32u
#define ID_TASKS 1100u
_Static_assert(ID_CALLS + 2 * TRACE_CALLS <= ID_TASKS && ID_TASKS + TASK_TRACES <= PROBE_ID, "ids overlap");
#define NR_COMMON 4u

struct row {
	const char *name, *args;
	u32 nr_args;
};

static const struct row rows[TRACE_CALLS] = {
#define TRACEPOINT(nr, name, nr_args, args) [nr] = {#name, args, nr_args},
#include ARCH_HEADER(pmu, tracepoints.def)
#undef TRACEPOINT
};

u32 tracepoint_id(enum tracepoint_kind kind, s64 nr)
{
	if (trace_is_raw(kind))
		return ID_RAW + (kind == TRACE_RAW_EXIT);
	if (kind == TRACE_TASK)
		return ID_TASKS + (u32)nr;
	if (nr < 0 || nr >= TRACE_CALLS || !rows[nr].name)
		return 0;
	return ID_CALLS + 2 * (u32)nr + (kind == TRACE_EXIT);
}

bool tracepoint_by_id(u64 id, struct tracepoint *out)
{
	u64 nr = (id - ID_CALLS) / 2;

	if (id == ID_RAW || id == ID_RAW + 1) {
		*out = (struct tracepoint){.kind = id == ID_RAW ? TRACE_RAW_ENTER : TRACE_RAW_EXIT};
		return true;
	}
	if (id >= ID_TASKS && id < ID_TASKS + TASK_TRACES) {
		*out = (struct tracepoint){.kind = TRACE_TASK, .nr = (u32)id - ID_TASKS};
		return true;
	}
	if (id < ID_CALLS || nr >= TRACE_CALLS || !rows[nr].name)
		return false;
	*out = (struct tracepoint){
		.kind = (id - ID_CALLS) % 2 ? TRACE_EXIT : TRACE_ENTER,
		.nr = (u32)nr,
		.call = rows[nr].name,
		.args = rows[nr].args,
		.nr_args = rows[nr].nr_args,
	};
	return true;
}

bool tracepoint_by_name(enum tracepoint_kind kind, const char *call, size_t len, struct tracepoint *out)
{
	for (u32 nr = 0; nr < TRACE_CALLS; nr++)
		if (rows[nr].name && !strncmp(rows[nr].name, call, len) && !rows[nr].name[len])
			return tracepoint_by_id(tracepoint_id(kind, nr), out);
	return false;
}

/* ---- fields ---- */

static struct tracepoint_field field(const char *type, const char *name, u16 offset, u16 size, bool is_signed)
{
	return (struct tracepoint_field){
		.type = type,
		.name = name,
		.type_len = (u32)strlen(type),
		.name_len = (u32)strlen(name),
		.offset = offset,
		.size = size,
		.is_signed = is_signed,
	};
}

static struct tracepoint_field common_field(u32 index)
{
	struct tracepoint_field f;

	switch (index) {
	case 0:
		f = field("unsigned short", "common_type", 0, 2, false);
		break;
	case 1:
		f = field("unsigned char", "common_flags", 2, 1, false);
		break;
	case 2:
		f = field("unsigned char", "common_preempt_count", 3, 1, false);
		break;
	default:
		f = field("int", "common_pid", 4, 4, true);
		break;
	}
	f.common = true;
	return f;
}

/* One of "type name, type name"; all arguments take 8 bytes, and none of them is called signed. */
static struct tracepoint_field argument(const char *args, u32 index)
{
	struct tracepoint_field f = {.offset = (u16)(16 + 8 * index), .size = 8};
	const char *end;

	while (index--)
		args = strchr(args, ',') + 2;
	end = strchr(args, ',');
	if (!end)
		end = args + strlen(args);
	f.name = end;
	while (f.name > args && f.name[-1] != ' ')
		f.name--;
	f.name_len = (u32)(end - f.name);
	f.type = args;
	f.type_len = (u32)(f.name - 1 - args);
	return f;
}

static bool own_field(const struct tracepoint *tp, u32 index, struct tracepoint_field *out)
{
	const struct task_tracepoint *task;

	switch (tp->kind) {
	case TRACE_ENTER:
		if (index > tp->nr_args)
			return false;
		*out = index ? argument(tp->args, index - 1) : field("int", "__syscall_nr", 8, 4, true);
		return true;
	case TRACE_EXIT:
		*out = index ? field("long", "ret", 16, 8, true) : field("int", "__syscall_nr", 8, 4, true);
		return index < 2;
	case TRACE_TASK:
		task = task_tracepoint(tp->nr);
		if (index < task->nr_fields)
			*out = task->fields[index];
		return index < task->nr_fields;
	case TRACE_RAW_ENTER:
		*out = index ? field("unsigned long", "args[6]", 16, 48, false) : field("long", "id", 8, 8, true);
		return index < 2;
	default:
		*out = index ? field("long", "ret", 16, 8, true) : field("long", "id", 8, 8, true);
		return index < 2;
	}
}

bool tracepoint_field(const struct tracepoint *tp, u32 index, struct tracepoint_field *out)
{
	if (index >= NR_COMMON)
		return own_field(tp, index - NR_COMMON, out);
	*out = common_field(index);
	return true;
}

static bool has_type(const struct tracepoint_field *f, const char *type)
{
	return f->type_len == strlen(type) && !memcmp(f->type, type, f->type_len);
}

bool tracepoint_is_string(const struct tracepoint_field *f)
{
	return has_type(f, "char *") || has_type(f, "const char *");
}

/* ---- records ---- */

void tracepoint_fill(const struct tracepoint *tp, s64 nr, s32 tid, const u64 *values, struct tracepoint_record *out)
{
	u16 id = (u16)tracepoint_id(tp->kind, nr);
	u32 n = tp->kind == TRACE_ENTER ? tp->nr_args : tp->kind == TRACE_RAW_ENTER ? TRACE_ARGS : 1, len = 16 + 8 * n;

	check(len + 4 <= sizeof(out->data));
	memset(out->data, 0, len + 4);
	memcpy(out->data, &id, sizeof(id));
	memcpy(out->data + 4, &tid, sizeof(tid));
	memcpy(out->data + 8, &nr, trace_is_raw(tp->kind) ? 8 : 4);
	memcpy(out->data + 16, values, 8 * n);
	out->size = len + 4; /* with the word in front, a multiple of 8 */
}

/* ---- the driver ---- */

/* A named one: see pmu/probe_def.h. */
static bool is_probe(u64 id)
{
	u32 row;

	return probe_by_id(id, &row) && probe_row(row)->state == PROBE_NAMED && probe_row(row)->event == row;
}

/* Page faults are told as those of the software PMU are when they sample. */
static u32 units_of(const struct tracepoint *tp)
{
	u32 units = EVENT_UNIT_TRACE << tp->kind;

	if (tp->kind != TRACE_TASK || tp->nr != TRACE_PAGE_FAULT_USER)
		return units;
	event_space->faults = 1;
	return units | CPU_WANT_TOUCH;
}

static int tp_event_init(const struct perf_attr *attr, struct event_source *out)
{
	struct tracepoint tp;

	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return refuse(EOPNOTSUPP, "tracepoints have no branch stacks");
	out->source = (u32)attr->config;
	out->hits = 1;
	if (is_probe(attr->config))
		out->units = CPU_WANT_BREAK;
	else if (!tracepoint_by_id(attr->config, &tp))
		return refuse(EINVAL, "no tracepoint has this id: see events/ in the session's tracefs");
	else if (!(attr->exclude_kernel && (trace_is_raw(tp.kind) || tp.kind == TRACE_TASK)))
		out->units = units_of(&tp);
	if ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) && event_space->call_stacks)
		out->sampling_units = CPU_WANT_CALLS;
	return 0;
}

/* The kernel's filter_assign_type(). */
static enum filter_kind kind_of(const struct tracepoint_field *f)
{
	if (tracepoint_is_string(f))
		return FILTER_POINTER;
	if (has_type(f, "__data_loc char[]"))
		return FILTER_STRING;
	if (has_type(f, "char") && f->size == TRACE_COMM)
		return FILTER_CHARS;
	switch (f->size) {
	case 1:
		return f->is_signed ? FILTER_S8 : FILTER_U8;
	case 2:
		return f->is_signed ? FILTER_S16 : FILTER_U16;
	case 4:
		return f->is_signed ? FILTER_S32 : FILTER_U32;
	case 8:
		return f->is_signed ? FILTER_S64 : FILTER_U64;
	default:
		return FILTER_NONE;
	}
}

static struct filter_field filtered(const struct tracepoint_field *f)
{
	struct filter_field out = {f->name, f->name_len, f->offset, kind_of(f)};

	for (u32 i = 0; i < f->name_len; i++)
		if (f->name[i] == '[') /* the name is without the bounds */
			out.name_len = MIN(out.name_len, i);
	return out;
}

bool tracepoint_common(u32 source, u32 index, struct filter_field *out)
{
	const struct tracepoint_field f = common_field(MIN(index, NR_COMMON - 1));

	*out = filtered(&f);
	return index < NR_COMMON;
}

static bool tp_field(u32 source, u32 index, struct filter_field *out)
{
	struct tracepoint_field f;
	struct tracepoint tp;

	if (is_probe(source) && index >= NR_COMMON)
		return probe_field(source - PROBE_ID, index - NR_COMMON, out);
	if (is_probe(source))
		return tracepoint_common(source, index, out);
	if (!tracepoint_by_id(source, &tp) || !tracepoint_field(&tp, index, &f))
		return false;
	*out = filtered(&f);
	return true;
}

static const struct pmu tp_pmu = {
	.name = "tracepoint",
	.type = PERF_TYPE_TRACEPOINT,
	.capabilities = PMU_SOFTWARE,
	.event_init = tp_event_init,
	.read = pmu_no_count,
	.field = tp_field,
};

void tp_pmu_init(void)
{
	pmu_register(&tp_pmu);
}
