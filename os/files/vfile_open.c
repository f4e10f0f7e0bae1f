/*
 * Served files and directories as descriptors: see vfile.h.
 *
 * A served directory's memfd holds linux_dirent64 records; the d_off of each is the file offset of the next, so that
 * seekdir(3) works, and the first is at 0, where rewinddir(3) goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/stat.h>
#include "os/files/vfile.h"
#include "os/pin/pin.h"
#include "os/session/apart.h"
#include "os/session/pidns.h"
#include "os/session/proc.h"
#include "os/session/scratch.h"
#include "os/session/served.h"
#include "perf/perf.h"
#include "pmu/probe_def.h"
#include "pmu/tracefs.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

/* Flags of open(2) that the descriptor has; not O_NOFOLLOW and O_LARGEFILE, which F_GETFL would show. */
#define KEPT_FLAGS (O_CLOEXEC | O_NONBLOCK | O_APPEND | O_SYNC | O_PATH)

#define TYPE_DIR  4 /* DT_DIR */
#define TYPE_FILE 8 /* DT_REG */

struct dirent64 {
	u64 ino;
	s64 off;
	u16 reclen;
	u8 type;
	char name[256];
} __attribute__((packed));

#define DIRENT_HEAD offsetof(struct dirent64, name)

static long write_all(int fd, const void *buf, u64 n)
{
	long ret = sys3(__NR_write, fd, buf, n);

	return ret == (long)n ? 0 : ret < 0 ? ret : -EIO;
}

/* FNV-1a. */
u64 vfile_inode(const char *path)
{
	u32 hash = 2166136261u;

	while (*path)
		hash = (hash ^ (u8)*path++) * 16777619u;
	return hash;
}

static long write_entry(int fd, u64 *at, const char *dir, const char *name, u8 type)
{
	char path[ARENA_PATH];
	struct dirent64 d = {.type = type};
	size_t len = MIN(strlen(name), sizeof(d.name) - 8);

	rt_snprintf(path, sizeof(path), "%s/%s", dir, name);
	d.ino = vfile_inode(path);
	d.reclen = (u16)ALIGN_UP(DIRENT_HEAD + len + 1, 8);
	*at += d.reclen;
	d.off = (s64)*at;
	memcpy(d.name, name, len);
	return write_all(fd, &d, d.reclen);
}

static enum pmu_node entry(const char *dir, u32 index, char name[TRACEFS_NAME])
{
	enum pmu_node node;
	const char *other;

	if (tracefs_has(dir))
		return tracefs_entry(dir, index, name);
	node = pmu_sysfs_entry(dir, index, &other);
	if (node != PMU_NODE_NONE)
		rt_snprintf(name, TRACEFS_NAME, "%s", other);
	return node;
}

static long write_dir(const struct vfile *v, int fd)
{
	char name[TRACEFS_NAME];
	enum pmu_node node;
	u64 at = 0;
	long ret;

	ret = write_entry(fd, &at, v->path, ".", TYPE_DIR);
	if (!ret)
		ret = write_entry(fd, &at, v->path, "..", TYPE_DIR);
	for (u32 i = 0; !ret && (node = entry(v->path, i, name)) != PMU_NODE_NONE; i++)
		ret = write_entry(fd, &at, v->path, name, node == PMU_NODE_DIR ? TYPE_DIR : TYPE_FILE);
	return ret ? ret : sys2(__NR_fchmod, fd, VFILE_DIR_MARK & 07777);
}

static long write_text(const struct vfile *v, int fd, char *text)
{
	long n;

	if (tracefs_has(v->path))
		n = tracefs_read(v->path, text, TRACEFS_TEXT);
	else
		n = pmu_sysfs_read(v->path, text, TRACEFS_TEXT);
	if (n >= (long)TRACEFS_TEXT - 1) /* cut off */
		return -ENOMEM;
	return n < 0 ? n : write_all(fd, text, (u64)n);
}

