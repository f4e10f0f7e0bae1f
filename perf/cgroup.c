/* See cgroup.h. */
#include "perf/cgroup.h"

#include <asm/errno.h>
#include <asm/stat.h>
#include <asm/statfs.h>
#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include "event/cgroup.h"
#include "event/host.h"
#include "os/session/proc.h"
#include "os/session/scratch.h"
#include "perf/perf.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define MOUNT	  "/sys/fs/cgroup"
#define ROOT_ID	  1
#define TEXT	  8192 /* of /proc/PID/cgroup: a line for each hierarchy, the unified one's is the last */
#define MOUNTINFO (1 << 20)
#define LOOKS	  8 /* at one task, if it is moved all the time */

/* event_space.cgroups: tasks look for themselves; and all have been looked at. */
enum { CGROUPS_LOOKED_AT = 1, CGROUPS_KNOWN };

/* ---- /proc/PID/cgroup ---- */

/* Ends the line that begins there; where the next one begins, NULL: there is none. */
static char *end_line(char *line)
{
	char *end = strchr(line, '\n');

	if (end)
		*end++ = 0;
	return end && *end ? end : NULL;
}

/* The word is one of those in a list with commas. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, len) && (!list[len] || list[len] == ','))
			return true;
	}
	return false;
}

/* The paths of a task; NULL: not known, or there is no such hierarchy. */
struct paths {
	char *unified, *perf_event; /* the hierarchy of version 2; that of version 1 with the controller */
};

