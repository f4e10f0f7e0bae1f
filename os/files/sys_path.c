/* System calls that take a path and open nothing, where it may be a virtual file: see vfile.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include "os/files/vfile.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "pmu/tracefs.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define BLOCK 4096
#define PROC_BLOCK 1024
#define NAME_LEN 255

static u32 type_and_mode(const struct vfile *v)
{
	return v->kind == VFILE_DIR ? S_IFDIR | 0755 : S_IFREG | v->mode;
}

/* Which file system a served file seems to be of. */
static long magic_of(const struct vfile *v)
{
	if (tracefs_has(v->path))
		return TRACEFS_MAGIC;
	return strncmp(v->path, "/proc/", 6) ? SYSFS_MAGIC : PROC_SUPER_MAGIC;
}

/*
 * The attributes of a served file. It has device, mount and times of what the host has at its path or, where it has
 * nothing there, above it: the file system is the one that Linux shows, and no mount point is where there is none.
 */
static void attributes(const struct vfile *v, struct statx *st)
{
	char path[sizeof(v->path)];
	char *slash;

	memset(st, 0, sizeof(*st));
	memcpy(path, v->path, sizeof(path));
	while (sys5(__NR_statx, AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID, st) &&
	       (slash = strrchr(path, '/')) && slash != path)
		*slash = 0;
	st->stx_mask |= STATX_BASIC_STATS;
	st->stx_attributes = 0;
	st->stx_uid = 0;
	st->stx_gid = 0;
	st->stx_mode = (u16)type_and_mode(v);
	st->stx_nlink = v->kind == VFILE_DIR ? 2 : 1;
	st->stx_size = v->kind == VFILE_FILE && magic_of(v) == SYSFS_MAGIC ? BLOCK : 0;
	st->stx_blocks = 0;
	st->stx_blksize = magic_of(v) == PROC_SUPER_MAGIC ? PROC_BLOCK : BLOCK;
	st->stx_ino = vfile_inode(v->path);
}

static dev_t device_number(u32 major, u32 minor)
{
	return (minor & 0xff) | major << 8 | (minor & ~0xffu) << 12;
}

static long stat_served(const struct vfile *v, gva to)
{
	struct statx x;
	struct stat st;

	attributes(v, &x);
	st = (struct stat){
		.st_dev = device_number(x.stx_dev_major, x.stx_dev_minor),
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_size = (s64)x.stx_size,
		.st_blksize = (s64)x.stx_blksize,
		.st_ino = x.stx_ino,
		.st_atime = x.stx_atime.tv_sec,
		.st_mtime = x.stx_mtime.tv_sec,
		.st_ctime = x.stx_ctime.tv_sec,
	};
	return guest_write(to, &st, sizeof(st));
}

static long statx_served(const struct vfile *v, gva to)
{
	struct statx st;

	attributes(v, &st);
	return guest_write(to, &st, sizeof(st));
}

static bool served(const struct vfile *v)
{
	return v->kind == VFILE_FILE || v->kind == VFILE_DIR;
}

/*
 * What the descriptor is of, if that is a served file. The guest is to see what it saw at the path: who copies a file
 * compares both.
 */
static bool __attribute__((noinline)) find_served(struct thread *t, s32 fd, struct vfile *v)
{
	char path[VFILE_DIR_PATH];

	if (!served_path(fd, path))
		return false;
	if (!vfile_lookup(t, AT_FDCWD, (gva)path, v))
		v->kind = VFILE_NONE;
	return true;
}

/* Served files are memfds, which have no name anywhere. */
static long correct_stat(struct thread *t, s32 fd, gva to)
{
	struct vfile v;
	u64 links;

	if (guest_read(&links, to + offsetof(struct stat, st_nlink), sizeof(links)) || likely(links) ||
	    !find_served(t, fd, &v))
		return 0;
	if (served(&v))
		return stat_served(&v, to);
	thread_syscall(t, __NR_newfstatat, (u64)AT_FDCWD, (u64)v.path, to, 0, 0, 0); /* its process may be gone */
	return 0;
}

