/* See files.h. */
#include "event/files.h"

#include <asm-generic/errno.h>
#include "event/event.h"
#include "event/ring.h"
#include "rt/log.h"
#include "rt/string.h"

static void put(struct event *e)
{
	if (!--e->refs)
		event_release(e);
}

static void drop(u32 files, u64 fd)
{
	u32 *entry = event_fd_entry(files, fd);
	struct event *e = event_slot(*entry);

	__atomic_store_n(entry, 0, __ATOMIC_RELEASE);
	put(e);
}

/* The first descriptor from fd on that is an event, ~0: there is none. */
static u64 next_entry(u32 files, u64 fd)
{
	const struct event_files *f = event_files_slot(files);

	for (; fd < MIN(f->high, EVENT_FDS); fd++) {
		if (!f->chunk[fd / EVENT_FD_CHUNK])
			fd |= EVENT_FD_CHUNK - 1;
		else if (*event_fd_entry(files, fd))
			return fd;
	}
	return ~0ul;
}

#define for_each_fd(fd, files) for (u64 fd = next_entry(files, 0); fd != ~0ul; fd = next_entry(files, fd + 1))

static void drop_range(u32 files, u64 first, u64 last)
{
	for (u64 fd = next_entry(files, first); fd != ~0ul && fd <= last; fd = next_entry(files, fd + 1))
		drop(files, fd);
}

/* False: the session has none left. */
static bool add_chunk(u32 *where)
{
	struct event_space *s = event_space;
	u32 nr = EVENT_WITHIN(s->fds_free, fds);

	if (nr) {
		s->fds_free = s->fds[nr].fd[0];
		s->fds[nr].fd[0] = 0;
	} else if (s->fds_high < EVENT_FD_CHUNKS) {
		nr = s->fds_high++;
	}
	__atomic_store_n(where, nr, __ATOMIC_RELEASE);
	return nr;
}

static bool enter(u32 files, u64 fd, struct event *e)
{
	struct event_files *f = event_files_slot(files);

	check(fd < EVENT_FDS);
	if (!f->chunk[fd / EVENT_FD_CHUNK] && !add_chunk(&f->chunk[fd / EVENT_FD_CHUNK]))
		return false;
	if (*event_fd_entry(files, fd))
		drop(files, fd);
	if (f->high <= fd)
		__atomic_store_n(&f->high, (u32)fd + 1, __ATOMIC_RELEASE);
	e->refs++;
	__atomic_store_n(event_fd_entry(files, fd), event_nr(e), __ATOMIC_RELEASE);
	return true;
}

struct event *event_files_get_locked(task_id task, u64 fd)
{
	u32 nr = event_files_lookup(task, fd);

	check_slow(event_is_locked());
	return nr ? event_slot(nr) : NULL;
}

s32 event_files_next(task_id task, u32 fd)
{
	const struct event_files *files = event_files_slot(event_ctx(task)->files);

	for (; fd < MIN(__atomic_load_n(&files->high, __ATOMIC_RELAXED), EVENT_FDS); fd++) {
		if (!files->chunk[fd / EVENT_FD_CHUNK])
			fd |= EVENT_FD_CHUNK - 1;
		else if (event_files_lookup(task, fd))
			return (s32)fd;
	}
	return -1;
}

s32 event_files_find(task_id task, u32 nr)
{
	s32 fd = event_files_next(task, 0);

	while (fd >= 0 && event_files_lookup(task, (u32)fd) != nr)
		fd = event_files_next(task, (u32)fd + 1);
	return fd;
}

int event_files_install_locked(task_id task, u64 fd, struct event *e)
{
	check_slow(event_is_locked());
	return fd < EVENT_FDS && enter(event_ctx(task)->files, fd, e) ? 0 : -EMFILE;
}

void event_files_uninstall_locked(task_id task, u64 fd)
{
	check_slow(event_is_locked());
	drop_range(event_ctx(task)->files, fd, fd);
}

/* Those of the references that are no descriptors in a table. */
static u32 not_in_tables(const struct event *e)
{
	const struct ring *r = ring_of(e);

	return e->in_messages + (ring_is_own(r, e) ? r->maps : 0);
}

/* True if others have descriptors of the event still. */
static bool note_left(task_id task, u32 nr)
{
	struct event *e = event_slot(nr);

	if (e->refs <= not_in_tables(e) || event_files_find(task, nr) >= 0)
		return false;
	event_space->left += !e->left;
	e->left = 1;
	return true;
}

static bool close_range_locked(task_id task, u64 first, u64 last)
{
	u32 files = event_ctx(task)->files;
	bool left = false;

	for (u64 fd = next_entry(files, first); fd != ~0ul && fd <= last; fd = next_entry(files, fd + 1)) {
		u32 nr = *event_fd_entry(files, fd);
		bool last_ref = event_slot(nr)->refs == 1;

		drop(files, fd);
		left |= !last_ref && note_left(task, nr);
	}
	return left;
}

