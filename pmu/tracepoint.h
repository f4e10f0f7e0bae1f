/*
 * Tracepoints: what happens at the session's system calls and to its tasks, under the names and in the records of
 * Linux.
 *
 *   syscalls:sys_enter_NAME, syscalls:sys_exit_NAME       one system call
 *   raw_syscalls:sys_enter, raw_syscalls:sys_exit         all of them
 *   sched:sched_process_fork and so on                    see pmu/tracepoint_task.h
 *
 * attr.config is the id that the virtual tracefs (pmu/tracefs.h) shows; ids are the same in every session. There are no
 * others: what happens inside the kernel cannot be seen.
 */
#ifndef PMU_TRACEPOINT_H
#define PMU_TRACEPOINT_H

#include "abi/types.h"
#include "event/filter.h"

enum tracepoint_kind { TRACE_ENTER, TRACE_EXIT, TRACE_RAW_ENTER, TRACE_RAW_EXIT, TRACE_TASK };

#define TRACE_ARGS 6
#define TRACE_CALLS 512 /* numbers of system calls are below */

static inline bool trace_is_raw(enum tracepoint_kind kind)
{
	return kind == TRACE_RAW_ENTER || kind == TRACE_RAW_EXIT;
}

static inline bool trace_is_enter(enum tracepoint_kind kind)
{
	return kind == TRACE_ENTER || kind == TRACE_RAW_ENTER;
}

/* Its id: 0 if the system call has none. nr does not matter to the raw ones; TRACE_TASK: an enum task_trace. */
u32 tracepoint_id(enum tracepoint_kind kind, s64 nr);

struct tracepoint {
	enum tracepoint_kind kind;
	u32 nr;		  /* of the system call, not of the raw ones; or an enum task_trace */
	const char *call; /* name of the system call; NULL: all */
	const char *args; /* "type name, type name" */
	u32 nr_args;
};
/* False: no tracepoint has this id. */
bool tracepoint_by_id(u64 id, struct tracepoint *out);
/* The same by a system call's name, of which len bytes count. */
bool tracepoint_by_name(enum tracepoint_kind kind, const char *call, size_t len, struct tracepoint *out);

/* One field of a record. Names and types are not terminated. */
struct tracepoint_field {
	const char *type, *name;
	u32 type_len, name_len;
	u16 offset, size;
	bool is_signed;
	bool common; /* of every tracepoint's records */
};
/* The index-th field. False: it has no more. */
bool tracepoint_field(const struct tracepoint *tp, u32 index, struct tracepoint_field *out);

/* For filters: the fields that the records of every source have. */
bool tracepoint_common(u32 source, u32 index, struct filter_field *out);

/* The field is the address of a string. */
bool tracepoint_is_string(const struct tracepoint_field *f);

/*
 * A record as PERF_SAMPLE_RAW has it: its size, then that many bytes, together a multiple of 8. values: the arguments,
 * or the result.
 */
struct tracepoint_record {
	u32 size;
	u8 data[8 + 8 + 8 * TRACE_ARGS + 4];
};
void tracepoint_fill(const struct tracepoint *tp, s64 nr, s32 tid, const u64 *values, struct tracepoint_record *out);

#endif
