/* Which paths are virtual files: see vfile.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "os/files/vfile.h"
#include "os/pin/pin.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "pmu/tracefs.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define DEVICES "/sys/bus/event_source/devices"

/* /debug/tracing, as the interface of 2009 names it. */
static bool has_debug(void)
{
	return the_process.config.abi == SESSION_ABI_2009;
}

/* Quick look at an absolute path in guest memory: false if it cannot be one of ours. */
static bool is_interesting(gva path)
{
	char head[8] = {0}; /* of "/proc/...", "/sys/..." or "/debug/..." */

	if (guest_read(head, path, 2))
		return false;
	if (head[1] != 'p' && head[1] != 's' && (head[1] != 'd' || !has_debug()))
		return head[1] == '/' || head[1] == '.'; /* written in an unusual way */
	guest_read_str(head, path, sizeof(head));
	return !strncmp(head, "/proc/", 6) || !strncmp(head, "/sys/", 5) ||
	       (!strncmp(head, "/debug/", 7) && has_debug());
}

/* Takes a part "text" or "text/" off the front of a path. */
static bool take(const char **path, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*path, text, len) || ((*path)[len] && (*path)[len] != '/'))
		return false;
	*path += len + ((*path)[len] == '/');
	return true;
}

/* Not so the root of a detached mount, whose path is "/" too. */
static bool is_root(s32 dirfd, const char *path)
{
	struct stat dir, root;

	return !strcmp(path, "/") && !sys4(__NR_newfstatat, dirfd, "", &dir, AT_EMPTY_PATH) &&
	       !sys4(__NR_newfstatat, AT_FDCWD, "/", &root, 0) && dir.st_dev == root.st_dev &&
	       dir.st_ino == root.st_ino;
}

/*
 * The directory that a relative path starts from, which is the current one for AT_FDCWD: true if there may be virtual
 * files below it, and its path (ARENA_PATH bytes).
 */
static bool find_start(s32 dirfd, char *dir)
{
	char link[32];
	const char *p = dir;
	long n;

	if (dirfd == AT_FDCWD)
		rt_snprintf(link, sizeof(link), "thread-self/cwd");
	else
		rt_snprintf(link, sizeof(link), "thread-self/fd/%d", dirfd);
	n = sys4(__NR_readlinkat, proc_dir(), link, dir, ARENA_PATH - 1);
	dir[n > 0 ? n : 0] = 0;
	return is_root(dirfd, dir) || take(&p, "/proc") || take(&p, "/sys") || (has_debug() && take(&p, "/debug"));
}

/* Whether relative paths lead from the current directory to virtual files: that of the thread that asked last. */
static enum { NOT_KNOWN, NO, YES, ROOT } cwd_is_start;

void vfile_cwd_changed(void)
{
	__atomic_store_n(&cwd_is_start, NOT_KNOWN, __ATOMIC_RELAXED);
}

static u32 find_cwd_is_start(void)
{
	char dir[ARENA_PATH];
	u32 is = __atomic_load_n(&cwd_is_start, __ATOMIC_RELAXED);

	if (unlikely(is == NOT_KNOWN)) {
		is = !find_start(AT_FDCWD, dir) ? NO : dir[1] ? YES : ROOT;
		__atomic_store_n(&cwd_is_start, is, __ATOMIC_RELAXED);
	}
	return is;
}

/*
 * For a path that is relative to a descriptor, of which nobody wants to know each time where it leads, or to the root:
 * whether its last part is the name of a virtual file, or it goes through a directory with many.
 */
static bool is_named_as_ours(gva path)
{
	static const char *const names[] = {"exe", "maps", "smaps", "status", "stat", "statm", "mountinfo",
					    "cpuinfo", "meminfo", "loadavg", "online", "possible", "present"};
	char text[ARENA_PATH];
	const char *last;

	if (guest_read_str(text, path, sizeof(text)) <= 0)
		return false;
	last = strrchr(text, '/');
	last = last ? last + 1 : text;
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(last, names[i]))
			return true;
	return !strncmp(last, "perf_", 5) || !strncmp(last, "memory.", 7) || strstr(text, "devices/") ||
	       strstr(text, "tracing");
}

