/*
 * Work that needs descriptors, without a number of the guest's table.
 *
 * In a shared table a number that pcl takes for a while is visible: another thread's open() gets a different number
 * than natively, or the thread closes pcl's, which it takes for its own. So where the caller's table is shared
 * (CLONE_FILES: threads, or processes), apart_run() makes a kernel thread with an empty table, has it call the
 * function, and waits for its end. Where nobody shares it, the function is simply called.
 *
 *   clone without CLONE_FS       its working directory is its own: the launcher's /proc, which it could not name
 *                                otherwise
 *   close_range(0, ~0, UNSHARE)  a new table without what the old one has: it never holds a file of the guest's open
 *   function                     on the caller's stack, below the caller's frames: thread_current() is the caller
 *   exit                         the caller goes on when nobody can see the thread any more
 *
 * It lives for one call (some 40 us), because one that stayed would have to be hidden from /proc, unshare(2), setns(2),
 * exec and limits, and would have the user id and the filters of another time. A child process instead could be waited
 * for by the guest, and may be number 1 of a new pid namespace. All signals that can be are blocked in both. Where the
 * kernel refuses the thread or its table (RLIMIT_NPROC, a filter of the guest's, unshare(CLONE_NEWPID) before), the
 * function is called with the guest's table.
 *
 * Rules for the function:
 *  1. It is not called in a section, and enters none (rt/section.h); see os/session/facts.h.
 *  2. Its paths are absolute, relative to proc_dir(), or made by apart_path(). The guest's descriptors are not there.
 *  3. In /proc "self" is the process, but "thread-self" is not the caller.
 */
#ifndef OS_APART_H
#define OS_APART_H

#include "abi/types.h"

/*
 * The caller's table has other users. They cannot become more meanwhile: it would have to be the caller that makes
 * them.
 */
bool apart_needed(void);

/* fn(arg). */
long apart_run(long (*fn)(void *arg), void *arg);

/* The same, but in such a thread in any case: -ENOSYS, there is none. */
long apart_run_with_table(long (*fn)(void *arg), void *arg);

/*
 * fn makes a descriptor, or -errno; its file becomes one of the guest's, opened again with these flags, in one step and
 * under the lowest free number. -ENOSYS: there is no such thread, or no /proc.
 */
long apart_open(long (*fn)(void *arg), void *arg, u32 flags);

/*
 * For fn: what to name instead of dirfd and a path, which may be "", as the caller would understand it. Returns the
 * directory's descriptor and sets *path; text is for that, ARENA_PATH + 64 bytes.
 */
s32 apart_path(char *text, s32 dirfd, const char **path);

/*
 * The calling thread runs no guest code any more, and is about to read files: from now on its table is its own, and
 * they are read plainly. pcl's own descriptors are there under their numbers, and nothing else.
 */
void apart_leave(void);

struct apart;

/* A new kernel thread, which goes to apart_begin(a) on that stack; its id is in *tid until it has left this memory. */
long apart_clone(u64 flags, u32 *tid, u64 stack_top, struct apart *a);
void apart_begin(struct apart *a) __attribute__((noreturn));

#endif
