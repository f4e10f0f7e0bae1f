/*
 * Files that the guest must not see as they are on the host: what shows pcl instead of the guest, and what describes a PMU
 * that the host does not have.
 *
 *   os/vfile.c       which paths are served, and how a served file becomes a descriptor
 *   os/vfile_proc.c  /proc/PID/maps, smaps, exe
 *   os/vfile_sys.c   /sys/bus/event_source/devices, /proc/sys/kernel/perf_event_*
 *   os/sys_path.c    the system calls that take a path
 *   os/sys_fd.c      the system calls on descriptors that must not meet pcl's own
 *
 * A served file is a memfd with its contents, opened again read-only. A served directory is a memfd, too: its
 * contents are the directory entries as getdents64 returns them, so the kernel's file offset is the position in
 * the directory and dup, fork, exec, lseek and SCM_RIGHTS need no help. Such descriptors are recognised by the name that the memfd
 * bears, and only looked at when the kernel has answered ENOTDIR, or fstat shows the mark.
 */
#ifndef OS_VFILE_H
#define OS_VFILE_H

#include "os/thread.h"

/* True if fd is one of pcl's own descriptors: for the guest it is not open. */
bool vfile_fd_hidden(const struct thread *t, int fd);

/* If path (ARENA_PATH bytes) is a /proc/.../exe of a task of the session, replaces it by the path of its program: true. */
bool vfile_follow_exe(struct thread *t, char *path);

#endif