static bool is_interesting_below(s32 dirfd, gva path)
{
	u32 cwd = dirfd == AT_FDCWD ? find_cwd_is_start() : ROOT;

	return cwd == YES || (cwd == ROOT && is_named_as_ours(path));
}

/* Makes an absolute path shorter by its text alone: no empty parts, no "." and "..". */
static void normalise(char *path)
{
	char *out = path, *in = path;

	while (*in) {
		char *end;
		size_t len;

		while (*in == '/')
			in++;
		end = strchr(in, '/');
		len = end ? (size_t)(end - in) : strlen(in);
		if (len == 2 && in[0] == '.' && in[1] == '.') {
			while (out > path && *--out != '/')
				;
		} else if (len && !(len == 1 && *in == '.')) {
			*out++ = '/';
			memmove(out, in, len);
			out += len;
		}
		in += len;
	}
	*out = 0;
	if (out == path) {
		path[0] = '/';
		path[1] = 0;
	}
}

static bool take_number(const char **path, s32 *out)
{
	const char *p = *path;
	u64 value = 0;

	while (*p >= '0' && *p <= '9' && value < 0x7fffffff)
		value = value * 10 + *p++ - '0';
	if (p == *path || (*p && *p != '/'))
		return false;
	*path = p + (*p == '/');
	*out = (s32)value;
	return true;
}

u32 vfile_proc_pidns(const struct thread *t)
{
	struct stat guests, launchers;

	if (likely(!t->task->depth))
		return 0;
	if (sys4(__NR_newfstatat, AT_FDCWD, "/proc", &guests, 0) ||
	    sys4(__NR_newfstatat, proc_dir(), "", &launchers, AT_EMPTY_PATH))
		return pidns_of(t->task);
	return guests.st_dev == launchers.st_dev ? 0 : pidns_of(t->task);
}

/* The slot of the process that a thread id belongs to, NULL: not of the session. */
static struct task *process_task(u32 pidns, s32 tid)
{
	u32 slot = session_find_tid(pidns, tid);
	struct task *task = slot ? session_task(slot) : NULL;

	if (task && task->pid != task->tid) {
		slot = session_find_tid(0, task->pid);
		task = slot ? session_task(slot) : task;
	}
	return task;
}

/* other: NULL if it is the caller's own. */
static void find_exe(const struct thread *t, const struct task *other, struct vfile *v)
{
	s32 own = t->has_left ? t->left_fd : the_process.runtime_fd;

	v->kind = VFILE_EXE;
	v->program = (other ? __atomic_load_n(&other->fds, __ATOMIC_ACQUIRE) : own) + EXE_FD;
}

/*
 * A process that is named by its number in the guest's /proc. Own: *pid becomes the number that it knows itself by. Its
 * numbers are private memory's, not the arena's: what execve("/proc/self/exe") executes is not for others to say.
 */
static bool is_own(const struct thread *t, u32 pidns, s32 *pid)
{
	s32 own_pid = t->host_pid, own_tid = t->host_tid;

	if (unlikely(pidns))
		pidns_ids(t->task, pidns, &own_pid, &own_tid);
	if (*pid != own_pid && *pid != own_tid)
		return false;
	*pid = *pid == own_pid ? t->group->pid : t->tid;
	return true;
}

/* What describes a process of the session. */
static enum vfile_kind kind_of(const char *name)
{
	static const struct {
		char name[8];
		enum vfile_kind kind;
	} files[] = {{"maps", VFILE_MAPS},
		     {"smaps", VFILE_SMAPS},
		     {"status", VFILE_STATUS},
		     {"stat", VFILE_STAT},
		     {"statm", VFILE_STATM}};