/* The text is cut into lines. */
static void parse(char *text, struct paths *out)
{
	char *line = text, *next, *list, *path;

	*out = (struct paths){NULL, NULL};
	for (; line; line = next) {
		next = end_line(line);
		list = strchr(line, ':');
		path = list ? strchr(++list, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		if (!*list)
			out->unified = path;
		else if (has_word(list, "perf_event"))
			out->perf_event = path;
	}
}

u64 cgroup_id_of_self(void)
{
	char text[TEXT], path[sizeof(text) + sizeof(MOUNT)];
	struct paths paths;
	struct stat st;

	if (proc_read("self/cgroup", text, sizeof(text)) < 0)
		return ROOT_ID;
	parse(text, &paths);
	if (!paths.unified)
		return ROOT_ID;
	rt_snprintf(path, sizeof(path), MOUNT "%s", paths.unified);
	return sys2(__NR_stat, path, &st) ? ROOT_ID : st.st_ino;
}

/* Where a task is, for events. *legacy: by version 1. NULL: nobody knows. */
static const char *path_of(const struct task *task, char *text, bool *legacy)
{
	struct paths paths;
	char name[48];

	rt_snprintf(name, sizeof(name), "%d/task/%d/cgroup", task->pid, task->tid);
	if (proc_read(name, text, TEXT) <= 0)
		return NULL;
	parse(text, &paths);
	*legacy = paths.perf_event != NULL;
	return *legacy ? paths.perf_event : paths.unified;
}

/* ---- where tasks are ---- */

static u64 namespace_of_self(void)
{
	struct stat st;

	return sys4(__NR_newfstatat, proc_dir(), "thread-self/ns/cgroup", &st, 0) ? 0 : st.st_ino;
}

static bool is_in_namespace(void)
{
	return namespace_of_self() == event_space->cgroup_ns;
}

/* Others may look at the same time: what was read first is not to be told last. */
static void look_at(const struct task *task)
{
	struct event_ctx *ctx = event_ctx(task_slot(task));
	u32 generation = ctx->generation, looked, tries = LOOKS;
	struct cgroup_path path;
	char text[TEXT];
	const char *name;
	bool legacy;

	do {
		looked = __atomic_load_n(&ctx->cgroup_moves, __ATOMIC_ACQUIRE);
		name = path_of(task, text, &legacy);
		if (!name)
			return;
		cgroup_path_of(name, &path);
		if (cgroup_path_is_same(&ctx->cgroup, &path))
			return;
	} while (!event_cgroup_moved(task_slot(task), generation, looked, &path) && --tries);
}

static void look_at_all(void)
{
	for (u32 slot = 1; slot < arena_tasks_high(); slot++)
		if (__atomic_load_n(&arena_task(slot)->state, __ATOMIC_ACQUIRE) == TASK_ALIVE)
			look_at(arena_task(slot));
}

void perf_cgroup_look_slowly(struct thread *t, bool force)
{
	u64 now = host_clock_perf();

	if (!force && now - t->cgroup_looked < CGROUP_LOOK_NS)
		return;
	t->cgroup_looked = now;
	if (is_in_namespace())
		look_at(t->task);
}

void perf_cgroup_written_slowly(struct thread *t, s32 fd)
{
	struct statfs fs;

	if (sys2(__NR_fstatfs, fd, &fs) || (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC))
		return;
	if (is_in_namespace())
		look_at_all();
}

/* ---- a descriptor's cgroup ---- */

/* A line of mountinfo. */
struct mount {
	char *root, *point, *type, *options;
};

static char *next_word(char *at, char **word)
{
	char *end = at ? strchr(at, ' ') : NULL;

	*word = at;
	if (end)
		*end++ = 0;
	return end;
}

static bool parse_mount(char *line, struct mount *m)
{
	char *word, *at = line;

	for (u32 i = 0; i < 3; i++) /* number, parent, device */
		at = next_word(at, &word);
	at = next_word(at, &m->root);
	at = next_word(at, &m->point);
	do
		at = next_word(at, &word); /* options, and optional fields up to a "-" */
	while (word && strcmp(word, "-"));
	at = next_word(at, &m->type);
	at = next_word(at, &word);
	next_word(at, &m->options);
	return m->options;
}

/* What of a path lies below a directory; NULL: it does not. */
static const char *below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strncmp(path, dir, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

/* The path in the hierarchy of a directory that is mounted there: in out, or "". */
static void find_in_mounts(char *mountinfo, const char *path, bool legacy, char *out, size_t size)
{
	size_t best = 0;
	struct mount m;

	out[0] = 0;
	for (char *line = mountinfo, *next; line; line = next) {
		const char *rest;

		next = end_line(line);
		if (!parse_mount(line, &m) || strcmp(m.type, legacy ? "cgroup" : "cgroup2") ||
		    (legacy && !has_word(m.options, "perf_event")))
			continue;
		rest = below(path, m.point);
		if (!rest || strlen(m.point) < best)
			continue;
		best = strlen(m.point);
		rt_snprintf(out, size, "%s%s", strcmp(m.root, "/") ? m.root : "", rest);
		if (!out[0])
			rt_snprintf(out, size, "/");
	}
}

/* 0 or -errno. */
static int path_of_directory(const struct thread *t, s32 fd, bool legacy, char *out, size_t size)
{
	char name[48], path[ARENA_PATH], *text = scratch_alloc(MOUNTINFO);
	long n;

	if (!text)
		return -ENOMEM;
	out[0] = 0;
	rt_snprintf(name, sizeof(name), "thread-self/fd/%d", fd);
	n = sys4(__NR_readlinkat, proc_dir(), name, path, sizeof(path) - 1);
	path[MAX(n, 0l)] = 0;
	rt_snprintf(name, sizeof(name), "%d/task/%d/mountinfo", t->task->pid, t->task->tid);
	if (n > 0 && proc_read(name, text, MOUNTINFO) > 0)
		find_in_mounts(text, path, legacy, out, size);
	scratch_free(text, MOUNTINFO);
	return out[0] ? 0 : -ENOENT;
}

/* -EBADF: no directory of a cgroup. *legacy: of version 1. */
static int check_directory(s32 fd, bool *legacy)
{
	long flags = sys2(__NR_fcntl, fd, F_GETFL);
	struct statfs fs;
	struct stat st;

	if (sys_is_error(flags) || (flags & O_PATH) || sys2(__NR_fstatfs, fd, &fs) || sys2(__NR_fstat, fd, &st))
		return -EBADF;
	if ((fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC) || !S_ISDIR(st.st_mode))
		return -EBADF;
	*legacy = fs.f_type == CGROUP_SUPER_MAGIC;
	return 0;
}

/* The first one that is opened: from now on tasks look for themselves; where they are now is found out here. */
static int begin(void)
{
	if (__atomic_load_n(&event_space->cgroups, __ATOMIC_ACQUIRE) == CGROUPS_KNOWN)
		return is_in_namespace() ? 0 : -ENOENT;
	event_space->cgroup_ns = namespace_of_self();
	__atomic_store_n(&event_space->cgroups, CGROUPS_LOOKED_AT, __ATOMIC_RELEASE);
	look_at_all();
	__atomic_store_n(&event_space->cgroups, CGROUPS_KNOWN, __ATOMIC_RELEASE);
	return 0;
}

int host_cgroup(s32 fd, struct cgroup_path *out)
{
	struct thread *t = thread_current();
	char text[TEXT], path[ARENA_PATH];
	bool legacy, of_tasks;
	int err = check_directory(fd, &legacy);

	if (err)
		return err;
	if (!path_of(t->task, text, &of_tasks) || legacy != of_tasks)
		return -ENOENT;
	if (sys3(__NR_faccessat, fd, "cgroup.procs", 0)) /* it was removed */
		return -ENOENT;
	err = path_of_directory(t, fd, legacy, path, sizeof(path));
	if (err)
		return err;
	return cgroup_path_of(path, out) ? begin() : -ENOENT;
}