static long correct_statx(struct thread *t, const u64 *a)
{
	struct vfile v;
	u32 links;

	if (guest_read(&links, a[4] + offsetof(struct statx, stx_nlink), sizeof(links)) || likely(links) ||
	    !find_served(t, (s32)a[0], &v))
		return 0;
	if (served(&v))
		return statx_served(&v, a[4]);
	thread_syscall(t, __NR_statx, (u64)AT_FDCWD, (u64)v.path, a[2] & ~(u64)AT_EMPTY_PATH, a[3], a[4], 0);
	return 0;
}

/* What is left to the host; of EXE itself it knows no other than the runtime's, which looks the same. */
static long stat_host(struct thread *t, const u64 *a, unsigned at, const struct vfile *v, bool follow)
{
	if (v->kind == VFILE_NONE || (v->kind == VFILE_EXE && follow))
		return vfile_pass(t, a, at, v);
	return syscall_pass(t, a);
}

static long stat_path(struct thread *t, const u64 *a, u64 dirfd, unsigned at, bool follow)
{
	struct vfile v;
	long ret;

	if (!vfile_or_host(t, a, dirfd, at, &v, &ret))
		return ret;
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	return served(&v) ? stat_served(&v, a[at + 1]) : stat_host(t, a, at, &v, follow);
}

long sys_stat(struct thread *t, const u64 *a)
{
	return stat_path(t, a, AT_FDCWD, 0, true);
}

long sys_lstat(struct thread *t, const u64 *a)
{
	return stat_path(t, a, AT_FDCWD, 0, false);
}

long sys_fstat(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	return ret ? ret : correct_stat(t, (s32)a[0], a[1]);
}

long sys_newfstatat(struct thread *t, const u64 *a)
{
	long ret = stat_path(t, a, a[0], 1, !(a[3] & AT_SYMLINK_NOFOLLOW));

	return ret || !(a[3] & AT_EMPTY_PATH) ? ret : correct_stat(t, (s32)a[0], a[2]);
}

long sys_statx(struct thread *t, const u64 *a)
{
	struct vfile v;
	long ret;

	if (!vfile_or_host(t, a, a[0], 1, &v, &ret))
		return ret || !(a[2] & AT_EMPTY_PATH) ? ret : correct_statx(t, a);
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	return served(&v) ? statx_served(&v, a[4]) : stat_host(t, a, 1, &v, !(a[2] & AT_SYMLINK_NOFOLLOW));
}

/* Whether the caller may; the files of the session belong to root. */
static long access_served(const struct vfile *v, u64 what)
{
	u32 mode = type_and_mode(v);
	bool root = sys0(__NR_geteuid) == 0;

	if (what & ~7ul)
		return -EINVAL;
	if ((what & 2) && !(root && (mode & 0222)))
		return -EACCES;
	return (what & 1) && !(mode & 0111) ? -EACCES : 0;
}

static long access_path(struct thread *t, const u64 *a, u64 dirfd, unsigned at)
{
	struct vfile v;
	long ret;

	if (!vfile_or_host(t, a, dirfd, at, &v, &ret))
		return ret;
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	if (served(&v))
		return access_served(&v, a[at + 1]);
	return v.kind == VFILE_NONE || v.kind == VFILE_EXE ? vfile_pass(t, a, at, &v) : syscall_pass(t, a);
}

long sys_access(struct thread *t, const u64 *a)
{
	return access_path(t, a, AT_FDCWD, 0);
}

long sys_faccessat(struct thread *t, const u64 *a)
{
	return access_path(t, a, a[0], 1);
}

long sys_faccessat2(struct thread *t, const u64 *a)
{
	return access_path(t, a, a[0], 1);
}