bool event_files_close(task_id task, u64 fd)
{
	return event_files_lookup(task, fd) && event_files_close_range(task, fd, fd);
}

bool event_files_close_range(task_id task, u64 first, u64 last)
{
	bool left;

	if (!event_space->opened || first >= event_files_slot(event_ctx(task)->files)->high)
		return false;
	event_lock();
	left = close_range_locked(task, first, last);
	event_unlock();
	return left;
}

bool event_files_has_left(task_id task)
{
	const struct event_files *files = event_files_slot(event_ctx(task)->files);

	for (u32 fd = 0; fd < MIN(__atomic_load_n(&files->high, __ATOMIC_RELAXED), EVENT_FDS); fd++) {
		u32 nr;

		if (!files->chunk[fd / EVENT_FD_CHUNK])
			fd |= EVENT_FD_CHUNK - 1;
		else if ((nr = event_files_lookup(task, fd)) && event_slot(nr)->left)
			return true;
	}
	return false;
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

static void enter_message(struct event *e)
{
	e->refs++;
	e->in_messages++;
}

static void leave_message(struct event *e)
{
	if (!e->in_messages)
		return;
	e->in_messages--;
	put(e);
}

void event_files_adopt(task_id task, u64 fd, u64 inode, bool in_message)
{
	struct event *e;

	if (!event_space->opened || !inode || fd >= EVENT_FDS)
		return;
	event_lock();
	for_each_opened(e) {
		if (e->inode == inode) {
			(void)event_files_install_locked(task, fd, e);
			if (in_message)
				leave_message(e);
			break;
		}
	}
	event_unlock();
}

static void with_event(task_id task, u64 fd, void (*fn)(struct event *e))
{
	struct event *e;

	if (!event_files_lookup(task, fd))
		return;
	event_lock();
	e = event_files_get_locked(task, fd);
	if (e)
		fn(e);
	event_unlock();
}

void event_files_sent(task_id task, u64 fd)
{
	with_event(task, fd, enter_message);
}

void event_files_unsent(task_id task, u64 fd)
{
	with_event(task, fd, leave_message);
}

/* Its chunks are free when its entries are. */
static void make_free(u32 files)
{
	struct event_space *s = event_space;
	struct event_files *f = event_files_slot(files);

	for (u32 i = 0; i < EVENT_FDS / EVENT_FD_CHUNK && i * EVENT_FD_CHUNK < f->high; i++) {
		u32 nr = EVENT_WITHIN(f->chunk[i], fds);

		if (!nr)
			continue;
		f->chunk[i] = 0;
		s->fds[nr].fd[0] = s->fds_free;
		s->fds_free = nr;
	}
	f->high = 0;
	f->next_free = s->files_free;
	s->files_free = files;
}

/* 0: there is none. */
static u32 take_free(void)
{
	struct event_space *s = event_space;
	u32 files = EVENT_WITHIN(s->files_free, files);

	check_slow(event_is_locked());
	if (files)
		s->files_free = event_files_slot(files)->next_free;
	else if (s->files_high < EVENT_FILES)
		files = s->files_high++;
	return files;
}

/* False: the new one is free again. */
static bool copy_table(u32 to, u32 from)
{
	for_each_fd(fd, from) {
		if (enter(to, fd, event_slot(*event_fd_entry(from, fd))))
			continue;
		drop_range(to, 0, ~0ul);
		make_free(to);
		return false;
	}
	return true;
}

static void use_table(task_id task, u32 files)
{
	event_files_slot(files)->users++;
	__atomic_store_n(&event_ctx(task)->files, files, __ATOMIC_RELEASE);
}

static void unuse_table(u32 files)
{
	if (--event_files_slot(files)->users)
		return;
	drop_range(files, 0, ~0ul);
	make_free(files);
}

int event_files_fork_locked(task_id parent, task_id child, bool share)
{
	u32 from = event_ctx(parent)->files;
	u32 to = share ? from : take_free();

	check_slow(event_is_locked());
	if (!to || (!share && !copy_table(to, from)))
		return -ENOMEM;
	use_table(child, to);
	return 0;
}

static int unshare_locked(task_id task)
{
	u32 from = event_ctx(task)->files, to;

	if (event_files_slot(from)->users == 1)
		return 0;
	to = take_free();
	if (!to || !copy_table(to, from))
		return -ENOMEM;
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

	if (event_files_slot(files)->users == 1 && !event_files_slot(files)->high)
		return 0;
	event_lock();
	err = unshare_locked(task);
	files = event_ctx(task)->files;
	for_each_fd(fd, files)
		if (!err && inode_of(fd) != event_slot(*event_fd_entry(files, fd))->inode)
			drop(files, fd);
	event_unlock();
	return err;
}

void event_files_exit_locked(task_id task)
{
	check_slow(event_is_locked());
	unuse_table(event_ctx(task)->files);
}
