/* format files of the session's tracefs: the layout of a tracepoint's records. */
#include "pmu/tracefs.h"
#include "pmu/tracefs_texts.h"
#include "pmu/tracepoint_task.h"
#include "rt/fmt.h"

int tracefs_tracepoint_name(const struct tracepoint *tp, char *buf, size_t size)
{
	const char *prefix = trace_is_enter(tp->kind) ? "sys_enter" : "sys_exit";

	if (tp->kind == TRACE_TASK)
		return rt_snprintf(buf, size, "%s", task_tracepoint(tp->nr)->name);
	return rt_snprintf(buf, size, tp->call ? "%s_%s" : "%s", prefix, tp->call);
}

/* "print fmt": how the record looks as text. */
static size_t append_print(const struct tracepoint *tp, char *buf, size_t size, size_t at)
{
	struct tracepoint_field f;
	u32 first = 5; /* behind the common fields and the number */

	at = rt_append(buf, size, at, "\nprint fmt: ");
	if (tp->kind == TRACE_TASK)
		return rt_append(buf, size, at, "%s\n", task_tracepoint(tp->nr)->print);
	if (tp->kind == TRACE_RAW_ENTER)
		return rt_append(buf, size, at,
				 "\"NR %%ld (%%lx, %%lx, %%lx, %%lx, %%lx, %%lx)\", REC->id, REC->args[0], "
				 "REC->args[1], REC->args[2], REC->args[3], REC->args[4], REC->args[5]\n");
	if (tp->kind == TRACE_RAW_EXIT)
		return rt_append(buf, size, at, "\"NR %%ld = %%ld\", REC->id, REC->ret\n");
	if (tp->kind == TRACE_EXIT)
		return rt_append(buf, size, at, "\"0x%%lx\", REC->ret\n");
	at = rt_append(buf, size, at, "\"");
	for (u32 i = first; tracepoint_field(tp, i, &f); i++)
		at = rt_append(buf, size, at, "%s%.*s: 0x%%08lx", i > first ? ", " : "", (int)f.name_len, f.name);
	at = rt_append(buf, size, at, "\"");
	for (u32 i = first; tracepoint_field(tp, i, &f); i++)
		at = rt_append(buf, size, at, ", ((unsigned long)(REC->%.*s))", (int)f.name_len, f.name);
	return rt_append(buf, size, at, "\n");
}

long tracefs_format(const struct tracepoint *tp, char *buf, size_t size)
{
	char name[TRACEFS_NAME];
	struct tracepoint_field f;
	bool common = true;
	size_t at;

	tracefs_tracepoint_name(tp, name, sizeof(name));
	at = rt_append(buf, size, 0, "name: %s\nID: %u\nformat:\n", name, tracepoint_id(tp->kind, tp->nr));
	for (u32 i = 0; tracepoint_field(tp, i, &f); i++) {
		if (common && !f.common)
			at = rt_append(buf, size, at, "\n");
		common = f.common;
		at = rt_append(buf, size, at, "\tfield:%.*s %.*s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", (int)f.type_len,
			       f.type, (int)f.name_len, f.name, f.offset, f.size, f.is_signed);
	}
	return (long)append_print(tp, buf, size, at);
}