long vfile_check_exec(struct thread *t, const u64 *a)
{
	struct vfile v;
	long ret;

	if (!vfile_or_host(t, a, a[0], 1, &v, &ret))
		return ret;
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	if (served(&v))
		return -EACCES;
	return v.kind == VFILE_NONE || v.kind == VFILE_EXE ? vfile_pass(t, a, 1, &v) : syscall_pass(t, a);
}

/*
 * What the kernel has answered to readlink(2). Of a served file's descriptor that would be the name of its memfd: the
 * path is asked for again, whole, and the guest gets the part that it has room for. What the kernel has written behind
 * that becomes 0, since some programs rely on what they had there before.
 */
static long shown_link(struct thread *t, const u64 *a, unsigned at, const struct vfile *v, long ret)
{
	static const char head[8] = "/memfd:p";
	char start[sizeof(head)], link[SERVED_LINK], shown[SERVED_LINK] = {0};
	size_t n = MIN((size_t)MAX(ret, 0), sizeof(head)), len;
	const char *path;
	u64 args[6];

	if (!n || guest_read(start, a[at + 1], n) || likely(memcmp(start, head, n)))
		return ret;
	memcpy(args, a, sizeof(args));
	args[at + 1] = (u64)link;
	args[at + 2] = sizeof(link);
	len = (size_t)MAX(v ? vfile_pass(t, args, at, v) : syscall_pass(t, args), 0);
	path = served_path_in(link, len);
	if (!path)
		return ret;
	len = MIN(strlen(path), (size_t)ret);
	memcpy(shown, path, len);
	return guest_write(a[at + 1], shown, MIN((size_t)ret, sizeof(shown))) ? -EFAULT : (long)len;
}

static long readlink_path(struct thread *t, const u64 *a, u64 dirfd, unsigned at)
{
	struct vfile v;
	long ret;

	if (!vfile_or_host(t, a, dirfd, at, &v, &ret))
		return shown_link(t, a, at, NULL, ret);
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	if (v.kind != VFILE_NONE && v.kind != VFILE_EXE)
		return -EINVAL;
	return shown_link(t, a, at, &v, vfile_pass(t, a, at, &v));
}

long sys_readlink(struct thread *t, const u64 *a)
{
	return readlink_path(t, a, AT_FDCWD, 0);
}

long sys_readlinkat(struct thread *t, const u64 *a)
{
	return readlink_path(t, a, a[0], 1);
}

/* Paths relative to it would lead to the host's tracefs. */
long sys_chdir(struct thread *t, const u64 *a)
{
	struct vfile v;

	if (!vfile_lookup(t, AT_FDCWD, a[0], &v) || !tracefs_has(v.path)) {
		long ret = syscall_pass(t, a);

		vfile_cwd_changed();
		return ret;
	}
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	return v.kind == VFILE_DIR ? refuse(EACCES, "the session's tracefs cannot be the working directory") : -ENOTDIR;
}

long sys_fchdir(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	vfile_cwd_changed();
	return ret;
}

/* The file system is the one that the host has at its path or above it, or looks like that. */
static long statfs_served(const struct vfile *v, gva to)
{
	struct statfs fs = {.f_frsize = BLOCK};
	char path[sizeof(v->path)];
	char *slash;

	memcpy(path, v->path, sizeof(path));
	while (sys2(__NR_statfs, path, &fs) && (slash = strrchr(path, '/')) && slash != path)
		*slash = 0;
	if (fs.f_type != magic_of(v))
		fs = (struct statfs){.f_bsize = BLOCK, .f_frsize = BLOCK, .f_namelen = NAME_LEN};
	fs.f_type = magic_of(v);
	return guest_write(to, &fs, sizeof(fs));
}

long sys_statfs(struct thread *t, const u64 *a)
{
	struct vfile v;

	if (!vfile_lookup(t, AT_FDCWD, a[0], &v))
		return syscall_pass(t, a);
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	if (served(&v))
		return statfs_served(&v, a[1]);
	return v.kind == VFILE_EXE ? vfile_pass(t, a, 0, &v) : syscall_pass(t, a);
}

