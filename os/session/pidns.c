/* See pidns.h. */
#include <asm/errno.h>
#include <asm/stat.h>
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

bool pidns_usable(void)
{
	struct stat st;

	/* With the mount option hidepid, processes of other users seem not to exist; the first one mostly is root's. */
	return !sys4(__NR_newfstatat, proc_dir(), "1", &st, 0) && !sys4(__NR_newfstatat, proc_dir(), "self", &st, 0);
}

static s32 number(const char *s, const char **end)
{
	s32 value = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		value = value * 10 + (*s - '0');
	*end = s;
	return value;
}

/* The link is PID/task/TID, in the namespace that this /proc is of. */
void pidns_self(s32 *pid, s32 *tid)
{
	static const char middle[] = "/task/";
	char link[48];
	long n = sys4(__NR_readlinkat, proc_dir(), "thread-self", link, sizeof(link) - 1);
	const char *end;

	link[MAX(n, 0l)] = 0;
	*pid = number(link, &end);
	if (*pid && !strncmp(end, middle, sizeof(middle) - 1)) {
		*tid = number(end + sizeof(middle) - 1, &end);
		return;
	}
	*pid = (s32)sys0(__NR_getpid);
	*tid = (s32)sys0(__NR_gettid);
}

static u32 ns_of_self(void)
{
	struct stat st;

	return sys4(__NR_newfstatat, proc_dir(), "thread-self/ns/pid", &st, 0) ? 0 : (u32)st.st_ino;
}

/* setns() may have led several levels down: another task may know the namespaces between. */
static void name_levels(struct task *task, u32 from)
{
	u32 ns = pidns_of(task), depth = MIN(task->depth, PIDNS_DEPTH);

	for (u32 i = from; i + 1 < depth; i++)
		task->inner[i].ns = 0;
	for (u32 slot = 1; slot < arena_tasks_high(); slot++) {
		const struct task *other = arena_task(slot);

		if (other == task || other->state != TASK_ALIVE || other->depth != task->depth || pidns_of(other) != ns)
			continue;
		for (u32 i = from; i + 1 < depth; i++)
			task->inner[i].ns = other->inner[i].ns;
		return;
	}
}

/* In a process that is alone yet: nobody sees the descriptor of the file that is read. */
static void enter_namespace(struct task *task, u32 ns)
{
	u32 from = task->depth;
	s32 ids[2][1 + PIDNS_DEPTH];
	int levels = proc_read_ids(task->pid, task->tid, ids, 1 + PIDNS_DEPTH);
	struct pidns_ids *own;

	from = MIN(from, PIDNS_DEPTH);
	task->depth = levels > 1 ? (u32)levels - 1 : MIN(from + 1, PIDNS_DEPTH);
	own = (struct pidns_ids *)pidns_inner(task);
	if (own) /* whatever others have written meanwhile */
		own->ns = ns;
	name_levels(task, from);
}

static void fill_levels(struct task *task)
{
	struct pidns_ids *own = (struct pidns_ids *)pidns_inner(task);
	s32 ids[2][1 + PIDNS_DEPTH];
	int levels = task->depth > 1 ? proc_read_ids(task->pid, task->tid, ids, 1 + PIDNS_DEPTH) : 0;

	for (int i = 1; i < levels && (u32)i <= MIN(task->depth, PIDNS_DEPTH); i++) {
		task->inner[i - 1].pid = ids[0][i];
		task->inner[i - 1].tid = ids[1][i];
	}
	if (!own)
		return;
	own->pid = (s32)sys0(__NR_getpid);
	own->tid = (s32)sys0(__NR_gettid);
}

void pidns_begin(struct task *task, s32 pid, s32 tid)
{
	u32 ns;

	if (likely(!task->depth && !task->made_apart)) {
		task->pid = pid;
		task->tid = tid;
		return;
	}
	pidns_self(&task->pid, &task->tid);
	if (task->made_apart) {
		ns = ns_of_self();
		if (ns != (task->depth ? pidns_of(task) : arena()->pid_namespace))
			enter_namespace(task, ns);
		task->made_apart = 0;
	}
	if (task->depth)
		fill_levels(task);
}

u32 pidns_own(void)
{
	const struct thread *t = thread_current();

	return t && t->task ? pidns_of(t->task) : 0;
}

bool pidns_ids_slowly(const struct task *task, u32 ns, s32 *pid, s32 *tid)
{
	u32 depth = MIN(task->depth, PIDNS_DEPTH);

	*pid = *tid = 0;
	for (u32 i = 0; i < depth; i++) {
		if (task->inner[i].ns != ns)
			continue;
		*pid = task->inner[i].pid;
		*tid = task->inner[i].tid;
		return true;
	}
	return false;
}

bool pidns_exists(s32 pid, s32 tid)
{
	char path[32];
	struct stat st;

	long ret;

	if (!pidns_own()) {
		ret = sys3(__NR_tgkill, pid, tid, 0);
		return ret != -ESRCH && ret != -EINVAL;
	}
	rt_snprintf(path, sizeof(path), "%d/task/%d", pid, tid);
	return sys4(__NR_newfstatat, proc_dir(), path, &st, 0) != -ENOENT;
}
