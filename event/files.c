/* See files.h. */
#include "event/files.h"

#include <asm-generic/errno.h>
#include "event/event.h"

static void drop(u32 files, u64 fd)
{
	struct event *e = event_slot(event_space->fd[files][fd]);

	__atomic_store_n(&event_space->fd[files][fd], 0, __ATOMIC_RELEASE);
	if (!--e->refs)
		event_release(e);
}

static void drop_range(u32 files, u64 first, u64 last)
{
	u64 high = event_space->files[files].high;

	for (u64 fd = first; fd < high && fd <= last; fd++)
		if (event_space->fd[files][fd])
			drop(files, fd);
}

static void enter(u32 files, u64 fd, struct event *e)
{
	struct event_files *f = &event_space->files[files];

	if (event_space->fd[files][fd])
		drop(files, fd);
	if (f->high <= fd)
		__atomic_store_n(&f->high, (u32)fd + 1, __ATOMIC_RELEASE);
	e->refs++;
	__atomic_store_n(&event_space->fd[files][fd], event_nr(e), __ATOMIC_RELEASE);
}

struct event *event_files_get_locked(task_id task, u64 fd)
{
	u32 nr = event_files_lookup(task, fd);

	return nr ? event_slot(nr) : NULL;
}

s32 event_files_find(task_id task, u32 nr)
{
	const struct event_files *files = &event_space->files[event_ctx(task)->files];

	for (u32 fd = 0; fd < __atomic_load_n(&files->high, __ATOMIC_RELAXED); fd++)
		if (event_files_lookup(task, fd) == nr)
			return (s32)fd;
	return -1;
}

int event_files_install_locked(task_id task, u64 fd, struct event *e)
{
	if (fd >= EVENT_FDS)
		return -EMFILE;
	enter(event_ctx(task)->files, fd, e);
	return 0;
}

void event_files_uninstall_locked(task_id task, u64 fd)
{
	drop_range(event_ctx(task)->files, fd, fd);
}

void event_files_close(task_id task, u64 fd)
{
	if (event_files_lookup(task, fd))
		event_files_close_range(task, fd, fd);
}

void event_files_close_range(task_id task, u64 first, u64 last)
{
	if (!event_space->opened || first >= event_space->files[event_ctx(task)->files].high)
		return;
	event_lock();
	drop_range(event_ctx(task)->files, first, last);
	event_unlock();
}

int event_files_dup(task_id task, u64 old_fd, u64 new_fd)
{
	struct event *e;
	int err = 0;

	if (!event_files_lookup(task, old_fd) && !event_files_lookup(task, new_fd))
		return 0;
	if (old_fd == new_fd)
		return 0;
	event_lock();
	e = event_files_get_locked(task, old_fd);
	if (e)
		err = event_files_install_locked(task, new_fd, e);
	else
		drop_range(event_ctx(task)->files, new_fd, new_fd);
	event_unlock();
	return err;
}

void event_files_adopt(task_id task, u64 fd, u64 inode)
{
	if (!event_space->opened || !inode || fd >= EVENT_FDS)
		return;
	event_lock();
	for (u32 nr = 1; nr < event_space->slots_high; nr++) {
		struct event *e = event_slot(nr);

		if (e->slot == SLOT_LIVE && !e->parent && e->inode == inode) {
			enter(event_ctx(task)->files, fd, e);
			break;
		}
	}
	event_unlock();
}

/* A free table, still free: it is the task that refers to it that makes it taken. 0: none. */
static u32 find_free(void)
{
	struct event_space *s = event_space;

	if (s->files[s->files_hint].users) {
		for (s->files_hint = 1; s->files_hint < s->files_high; s->files_hint++)
			if (!s->files[s->files_hint].users)
				break;
	}
	if (s->files_hint == EVENT_FILES) {
		s->files_hint = 1;
		return 0;
	}
	if (s->files_hint == s->files_high)
		s->files_high++;
	return s->files_hint;
}

static void copy_table(u32 to, u32 from)
{
	for (u32 fd = 0; fd < event_space->files[from].high; fd++)
		if (event_space->fd[from][fd])
			enter(to, fd, event_slot(event_space->fd[from][fd]));
}

static void use_table(task_id task, u32 files)
{
	event_space->files[files].users++;
	__atomic_store_n(&event_ctx(task)->files, files, __ATOMIC_RELEASE);
}

static void unuse_table(u32 files)
{
	if (--event_space->files[files].users)
		return;
	drop_range(files, 0, ~0ul);
	event_space->files[files].high = 0;
	event_space->files_hint = files;
}

int event_files_fork_locked(task_id parent, task_id child, bool share)
{
	u32 from = event_ctx(parent)->files;
	u32 to = share ? from : find_free();

	if (!to)
		return -ENOMEM;
	if (!share)
		copy_table(to, from);
	use_table(child, to);
	return 0;
}

static int unshare_locked(task_id task)
{
	u32 from = event_ctx(task)->files, to;

	if (event_space->files[from].users == 1)
		return 0;
	to = find_free();
	if (!to)
		return -ENOMEM;
	copy_table(to, from);
	use_table(task, to);
	unuse_table(from);
	return 0;
}

int event_files_unshare(task_id task)
{
	int err;

	event_lock();
	err = unshare_locked(task);
	event_unlock();
	return err;
}

int event_files_exec(task_id task, u64 (*inode_of)(u64 fd))
{
	u32 files = event_ctx(task)->files;
	int err;

	if (event_space->files[files].users == 1 && !event_space->files[files].high)
		return 0;
	event_lock();
	err = unshare_locked(task);
	files = event_ctx(task)->files;
	for (u64 fd = 0; !err && fd < event_space->files[files].high; fd++) {
		u32 nr = event_space->fd[files][fd];

		if (nr && inode_of(fd) != event_slot(nr)->inode)
			drop(files, fd);
	}
	event_unlock();
	return err;
}

void event_files_exit_locked(task_id task)
{
	unuse_table(event_ctx(task)->files);
}