	for (u32 i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(name, files[i].name))
			return files[i].kind;
	return held_still(PIN_PIDS) && !strcmp(name, "mountinfo") ? VFILE_MOUNTS : VFILE_NONE;
}

/* What is below /proc. */
static void find_proc(struct thread *t, const char *p, struct vfile *v)
{
	s32 pid = 0, tid = 0, fd;
	struct task *other;
	bool own = true;
	u32 pidns;

	if (take(&p, "thread-self")) {
		tid = t->tid;
	} else if (!take(&p, "self") && !take_number(&p, &pid)) {
		if (pmu_sysfs_find(v->path, &v->mode) == PMU_NODE_FILE)
			v->kind = VFILE_FILE;
		else if (pin_is_file(v->path))
			v->kind = VFILE_PIN;
		return;
	}
	if (take(&p, "task") && !take_number(&p, &tid))
		return;
	pidns = vfile_proc_pidns(t);
	if (pid)
		own = is_own(t, pidns, &pid);
	else
		pid = t->group->pid;
	other = own ? NULL : process_task(pidns, pid);
	v->pid = !own ? 0 : tid ? tid : pid;
	if (!strcmp(p, "exe") && (own || other))
		find_exe(t, other, v);
	else
		v->kind = kind_of(p);
	/* A child that has not run yet has no slot that is found by its number. It may begin between the looks. */
	if (vfile_is_read_anew(v->kind) && !own && !other && (pidns || !session_find_made(pid)) &&
	    !process_task(pidns, pid))
		v->kind = VFILE_NONE;
	if ((take(&p, "fd") || take(&p, "fdinfo")) && take_number(&p, &fd) && vfile_fd_hidden(fd) && (own || other))
		v->kind = VFILE_ABSENT;
}

static void find_sys(struct vfile *v)
{
	enum pmu_node node = pmu_sysfs_find(v->path, &v->mode);
	const char *p = v->path;

	if (node == PMU_NODE_NONE) {
		node = tracefs_find(v->path);
		v->mode = tracefs_mode(v->path);
	}
	if (pin_is_file(v->path))
		v->kind = VFILE_PIN;
	else if (node != PMU_NODE_NONE)
		v->kind = node == PMU_NODE_DIR ? VFILE_DIR : VFILE_FILE;
	else if (take(&p, DEVICES) || tracefs_has(v->path))
		v->kind = VFILE_ABSENT;
}

static void find_normalised(struct thread *t, struct vfile *v)
{
	const char *p = v->path;

	if (take(&p, "/proc"))
		find_proc(t, p, v);
	else if (take(&p, "/sys") || tracefs_has(v->path))
		find_sys(v);
}

/*
 * Whether the kernel, too, finds what is at the shorter path. ".." behind a symbolic link goes up from where the link
 * leads: "/proc/self/cwd/../maps" is no file of the process's. Nothing is opened to find that out.
 */
