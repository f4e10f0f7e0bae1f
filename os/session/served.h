/*
 * The memfds that are files served to the guest (os/files/vfile.h), and how pcl knows them again: by their name,
 *
 *     pcl-KEY:PATH
 *
 * and by their seal against writing. So whoever has such a descriptor, from dup, fork, exec or SCM_RIGHTS, has one that
 * pcl made. A guest cannot make one:
 *
 *  1. A file keeps the name that memfd_create(2) has given it, and the guest's call leaves "pcl-KEY:" out.
 *  2. KEY is a random number, which processes outside of the session cannot know. A process that leaves the session
 *     (os/task/split.h) keeps it, as it keeps its descriptors.
 *  3. Another file whose path is the same text cannot be sealed against writing. Of an O_PATH descriptor the kernel
 *     does not tell seals; nothing can be read from it.
 *  4. The seal is there before the guest gets the descriptor, so the bytes are pcl's too.
 *
 * The name is asked for in the launcher's /proc. Where there was none, nothing is known again.
 */
#ifndef OS_SERVED_H
#define OS_SERVED_H

#include "abi/types.h"

#define SERVED_NAME 250 /* bytes of a memfd's name, terminated: the kernel takes no more */

/* A new one for an absolute path, to be filled; cloexec: MFD_CLOEXEC or 0. A descriptor, or -errno. */
long served_create(const char *path, u32 cloexec);
/* Nothing can be written to it any more. 0, or -errno. */
long served_seal(int fd);
/* If fd is one that is sealed: true, and its path (SERVED_NAME bytes). */
bool served_path(int fd, char *path);
/* The path in the text of a descriptor's link in /proc/PID/fd, of n bytes. NULL: it is no served file's. */
#define SERVED_LINK (SERVED_NAME + 32)
const char *served_path_in(char *link, size_t n);

/* The part of a memfd's name that a guest may give. */
const char *served_guest_name(const char *name);

#endif