/* SEEK_DATA and SEEK_HOLE go by the size that the file seems to have. */
long sys_lseek(struct thread *t, const u64 *a)
{
	struct vfile v;
	struct statx st;
	long ret;

	if (vfile_asks_read_anew() && !a[1] && (u32)a[2] == SEEK_SET)
		vfile_renew(t, (s32)a[0]);
	if (vfile_asks_read_anew() && (u32)a[2] == SEEK_END && find_served(t, (s32)a[0], &v) &&
	    vfile_is_read_anew(v.kind))
		return -EINVAL; /* the kernel does not know where they end */
	ret = syscall_pass(t, a);
	if (likely((u32)a[2] != SEEK_DATA && (u32)a[2] != SEEK_HOLE) || (ret < 0 && ret != -ENXIO) ||
	    !find_served(t, (s32)a[0], &v))
		return ret;
	if (!served(&v))
		return -EINVAL;
	attributes(&v, &st);
	if (a[1] >= st.stx_size)
		return -ENXIO;
	return sys3(__NR_lseek, a[0], a[2] == SEEK_DATA ? a[1] : st.stx_size, SEEK_SET);
}

long sys_pread64(struct thread *t, const u64 *a)
{
	if (vfile_asks_read_anew() && !a[3])
		vfile_renew(t, (s32)a[0]);
	return syscall_pass(t, a);
}

long sys_fstatfs(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);
	struct vfile v;
	u64 type = ANON_INODE_FS_MAGIC;

	if (!ret && unlikely(perf_is_event(t, a[0])))
		return guest_write(a[1] + offsetof(struct statfs, f_type), &type, sizeof(type));
	if (ret || guest_read(&type, a[1] + offsetof(struct statfs, f_type), sizeof(type)) || type != TMPFS_MAGIC)
		return ret;
	if (!find_served(t, (s32)a[0], &v))
		return 0;
	if (served(&v))
		return statfs_served(&v, a[1]);
	thread_syscall(t, __NR_statfs, (u64)v.path, a[1], 0, 0, 0, 0);
	return 0;
}

/* Extended attributes: served files have none. */
static long xattr_path(struct thread *t, const u64 *a, bool follow, long none)
{
	struct vfile v;

	if (!vfile_lookup(t, AT_FDCWD, a[0], &v))
		return syscall_pass(t, a);
	if (v.kind == VFILE_ABSENT)
		return -ENOENT;
	if (served(&v))
		return none;
	return v.kind == VFILE_EXE && follow ? vfile_pass(t, a, 0, &v) : syscall_pass(t, a);
}

long sys_getxattr(struct thread *t, const u64 *a)
{
	return xattr_path(t, a, true, -ENODATA);
}

long sys_lgetxattr(struct thread *t, const u64 *a)
{
	return xattr_path(t, a, false, -ENODATA);
}

long sys_listxattr(struct thread *t, const u64 *a)
{
	return xattr_path(t, a, true, 0);
}

long sys_llistxattr(struct thread *t, const u64 *a)
{
	return xattr_path(t, a, false, 0);
}

long sys_mkdir(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	if (!ret)
		perf_mkdir(t, AT_FDCWD, a[0]);
	return ret;
}

long sys_mkdirat(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	if (!ret)
		perf_mkdir(t, (s32)a[0], a[1]);
	return ret;
}

/* All other calls that take a path and follow links: what EXE leads to. Files that are served are not known to them. */
long sys_follow_exe(struct thread *t, const u64 *a)
{
	const char *formats = syscall_formats(t->nr);
	unsigned at = (unsigned)(strchr(formats, 's') - formats);
	u64 dirfd = at && formats[at - 1] == 'a' ? a[at - 1] : (u64)AT_FDCWD;
	struct vfile v;

	return vfile_lookup(t, dirfd, a[at], &v) && v.kind == VFILE_EXE ? vfile_pass(t, a, at, &v) : syscall_pass(t, a);
}