static long write_file(const struct vfile *v, int fd)
{
	char *text = scratch_alloc(TRACEFS_TEXT);
	long ret;

	if (!text)
		return -ENOMEM;
	ret = write_text(v, fd, text);
	scratch_free(text, TRACEFS_TEXT);
	return ret ? ret : sys2(__NR_fchmod, fd, v->mode);
}

static long write_held(const struct vfile *v, int fd)
{
	char text[PIN_FILE_PART];
	long ret = 0;
	size_t n;

	for (u32 part = 0; !ret && (n = pin_file(v->path, part, text)); part++)
		ret = write_all(fd, text, n);
	return ret;
}

static long fill(struct thread *t, const struct vfile *v, int fd)
{
	switch (v->kind) {
	case VFILE_DIR:
		return write_dir(v, fd);
	case VFILE_FILE:
		return write_file(v, fd);
	case VFILE_PIN:
		return write_held(v, fd);
	case VFILE_MOUNTS:
		return vfile_write_mounts(v, fd);
	case VFILE_STATUS:
		return vfile_write_status(t, v, fd);
	case VFILE_STAT:
		return vfile_write_stat(t, v, fd);
	case VFILE_STATM:
		return vfile_write_statm(v, fd);
	default:
		return vfile_write_maps(t, v, fd);
	}
}

/*
 * In a table that nobody shares: the memfd as a descriptor that cannot write, with the position at the beginning;
 * itself if there is no /proc.
 */
static long read_only(int fd, u32 flags)
{
	char link[32];
	long ret;

	rt_snprintf(link, sizeof(link), "self/fd/%d", fd);
	ret = sys4(__NR_openat, proc_dir(), link, O_RDONLY | (flags & KEPT_FLAGS), 0);
	if (ret < 0) {
		sys3(__NR_lseek, fd, 0, 0);
		return fd;
	}
	/* The lower number is the one that open(2) would have given. */
	if (sys3(__NR_dup3, ret, fd, flags & O_CLOEXEC) != fd)
		return ret;
	sys1(__NR_close, ret);
	return fd;
}

/* Probes are for those who may have events of them. */
static bool may_write(const struct vfile *v)
{
	if (v->kind != VFILE_FILE || !(v->mode & 0222))
		return false;
	return sys0(__NR_geteuid) == 0 || (tracefs_has(v->path) && event_sysctl()->paranoid < 0);
}

/* A file to be made. */
struct making {
	struct thread *t;
	const struct vfile *v;
	u32 flags;
};

static bool is_writing(const struct making *m)
{
	return (m->flags & O_ACCMODE) != O_RDONLY;
}

/* The path by which its name tells what it is (ARENA_PATH bytes): in /proc the kernel has numbers there, too. */
static void name_file(const struct thread *t, const char *path, char *name)
{
	static const char self[] = "/proc/self/", thread[] = "/proc/thread-self/";
	s32 pid = t->host_pid, tid = t->host_tid;
	u32 pidns = vfile_proc_pidns(t);

	if (unlikely(pidns))
		pidns_ids(t->task, pidns, &pid, &tid);
	if (!strncmp(path, self, sizeof(self) - 1))
		rt_snprintf(name, ARENA_PATH, "/proc/%d/%s", pid, path + sizeof(self) - 1);
	else if (!strncmp(path, thread, sizeof(thread) - 1))
		rt_snprintf(name, ARENA_PATH, "/proc/%d/task/%d/%s", pid, tid, path + sizeof(thread) - 1);
	else
		rt_snprintf(name, ARENA_PATH, "%s", path);
}

