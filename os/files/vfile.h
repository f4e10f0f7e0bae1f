/*
 * Files that the guest must not see as they are on the host: what shows pcl instead of the guest, and what describes a
 * PMU that the host does not have.
 *
 *   /proc/PID/exe                            the guest's program, for every process of the session: by a descriptor
 *                                            of pcl's own, EXE_FD, since the kernel's link is to the runtime
 *   /proc/PID/maps, smaps                    the guest's memory as it asked for it, for the reader's own process; of
 *                                            others only pcl's own mappings are left out
 *   /proc/PID/status, stat, statm            sizes without what pcl has mapped, for every process of the session;
 *                                            signal sets as the guest has them, for the reader's own
 *   /proc/PID/fd, fdinfo                     without pcl's own descriptors
 *   /sys/bus/event_source/devices, /proc/sys/kernel/perf_event_*    see pmu/sysfs.h
 *   /sys/kernel/tracing, /sys/kernel/debug/tracing                  see pmu/tracefs.h
 *   /debug/tracing                                                  the same, with --abi=2009
 *
 * Recognised are absolute paths, however written, and paths relative to a served directory, to a current directory that
 * is the root or in /proc or /sys, and to a descriptor of such a one. Not recognised are those through symbolic links
 * that lead there: of the guest's, and as "cwd" and "root" in /proc.
 *
 * A served file is a memfd with its contents as they were at open, or at vfile_renew(), sealed, by which pcl knows it
 * again (os/session/served.h). It is opened again read-only (os/session/apart.h). In one that is opened for writing the
 * kernel refuses to write with EPERM, and vfile_write() takes its turn: who has such a descriptor was allowed to write
 * when it was opened. A served directory is a memfd, too, with the entries as getdents64 returns them. The kernel's
 * file offset is the position in the directory, so dup, fork, exec, lseek and SCM_RIGHTS need no help. Descriptors are
 * only looked at when the kernel has answered ENOTDIR or EPERM, when fstat shows a file without a name, fstatfs one of
 * tmpfs or readlink a memfd, for SEEK_DATA and SEEK_HOLE, and in a process that has opened one for SEEK_END and before
 * it is read from its beginning.
 *
 *   os/files/vfile.c         which paths are served
 *   os/files/vfile_open.c    served files and directories as descriptors
 *   os/files/vfile_write.c   writing to served files
 *   os/files/vfile_maps.c    the text of maps and smaps
 *   os/files/vfile_status.c  the text of status, stat and statm
 *   os/files/sys_open.c      the system calls that open a path
 *   os/files/sys_path.c      the others that take a path, and fstat, fstatfs and lseek
 *   os/files/sys_dir.c       getdents64
 */
#ifndef OS_VFILE_H
#define OS_VFILE_H

#include "os/session/process.h"
#include "os/session/served.h"
#include "rt/log.h"

/* True if fd is one of pcl's own descriptors: for the guest it is not open. */
static inline bool vfile_fd_hidden(int fd)
{
	return (u32)fd - (u32)the_process.runtime_fd < SESSION_FDS || (fd == log_fd && fd > 2);
}

/* The lowest of them. */
static inline s32 vfile_fd_lowest(void)
{
	return log_fd > 2 && log_fd < the_process.runtime_fd ? log_fd : the_process.runtime_fd;
}

/* A number that no process can have open, in place of one of these. */
#define VFILE_NEVER_OPEN 0x7fffffffu

enum vfile_kind {
	VFILE_NONE,   /* the host's: v->path is absolute */
	VFILE_ABSENT, /* the host's, but the guest must not see it: ENOENT */
	VFILE_EXE,    /* the link to a process's program */
	VFILE_MAPS,
	VFILE_SMAPS,
	VFILE_MOUNTS, /* with --pin=+pids */
	VFILE_STATUS,
	VFILE_STAT,
	VFILE_STATM,
	VFILE_PIN,    /* of os/pin/pin.h */
	VFILE_FILE,   /* text that describes the PMU or a setting */
	VFILE_DIR,
};

struct vfile {
	enum vfile_kind kind;
	u32 mode;	       /* permission bits, of FILE and DIR */
	s32 pid;	       /* of what is below /proc/PID: the thread that it is of; 0: of another process */
	s32 program;	       /* of EXE: the descriptor of it, in its process */
	/*
	 * Normalised, unless ".." leads elsewhere then. Of EXE: as it was given, relative to the same directory, to
	 * /proc/PID/fd/NUMBER, which leads to the program as exe would, in all that the kernel does with a path.
	 */
	char path[ARENA_PATH];
};

/*
 * What a path in guest memory is, asked before the host is: true if v was found and is not simply the host's. For
 * nearly all paths that is one look at the first bytes.
 */