static bool is_same_place(const char *written, const char *shorter)
{
	struct stat a, b;
	long a_err = sys4(__NR_newfstatat, AT_FDCWD, written, &a, AT_SYMLINK_NOFOLLOW),
	     b_err = sys4(__NR_newfstatat, AT_FDCWD, shorter, &b, AT_SYMLINK_NOFOLLOW);

	/* It may go through a directory that the host lacks, and that has no links as it is served. */
	if (a_err || b_err)
		return a_err == b_err || (a_err == -ENOENT && strncmp(written, "/proc/", 6));
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void __attribute__((noinline)) find_going_up(struct thread *t, struct vfile *v)
{
	char written[ARENA_PATH];

	memcpy(written, v->path, strlen(v->path) + 1);
	normalise(v->path);
	if (is_same_place(written, v->path))
		find_normalised(t, v);
	else
		memcpy(v->path, written, strlen(written) + 1);
}

/* What v->path is, which is absolute; makes it normalised. */
static void find_absolute(struct thread *t, struct vfile *v)
{
	if (unlikely(strstr(v->path, "/.."))) {
		find_going_up(t, v);
	} else {
		normalise(v->path);
		find_normalised(t, v);
	}
}

/*
 * The path as it was given, with the program's descriptor in place of "exe"; "exe/" and its like lead nowhere. Below a
 * served directory, in which the kernel finds nothing, it stays absolute.
 */
static void lead_to_program(struct vfile *v, bool served, gva path)
{
	static const char name[] = "exe";
	long len = served ? (long)strlen(v->path) : guest_read_str(v->path, path, sizeof(v->path)),
	     at = len - (long)strlen(name);

	if (at < 0 || strcmp(v->path + at, name) || (size_t)at + sizeof("fd/2147483647") > sizeof(v->path))
		v->kind = VFILE_NONE;
	else
		rt_snprintf(v->path + at, sizeof(v->path) - (size_t)at, "fd/%d", v->program);
}

/*
 * Finds out what the path is. dir: NULL, or the path of the directory that a relative path starts from. 0, or
 * -errno if it cannot be read or does not start there. Takes at most ARENA_PATH bytes.
 */
static int find(struct thread *t, const char *dir, bool served, gva path, struct vfile *out)
{
	size_t at = 0;
	long len;

	if (dir) {
		at = strlen(dir);
		memcpy(out->path, dir, at);
		if (at > 1)
			out->path[at++] = '/';
	}
	len = guest_read_str(out->path + at, path, sizeof(out->path) - at);
	if (len < 0)
		return (int)len;
	out->kind = VFILE_NONE;
	if (dir && (!len || out->path[at] == '/'))
		return -ENOTDIR;
	if (out->path[0] == '/')
		find_absolute(t, out);
	if (out->kind == VFILE_EXE)
		lead_to_program(out, served, path);
	return 0;
}

static bool __attribute__((noinline)) lookup_slowly(struct thread *t, u64 dirfd, gva path, struct vfile *v)
{
	char first = 0, dir[ARENA_PATH];

	guest_read(&first, path, 1);
	if (first != '/' && !find_start((s32)dirfd, dir))
		return false;
	return !find(t, first == '/' ? NULL : dir, false, path, v) && v->kind != VFILE_NONE;
}

bool vfile_lookup(struct thread *t, u64 dirfd, gva path, struct vfile *v)
{
	char first;

	if (guest_read(&first, path, 1) || !first)
		return false;
	if (likely(!(first == '/' ? is_interesting(path) : is_interesting_below((s32)dirfd, path))))
		return false;
	return lookup_slowly(t, dirfd, path, v);
}

bool __attribute__((noinline)) vfile_lookup_below(struct thread *t, u64 dirfd, gva path, struct vfile *v)
{
	char dir[VFILE_DIR_PATH];

	return (s32)dirfd >= 0 && vfile_dir_path((s32)dirfd, dir) && !find(t, dir, true, path, v);
}

bool vfile_or_host(struct thread *t, const u64 *a, u64 dirfd, unsigned at, struct vfile *v, long *ret)
{
	if (vfile_lookup(t, dirfd, a[at], v))
		return true;
	*ret = syscall_pass(t, a);
	return unlikely(*ret == -ENOTDIR) && vfile_lookup_below(t, dirfd, a[at], v);
}

long vfile_pass(struct thread *t, const u64 *a, unsigned at, const struct vfile *v)
{
	u64 args[6];

	memcpy(args, a, sizeof(args));
	args[at] = (u64)v->path;
	return syscall_pass(t, args);
}

void vfile_follow_exe(struct thread *t, s32 dirfd, char *path)
{
	struct vfile v;

	if ((vfile_lookup(t, (u64)dirfd, (gva)path, &v) && v.kind == VFILE_EXE) ||
	    vfile_lookup_below(t, (u64)dirfd, (gva)path, &v))
		memcpy(path, v.path, strlen(v.path) + 1);
}
