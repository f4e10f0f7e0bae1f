/* See tracepoint_task.h. Texts are those of Linux 6.18. */
#include "pmu/tracepoint_task.h"

#include "rt/string.h"

#define FIELD(of, member, c_type, c_name, sign)                                                                        \
	{                                                                                                              \
		.type = (c_type), .name = (c_name), .type_len = sizeof(c_type) - 1, .name_len = sizeof(c_name) - 1,    \
		.offset = offsetof(struct of, member), .size = sizeof(((struct of *)0)->member), .is_signed = (sign),  \
	}
#define TEXT(of, member) FIELD(of, member, "char", #member "[16]", false)
#define PID(of, member) FIELD(of, member, "pid_t", #member, true)

static const struct tracepoint_field process_fork[] = {
	TEXT(trace_process_fork, parent_comm),
	PID(trace_process_fork, parent_pid),
	TEXT(trace_process_fork, child_comm),
	PID(trace_process_fork, child_pid),
};
static const struct tracepoint_field process_exec[] = {
	FIELD(trace_process_exec, filename, "__data_loc char[]", "filename", false),
	PID(trace_process_exec, pid),
	PID(trace_process_exec, old_pid),
};
static const struct tracepoint_field process_exit[] = {
	TEXT(trace_process_exit, comm),
	PID(trace_process_exit, pid),
	FIELD(trace_process_exit, prio, "int", "prio", true),
	FIELD(trace_process_exit, group_dead, "bool", "group_dead", false),
};
static const struct tracepoint_field newtask[] = {
	PID(trace_newtask, pid),
	TEXT(trace_newtask, comm),
	FIELD(trace_newtask, clone_flags, "u64", "clone_flags", false),
	FIELD(trace_newtask, oom_score_adj, "short", "oom_score_adj", true),
};
static const struct tracepoint_field rename[] = {
	PID(trace_rename, pid),
	TEXT(trace_rename, oldcomm),
	TEXT(trace_rename, newcomm),
	FIELD(trace_rename, oom_score_adj, "short", "oom_score_adj", true),
};
static const struct tracepoint_field signal_deliver[] = {
	FIELD(trace_signal_deliver, sig, "int", "sig", true),
	FIELD(trace_signal_deliver, error, "int", "errno", true),
	FIELD(trace_signal_deliver, code, "int", "code", true),
	FIELD(trace_signal_deliver, sa_handler, "unsigned long", "sa_handler", false),
	FIELD(trace_signal_deliver, sa_flags, "unsigned long", "sa_flags", false),
};

static const struct tracepoint_field page_fault_user[] = {
	FIELD(trace_page_fault_user, address, "unsigned long", "address", false),
	FIELD(trace_page_fault_user, ip, "unsigned long", "ip", false),
	FIELD(trace_page_fault_user, error_code, "unsigned long", "error_code", false),
};

#define ROW(group, name, fields, print) {group, name, print, fields, ARRAY_SIZE(fields)}

static const struct task_tracepoint rows[TASK_TRACES] = {
	[TRACE_PROCESS_FORK] = ROW("sched", "sched_process_fork", process_fork,
		"\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, "
		"REC->child_comm, REC->child_pid"),
	[TRACE_PROCESS_EXEC] = ROW("sched", "sched_process_exec", process_exec,
		"\"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid"),
	[TRACE_PROCESS_EXIT] = ROW("sched", "sched_process_exit", process_exit,
		"\"comm=%s pid=%d prio=%d group_dead=%s\", REC->comm, REC->pid, REC->prio, "
		"REC->group_dead ? \"true\" : \"false\""),
	[TRACE_NEWTASK] = ROW("task", "task_newtask", newtask,
		"\"pid=%d comm=%s clone_flags=%llx oom_score_adj=%hd\", REC->pid, REC->comm, REC->clone_flags, "
		"REC->oom_score_adj"),
	[TRACE_RENAME] = ROW("task", "task_rename", rename,
		"\"pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd\", REC->pid, REC->oldcomm, REC->newcomm, "
		"REC->oom_score_adj"),
	[TRACE_SIGNAL_DELIVER] = ROW("signal", "signal_deliver", signal_deliver,
		"\"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx\", REC->sig, REC->errno, REC->code, "
		"REC->sa_handler, REC->sa_flags"),
	[TRACE_PAGE_FAULT_USER] = ROW("exceptions", "page_fault_user", page_fault_user,
		"\"address=%ps ip=%ps error_code=0x%lx\", (void *)REC->address, (void *)REC->ip, REC->error_code"),
};

const struct task_tracepoint *task_tracepoint(u32 which)
{
	return &rows[which];
}

int task_tracepoint_of(const char *group, u32 index)
{
	for (u32 i = 0; i < TASK_TRACES; i++)
		if (!strcmp(rows[i].group, group) && !index--)
			return (int)i;
	return -1;
}
