/*
 * Tracepoints of what happens to tasks, where a session knows of each time that it happens: of the kernel's groups
 * sched, task, signal and exceptions, with the names and fields that they have there.
 *
 * Records: the structures below, of which the format files show each member. A __data_loc says where in the record its
 * string begins (low 16 bits) and how long it is, with the 0 (high 16 bits).
 */
#ifndef PMU_TRACEPOINT_TASK_H
#define PMU_TRACEPOINT_TASK_H

#include "pmu/tracepoint.h"

enum task_trace {
	TRACE_PROCESS_FORK,
	TRACE_PROCESS_EXEC,
	TRACE_PROCESS_EXIT,
	TRACE_NEWTASK,
	TRACE_RENAME,
	TRACE_SIGNAL_DELIVER,
	TRACE_PAGE_FAULT_USER,
	TASK_TRACES,
};

#define TRACE_COMM 16 /* bytes of a name, with the 0 */

struct trace_entry {
	u16 type;
	u8 flags, preempt_count;
	s32 pid;
};

struct trace_process_fork {
	struct trace_entry entry;
	char parent_comm[TRACE_COMM];
	s32 parent_pid;
	char child_comm[TRACE_COMM];
	s32 child_pid;
};

struct trace_process_exec {
	struct trace_entry entry;
	u32 filename; /* __data_loc */
	s32 pid, old_pid;
};

struct trace_process_exit {
	struct trace_entry entry;
	char comm[TRACE_COMM];
	s32 pid, prio;
	bool group_dead;
};

struct trace_newtask {
	struct trace_entry entry;
	s32 pid;
	char comm[TRACE_COMM];
	u64 clone_flags;
	s16 oom_score_adj;
};

struct trace_rename {
	struct trace_entry entry;
	s32 pid;
	char oldcomm[TRACE_COMM], newcomm[TRACE_COMM];
	s16 oom_score_adj;
};

struct trace_signal_deliver {
	struct trace_entry entry;
	s32 sig, error, code;
	u64 sa_handler, sa_flags;
};

struct trace_page_fault_user {
	struct trace_entry entry;
	u64 address, ip, error_code;
};

struct task_tracepoint {
	const char *group, *name, *print; /* "print fmt" of the format file */
	const struct tracepoint_field *fields;
	u32 nr_fields; /* besides the common ones */
};

/* which < TASK_TRACES. */
const struct task_tracepoint *task_tracepoint(u32 which);

/* The index-th of a group: its number, or -1. index: how many of that group come before it. */
int task_tracepoint_of(const char *group, u32 index);

#endif