/* The memfd with its contents, or -errno. */
static long make(void *arg)
{
	const struct making *m = arg;
	char name[ARENA_PATH];
	long fd, ret;

	name_file(m->t, m->v->path, name);
	fd = served_create(name, m->flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	if (fd < 0)
		return fd;
	ret = fill(m->t, m->v, (int)fd);
	if (!ret)
		ret = served_seal((int)fd);
	sys3(__NR_lseek, fd, 0, 0);
	if (!ret)
		return fd;
	sys1(__NR_close, fd);
	return ret;
}

bool vfile_read_anew;

long vfile_open(struct thread *t, const struct vfile *v, u32 flags)
{
	struct making m = {t, v, flags};
	long fd, ret;

	if (flags & O_PATH) /* to a served directory paths are relative as to one that can be read */
		m.flags = flags &= O_CLOEXEC | O_DIRECTORY | (v->kind == VFILE_DIR ? 0 : O_PATH);
	if ((flags & O_CREAT) && (flags & O_DIRECTORY)) /* O_TMPFILE, too */
		return -EINVAL;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if (v->kind == VFILE_DIR ? (flags & (O_ACCMODE | O_CREAT)) : (flags & O_DIRECTORY))
		return v->kind == VFILE_DIR ? -EISDIR : -ENOTDIR;
	if (v->kind != VFILE_DIR && (flags & O_DIRECT))
		return -EINVAL;
	if ((flags & O_TRUNC) && sys0(__NR_geteuid) && !may_write(v))
		return -EACCES;
	if (is_writing(&m) && !may_write(v))
		return refuse(EACCES, "only root may write this, and not every such file");
	if (is_writing(&m) && (flags & O_TRUNC) && tracefs_is_uprobe_events(v->path)) {
		ret = probe_undefine_all();
		if (ret)
			return ret;
	}
	if (vfile_is_read_anew(v->kind))
		__atomic_store_n(&vfile_read_anew, true, __ATOMIC_RELAXED);
	fd = apart_open(make, &m, flags & (O_ACCMODE | KEPT_FLAGS));
	if (fd != -ENOSYS)
		return fd;
	fd = make(&m);
	return fd < 0 || is_writing(&m) ? fd : read_only((int)fd, flags);
}

void vfile_renew(struct thread *t, int fd)
{
	char path[VFILE_DIR_PATH];
	struct vfile v;
	long new, flags, fd_flags;

	if (vfile_fd_hidden(fd) || !served_path(fd, path) || !vfile_lookup(t, (u64)AT_FDCWD, (gva)path, &v) ||
	    !vfile_is_read_anew(v.kind) || apart_needed())
		return;
	flags = sys3(__NR_fcntl, fd, F_GETFL, 0);
	fd_flags = sys3(__NR_fcntl, fd, F_GETFD, 0);
	if (flags < 0 || flags & O_PATH || fd_flags < 0)
		return;
	new = vfile_open(t, &v, (u32)flags & O_NONBLOCK);
	if (new < 0)
		return;
	sys3(__NR_lseek, new, sys3(__NR_lseek, fd, 0, SEEK_CUR), SEEK_SET);
	sys3(__NR_dup3, new, fd, fd_flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	sys1(__NR_close, new);
}

bool vfile_dir_path(int fd, char *path)
{
	struct stat st;

	return !sys2(__NR_fstat, fd, &st) && st.st_mode == VFILE_DIR_MARK && served_path(fd, path);
}

/* False at the end, and where there is no whole record: lseek(2) leads anywhere. */
static bool read_entry(int fd, u64 pos, struct dirent64 *d)
{
	long n = sys4(__NR_pread64, fd, d, sizeof(*d), pos);

	return n > (long)DIRENT_HEAD && d->reclen > DIRENT_HEAD && d->reclen <= n;
}

long vfile_dir_read(int fd, gva buf, u64 size)
{
	char path[VFILE_DIR_PATH];
	u64 pos, used = 0;
	struct dirent64 d;

	if (!vfile_dir_path(fd, path))
		return -ENOTDIR;
	pos = (u64)sys3(__NR_lseek, fd, 0, 1);
	while (read_entry(fd, pos, &d)) {
		if (used + d.reclen > size) {
			if (!used)
				return -EINVAL;
			break;
		}
		if (guest_write(buf + used, &d, d.reclen))
			return -EFAULT;
		used += d.reclen;
		pos += d.reclen;
	}
	sys3(__NR_lseek, fd, pos, 0);
	return (long)used;
}
