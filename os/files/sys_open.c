/*
 * open(2) and its kind, where the path may be a virtual file: see vfile.h.
 *
 * What openat2(2) is told about the way to a file (how.resolve) the kernel judges, where the host has something at the
 * path. In a served directory, which is none to the kernel, there are no links and no mount points: a path may only not
 * go above it. RESOLVE_IN_ROOT refuses that, too, and does not take a path with a slash in front there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include "os/files/vfile.h"
#include "os/mm/own_memory.h"
#include "os/mm/warm.h"
#include "os/syscall.h"
#include "pmu/tracefs.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

/* Who looks for a tracepoint is told why it is not there. */
static long open_absent(const struct vfile *v)
{
	const char *why = tracefs_missing(v->path);

	return why ? refuse(ENOENT, why) : -ENOENT;
}

/* What is not EXE. */
static long open_virtual(struct thread *t, const struct vfile *v, u64 flags, u64 mode)
{
	switch (v->kind) {
	case VFILE_ABSENT:
		return open_absent(v);
	case VFILE_NONE:
		return thread_syscall(t, __NR_openat, AT_FDCWD, (u64)v->path, flags, mode, 0, 0);
	default:
		return vfile_open(t, v, (u32)flags);
	}
}

static long open_at(struct thread *t, const u64 *a, u64 dirfd, unsigned at)
{
	u64 flags = a[at + 1];
	struct vfile v;
	long ret;

	if (vfile_or_host(t, a, dirfd, at, &v, &ret))
		ret = v.kind == VFILE_EXE ? vfile_pass(t, a, at, &v) : open_virtual(t, &v, flags, a[at + 2]);
	warm_opened(ret, flags);
	own_memory_opened((s32)ret);
	return ret;
}

long sys_open(struct thread *t, const u64 *a)
{
	return open_at(t, a, AT_FDCWD, 0);
}

long sys_creat(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	warm_opened(ret, O_WRONLY);
	own_memory_opened((s32)ret);
	return ret;
}

long sys_openat(struct thread *t, const u64 *a)
{
	return open_at(t, a, a[0], 1);
}

/* What the kernel says of the structure alone, or 0: it has looked at that before it finds that the path is empty. */
static long judge_how(struct thread *t, const u64 *a)
{
	long ret = thread_syscall(t, __NR_openat2, AT_FDCWD, (u64)"", a[2], a[3], 0, 0);

	return ret == -ENOENT ? 0 : ret;
}

/*
 * What it says of the way to the file, or 0. It is asked to open for writing what must be a directory, so it opens
 * nothing: ENOTDIR or EISDIR mean that it has come there. On ENOENT the host lacks the file.
 */
static long judge_way(struct thread *t, const u64 *a, const struct open_how *how)
{
	const struct open_how there = {.flags = O_WRONLY | O_DIRECTORY | (how->flags & O_NOFOLLOW),
				       .resolve = how->resolve};
	long ret;

	if (!how->resolve)
		return 0;
	ret = thread_syscall(t, __NR_openat2, a[0], a[1], (u64)&there, sizeof(there), 0, 0);
	return ret == -ENOTDIR || ret == -EISDIR || ret == -ENOENT ? 0 : ret;
}

/* RESOLVE_IN_ROOT has a path begin at dirfd even if it has a slash in front: whether it leads to v all the same. */
static bool is_in_root(const u64 *a, const struct vfile *v)
{
	struct stat in, out;
	gva path = a[1];
	char c;

	while (!guest_read(&c, path, 1) && c == '/')
		path++;
	return !sys4(__NR_newfstatat, a[0], path, &in, 0) && !sys4(__NR_newfstatat, AT_FDCWD, v->path, &out, 0) &&
	       in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* A path that is relative to a served directory goes above it, if only for a while. */
static bool __attribute__((noinline)) goes_above(gva path)
{
	char text[ARENA_PATH];
	s32 depth = 0;
	size_t len;

	if (guest_read_str(text, path, sizeof(text)) < 0)
		return true;
	for (const char *p = text; *p && depth >= 0; p += len + (p[len] == '/')) {
		const char *end = strchr(p, '/');

		len = end ? (size_t)(end - p) : strlen(p);
		if (len == 2 && p[0] == '.' && p[1] == '.')
			depth--;
		else if (len && !(len == 1 && *p == '.'))
			depth++;
	}
	return depth < 0;
}

static long open_by_how(struct thread *t, const u64 *a, const struct open_how *how)
{
	bool in_root = how->resolve & RESOLVE_IN_ROOT; /* no link as EXE is followed there */
	struct vfile v;
	bool found = vfile_lookup(t, a[0], a[1], &v);
	long ret;

	if (found && v.kind == VFILE_EXE)
		return in_root ? syscall_pass(t, a) : vfile_pass(t, a, 1, &v);
	if (found && (!in_root || is_in_root(a, &v))) {
		ret = judge_how(t, a);
		if (!ret)
			ret = judge_way(t, a, how);
		return ret ? ret : open_virtual(t, &v, how->flags, how->mode);
	}
	ret = syscall_pass(t, a);
	if (likely(ret != -ENOTDIR) || !vfile_lookup_below(t, a[0], a[1], &v))
		return ret;
	if ((how->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) && goes_above(a[1]))
		return refuse(EXDEV, "the path goes above a directory that pcl serves");
	return open_virtual(t, &v, how->flags, how->mode);
}

long sys_openat2(struct thread *t, const u64 *a)
{
	struct open_how how;
	long ret;

	if (a[3] < sizeof(how) || guest_read(&how, a[2], sizeof(how)))
		return syscall_pass(t, a);
	ret = open_by_how(t, a, &how);
	warm_opened(ret, how.flags);
	own_memory_opened((s32)ret);
	return ret;
}
