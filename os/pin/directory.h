/*
 * --pin=directories: the order in which a directory's entries are read. A file system has its own, which depends on a
 * seed, or on which entry was made first. Here each entry has a place by its name alone, a hash of it; "." and ".." are
 * the first ones. The place of the entry that was read last is the position in the host's file:
 *
 *   it belongs to the open file, so dup(2), fork(2) and SCM_RIGHTS do as they do natively; lseek(2) to a d_off, and to
 *   0, goes on from there
 *   entries that come and go meanwhile move no others: none of those is read twice, or left out
 *
 * Where all of it goes to the guest at once and the file system has the greatest position for a directory's end (ext4),
 * the host's file is left there: nothing lies behind it.
 *
 * The whole directory is read when its first entry is, and kept until the process reads another one. Of two threads or
 * processes that read one open file at the same moment each may get what the other one gets.
 *
 * The host's order has a directory whose file system takes no such positions (debugfs), and all have it in a process
 * that has asked for a seccomp filter, which may forbid lseek(2).
 */
#ifndef OS_PIN_DIRECTORY_H
#define OS_PIN_DIRECTORY_H

#include "abi/types.h"

/* getdents(2), if old, or getdents64(2). False: it is the host's. */
bool pin_read_directory(const u64 *a, bool old, long *ret);

#endif
