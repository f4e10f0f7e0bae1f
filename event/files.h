/*
 * Which descriptors are events. Each task has a table of its process's event descriptors (shared under CLONE_FILES);
 * every entry is a reference to its event, and the event goes when the last one does.
 *
 * Functions take event_lock() themselves unless their name says _locked. Descriptors at or above EVENT_FDS cannot be
 * events: event_files_install_locked() answers -EMFILE.
 *
 * A descriptor in a message (SCM_RIGHTS) is a reference, too: who sends it may close it before it is received. Nobody
 * tells of a message that is never received: its event goes on until the session ends.
 */
#ifndef EVENT_FILES_H
#define EVENT_FILES_H

#include "event/space.h"

/* The event that a descriptor of the task is, 0: it is none. Takes no lock: one test in a session without events. */
static inline u32 event_files_lookup(task_id task, u64 fd)
{
	u32 files;

	if (likely(!__atomic_load_n(&event_space->opened, __ATOMIC_RELAXED)))
		return 0;
	files = event_ctx(task)->files;
	if (fd >= MIN(__atomic_load_n(&event_files_slot(files)->high, __ATOMIC_RELAXED), EVENT_FDS))
		return 0;
	return __atomic_load_n(event_fd_entry(files, fd), __ATOMIC_RELAXED);
}

/* The same, for good. With the lock held; NULL: none. */
struct event *event_files_get_locked(task_id task, u64 fd);

/*
 * A descriptor of the task that is event number nr, and the first one from `fd` on that is any; -1: there is none. Take
 * no lock.
 */
s32 event_files_find(task_id task, u32 nr);
s32 event_files_next(task_id task, u32 fd);

/* Enters a descriptor; whatever was there is closed. 0 or -EMFILE, and nothing was closed. */
int event_files_install_locked(task_id task, u64 fd, struct event *e);
void event_files_uninstall_locked(task_id task, u64 fd);

/*
 * The task closes a descriptor, or all of a range (both ends included). Nothing happens to those that are no events.
 * True: there is an event among them of which the task's table has no descriptor any more, and another table has:
 * event.left.
 */
bool event_files_close(task_id task, u64 fd);
bool event_files_close_range(task_id task, u64 first, u64 last);
/* The task's table has a descriptor of such an event. Takes no lock. */
bool event_files_has_left(task_id task);

/*
 * dup, dup2, dup3, F_DUPFD: new_fd is now what old_fd is. Call when the host has made it, and when what new_fd was
 * has been closed as above. 0 or -EMFILE: close new_fd.
 */
int event_files_dup(task_id task, u64 old_fd, u64 new_fd);

/*
 * A descriptor came from another process (SCM_RIGHTS, pidfd_getfd): if the file behind it is an event's, it is one here
 * too. in_message: it was in a message, and is not any more.
 */
void event_files_adopt(task_id task, u64 fd, u64 inode, bool in_message);

/* A descriptor is about to be sent in a message; unsent: it was not sent. Nothing happens to one that is no event. */
void event_files_sent(task_id task, u64 fd);
void event_files_unsent(task_id task, u64 fd);

/* unshare(CLONE_FILES), or CLOSE_RANGE_UNSHARE: the task gets a table of its own. 0 or -ENOMEM. */
int event_files_unshare(task_id task);

/*
 * In the new image after exec: a table of its own, without what exec has closed. `inode_of` gives the inode number of
 * an open descriptor or 0; an entry stays if it is that of its event.
 */
int event_files_exec(task_id task, u64 (*inode_of)(u64 fd));

/* For event/task.c, with the lock held. */
int event_files_fork_locked(task_id parent, task_id child, bool share);
void event_files_exit_locked(task_id task);

#endif