bool vfile_lookup(struct thread *t, u64 dirfd, gva path, struct vfile *v);
/*
 * The same for a path that is relative to a served directory: the host has answered ENOTDIR, because the descriptor is
 * a file to it. The file may be the host's, as ".." can lead there: v->path is then its absolute path.
 */
bool vfile_lookup_below(struct thread *t, u64 dirfd, gva path, struct vfile *v);
/* The current directory is another one. */
void vfile_cwd_changed(void);
/*
 * Both, for the system call that is being served, whose a[at] is a path. False: the host has served it, *ret is its
 * answer.
 */
bool vfile_or_host(struct thread *t, const u64 *a, u64 dirfd, unsigned at, struct vfile *v, long *ret);

/* That call with v's path, of NONE and EXE. */
long vfile_pass(struct thread *t, const u64 *a, unsigned at, const struct vfile *v);

/* If path (ARENA_PATH bytes, in our memory) is EXE, it becomes one that leads to the program. */
void vfile_follow_exe(struct thread *t, s32 dirfd, char *path);

/* Which pid namespace /proc in the guest's tree is of (os/session/pidns.h): the launcher's or the caller's own. */
u32 vfile_proc_pidns(const struct thread *t);

/*
 * Puts fd, the program of the image that has just begun, in the place of the former one, and closes it. Where the limit
 * on descriptors has become too low for that, or fd is negative, there is no program, and /proc/PID/exe leads nowhere.
 */
void vfile_keep_program(s32 fd);

/* Opens what is neither NONE, ABSENT nor EXE: a descriptor or -errno. */
long vfile_open(struct thread *t, const struct vfile *v, u32 flags);

/* What such a file says changes from one time to the next. */
static inline bool vfile_is_read_anew(enum vfile_kind kind)
{
	return kind >= VFILE_MAPS && kind <= VFILE_STATM;
}

/* One has been opened. */
extern bool vfile_read_anew;

/* Whether it may be asked of a descriptor if it is one: a seccomp filter of the guest's may kill for that. */
static inline bool vfile_asks_read_anew(void)
{
	return unlikely(vfile_read_anew) && !__atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED);
}

/*
 * Before fd is read from its beginning: if it is such a file it becomes a new one, under its number. Not where others
 * have the same descriptors, since that takes another number for a moment; nor do copies of fd change. Only if
 * vfile_asks_read_anew().
 */
void vfile_renew(struct thread *t, int fd);

#define VFILE_HERE (-1l)
/* What write(2) and its kind write. */
struct vfile_data {
	gva buffers; /* n struct iovecs, not more than the kernel takes; 0: there is one, */
	u64 n;
	gva one; /* this, */
	u64 size; /* of that many bytes */
	s64 pos; /* VFILE_HERE: the file's position */
};
/* After the kernel has given EPERM: does it if fd is a served file that can be written, else -EPERM. */
long vfile_write(struct thread *t, int fd, const struct vfile_data *d);
/* pwritev(2) and pwritev2(2). That takes -1 for the file's own position, which the kernel has refused for pwritev. */
long vfile_write_at(struct thread *t, const u64 *a);

/* execveat(2) with this flag, which only asks whether the file may be executed. An older kernel says EINVAL. */
#ifndef AT_EXECVE_CHECK /* Linux 6.14 */
#define AT_EXECVE_CHECK 0x10000
#endif
long vfile_check_exec(struct thread *t, const u64 *a);

/* The inode number of a served file. */
u64 vfile_inode(const char *path);

#define VFILE_DIR_PATH SERVED_NAME
/* If fd is a served directory: true, and its path (VFILE_DIR_PATH bytes). */
bool vfile_dir_path(int fd, char *path);
/* getdents64 on a served directory. -ENOTDIR: it is none. */
long vfile_dir_read(int fd, gva buf, u64 size);
/* Permission bits and type that mark a served directory's descriptor in fstat. */
#define VFILE_DIR_MARK (0100000 | 01755)

/* Writes the guest's view of /proc/PID/maps or smaps to fd: 0 or -errno. */
int vfile_write_maps(struct thread *t, const struct vfile *v, int fd);

/* The same for /proc/PID/status, stat and statm, and mountinfo. */
int vfile_write_status(struct thread *t, const struct vfile *v, int fd);
int vfile_write_stat(struct thread *t, const struct vfile *v, int fd);
int vfile_write_statm(const struct vfile *v, int fd);
long vfile_write_mounts(const struct vfile *v, int fd);
/* The kernel's text: its length, or -errno. "thread-self" is the caller, whichever thread reads. */
long vfile_read_host(const struct vfile *v, char *text, size_t size);

#endif
