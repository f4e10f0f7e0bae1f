/* See os/mm/own_memory.h. */
#include "os/mm/own_memory.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "dbt/dbt.h"
#include "event/space.h"
#include "os/mm/sys_mm.h"
#include "os/mm/vma_chunks.h"
#include "os/session/process.h"
#include "os/session/served.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#define NUMBERS	   0xffff /* what comes later is compared */
#define BORROWERS  4
#define NOT_OPENED (-1)

u32 own_memory_watching WRITTEN_BY_FORK;

#define NLENT_EVER (BORROWERS + 1)

/* All under vma_lock(), but that `own` and nlent are read without. */
static struct {
	u16 last;	       /* number given */
	bool own[NUMBERS + 1];
	bool code;	       /* of memory with a number some has been executable */
	/* The file that is watched. What is next to `watched` is read without the lock, too. */
	u16 watched;	       /* its number, 0: none is */
	s32 fd;		       /* its descriptor, or NOT_OPENED, */
	u32 files;	       /* in this table of descriptors (event_ctx()->files) */
	bool closes;	       /* when a program is executed */
	bool executable;       /* it is mapped so, or has been */
	bool parents;	       /* it is the file of the process that this one was forked by */
	u64 dev, ino;
	/* to whom all is lent: slots, what generation and how many programs executed they had. NLENT_EVER: for good */
	u32 nlent;
	struct {
		const struct task *task;
		u32 generation, images;
	} lent[BORROWERS];
	bool borrowed; /* the map had such memory when this process was forked */
} mine WRITTEN_BY_FORK;

bool own_memory_is(u16 number)
{
	return number && __atomic_load_n(&mine.own[number], __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&mine.nlent, __ATOMIC_ACQUIRE);
}

gva dbt_host_alias(gva addr, gva after)
{
	struct vma vma;

	return !vma_lookup(addr, &vma) && vma.memory ? vma_alias(&vma, addr, after) : 0;
}

static void note_watching(void)
{
	__atomic_store_n(&own_memory_watching, mine.watched || (mine.nlent && mine.nlent != NLENT_EVER),
			 __ATOMIC_RELEASE);
}

static u16 new_number(void)
{
	return mine.last < NUMBERS ? ++mine.last : 0;
}

static void forget_all_locked(void);

/* Code in it will be compared, by whoever lent it if that was not this process. */
static void give_up_watched_locked(void)
{
	bool was_own = mine.watched && mine.own[mine.watched];

	if (mine.watched && mine.parents)
		__atomic_store_n(&arena()->memory_spread, 1, __ATOMIC_RELEASE);
	if (was_own)
		__atomic_store_n(&mine.own[mine.watched], false, __ATOMIC_RELEASE);
	__atomic_store_n(&mine.watched, 0, __ATOMIC_RELEASE);
	note_watching();
	if (was_own)
		forget_all_locked();
}

static u32 descriptors_of(const struct thread *t)
{
	return event_ctx(t->cpu->slot)->files;
}

/*
 * No other process has this one's descriptors (CLONE_FILES): its calls are not watched. Whose a NEW task is may not be
 * known yet.
 */
static bool has_descriptors_alone(const struct thread *t)
{
	for (u32 slot = 1; slot < arena_tasks_high(); slot++) {
		const struct task *other = session_task(slot);

		if (other && other->state != TASK_DEAD && event_ctx(slot)->files == descriptors_of(t) &&
		    (other->pid != t->task->pid || other->state == TASK_NEW))
			return false;
	}
	return true;
}

/*
 * The file that memfd_create(2) makes; NOT_OPENED until it has. Of the pages of MFD_HUGETLB no part can be protected.
 */
static void watch_locked(const struct thread *t, u64 flags)
{
	give_up_watched_locked();
	mine.fd = NOT_OPENED;
	mine.files = descriptors_of(t);
	mine.closes = flags & MFD_CLOEXEC;
	mine.executable = mine.parents = false;
	if (!(flags & MFD_HUGETLB) && has_descriptors_alone(t))
		__atomic_store_n(&mine.watched, new_number(), __ATOMIC_RELEASE);
	note_watching();
}

static void watched_is_open_locked(s32 fd)
{
	struct stat st;

	if (fd < 0 || sys2(__NR_fstat, fd, &st)) {
		give_up_watched_locked();
		return;
	}
	mine.dev = st.st_dev;
	mine.ino = st.st_ino;
	__atomic_store_n(&mine.own[mine.watched], mine.closes, __ATOMIC_RELEASE);
	__atomic_store_n(&mine.fd, fd, __ATOMIC_RELEASE);
}

/* One file is watched at a time: the newest one, unless the one before holds code. */
long sys_memfd_create(struct thread *t, const u64 *a)
{
	char name[SERVED_NAME];
	long ret = guest_read_str(name, a[0], sizeof(name));
	u64 given = ret < 0 ? 0 : (u64)served_guest_name(name); /* 0: the kernel says what is wrong, EFAULT or before */
	bool watch;

	if (ret == -ENAMETOOLONG)
		return refuse(EINVAL, "the name is longer than 249 bytes");
	vma_lock();
	watch = !mine.watched || !mine.executable;
	if (watch)
		watch_locked(t, a[1]);
	ret = thread_syscall(t, __NR_memfd_create, given, a[1], 0, 0, 0, 0);
	if (watch && mine.watched)
		watched_is_open_locked((s32)ret);
	vma_unlock();
	return ret;
}

/* To the current thread. */
static bool is_watched_locked(s32 fd)
{
	return mine.watched && fd == mine.fd && descriptors_of(thread_current()) == mine.files;
}

u16 own_memory_number_locked(int prot, int flags, s32 fd)
{
	u16 number;

	if ((flags & MAP_TYPE) == MAP_PRIVATE)
		return 0;
	if (flags & MAP_ANONYMOUS) {
		number = flags & MAP_HUGETLB ? 0 : new_number();
		if (number)
			__atomic_store_n(&mine.own[number], true, __ATOMIC_RELEASE);
	} else {
		number = is_watched_locked(fd) ? mine.watched : 0;
		if (number)
			mine.executable |= !!(prot & PROT_EXEC);
	}
	mine.code |= number && (prot & PROT_EXEC);
	return number;
}

/* One of these arguments is the watched file's descriptor. */
static bool names_watched(const struct thread *t, u32 descriptors)
{
	s32 fd = __atomic_load_n(&mine.fd, __ATOMIC_ACQUIRE);

	for (; descriptors; descriptors &= descriptors - 1)
		if ((s32)t->args[__builtin_ctz(descriptors)] == fd)
			return true;
	return false;
}

/* It may hold descriptors for another process. */
static bool sends_control(gva message)
{
	struct msghdr m;

	return !guest_read(&m, message, sizeof(m)) && m.msg_controllen;
}

/*
 * The call may let another process have the watched file, make another descriptor of it, or change it otherwise than by
 * way of a mapping. `descriptors`: which of its arguments are some.
 */
static bool is_harmful(const struct thread *t, u32 descriptors)
{
	switch (t->nr) {
	case __NR_mmap:
	case __NR_fstat:
	case __NR_newfstatat:
	case __NR_lseek:
	case __NR_close:
		return false;
	case __NR_ftruncate:
		return mine.executable && names_watched(t, descriptors);
	case __NR_fcntl:
		return names_watched(t, descriptors) && t->args[1] != F_GETFD && t->args[1] != F_GETFL &&
		       t->args[1] != F_GET_SEALS && t->args[1] != F_ADD_SEALS;
	case __NR_sendmsg:
		return names_watched(t, descriptors) || sends_control(t->args[1]);
	case __NR_sendmmsg:
	case __NR_io_submit:
	case __NR_remap_file_pages:
	case __NR_truncate:
	case __NR_pidfd_getfd:
		return true;
	case __NR_close_range:
	case __NR_unshare:
		return descriptors_of(t) == mine.files;
	}
	return !syscall_name(t->nr) || names_watched(t, descriptors);
}

/* In each mapping of such memory: all of its code is forgotten, and can be written again. */
static void forget_all_locked(void)
{
	for (struct vma_pos p = vma_above(0); !vma_at_end(p); p = vma_next(p)) {
		const struct vma *v = vma_entry_at(p);

		if (v->memory)
			dbt_invalidate(v->start, v->end);
	}
}

/* The same of a part of one of them, [from, to) in the memory. */
static void forget_part_locked(u16 number, u64 from, u64 to)
{
	for (struct vma_pos p = vma_above(0); !vma_at_end(p); p = vma_next(p)) {
		const struct vma *v = vma_entry_at(p);
		u64 low = MAX(from, v->offset), high = MIN(to, v->offset + (v->end - v->start));

		if (v->memory == number && low < high)
			dbt_invalidate(v->start + (low - v->offset), v->start + (high - v->offset));
	}
}

void own_memory_closed(s32 fd)
{
	if (!__atomic_load_n(&own_memory_watching, __ATOMIC_ACQUIRE))
		return;
	vma_lock();
	if (is_watched_locked(fd)) {
		bool becomes_own = !mine.own[mine.watched] && !mine.parents;

		if (becomes_own)
			__atomic_store_n(&mine.own[mine.watched], true, __ATOMIC_RELEASE);
		__atomic_store_n(&mine.watched, 0, __ATOMIC_RELEASE);
		note_watching();
		if (becomes_own)
			forget_all_locked(); /* what compares need not any more */
	}
	vma_unlock();
}

void own_memory_opened(s32 fd)
{
	struct stat st;

	if (fd < 0 || !__atomic_load_n(&own_memory_watching, __ATOMIC_ACQUIRE))
		return;
	vma_lock();
	if (mine.watched && (sys2(__NR_fstat, fd, &st) || (st.st_dev == mine.dev && st.st_ino == mine.ino)))
		give_up_watched_locked();
	vma_unlock();
}

/*
 * A child that has executed another program no longer has this memory. If its slot is another task's by now, that is
 * not known, and the memory stays lent.
 */
static void take_back_locked(void)
{
	if (!mine.nlent || mine.nlent == NLENT_EVER)
		return;
	for (u32 i = 0; i < mine.nlent; i++) {
		const struct task *task = mine.lent[i].task;

		if (__atomic_load_n(&task->images, __ATOMIC_ACQUIRE) == mine.lent[i].images ||
		    __atomic_load_n(&task->generation, __ATOMIC_ACQUIRE) != mine.lent[i].generation)
			return;
	}
	if (__atomic_load_n(&arena()->memory_spread, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&mine.nlent, 0, __ATOMIC_RELEASE);
	note_watching();
	forget_all_locked(); /* what compares need not any more */
}

static bool is_lent(void)
{
	return __atomic_load_n(&mine.nlent, __ATOMIC_ACQUIRE);
}

/* Without the lock: most calls are none of our business. While the file is being made, they wait until it is. */
static bool concerns_us(const struct thread *t, u32 descriptors)
{
	if (is_lent())
		return true;
	return __atomic_load_n(&mine.watched, __ATOMIC_ACQUIRE) &&
	       (__atomic_load_n(&mine.fd, __ATOMIC_ACQUIRE) == NOT_OPENED || is_harmful(t, descriptors));
}

void own_memory_call(struct thread *t, u32 descriptors)
{
	if (likely(!concerns_us(t, descriptors)))
		return;
	vma_lock();
	if (mine.watched && is_harmful(t, descriptors))
		give_up_watched_locked();
	take_back_locked();
	vma_unlock();
}

void own_memory_changed_locked(gva start, gva end)
{
	const struct vma *v;

	for (gva at = start; mine.last && (v = vma_next_locked(at)) && v->start < end; at = v->end) {
		if (!v->memory)
			continue;
		mine.code |= !!(v->prot & PROT_EXEC);
		mine.executable |= v->memory == mine.watched && (v->prot & PROT_EXEC);
		if (!mine.code)
			continue;
		forget_part_locked(v->memory, v->offset + (MAX(start, v->start) - v->start),
				   v->offset + (MIN(end, v->end) - v->start));
	}
}

static void own_nothing_locked(void)
{
	for (u32 i = 0; i <= mine.last; i++)
		mine.own[i] = false;
}

void own_memory_lend_locked(const struct task *to)
{
	u32 n = mine.nlent;

	if (!mine.last)
		return;
	if (mine.watched && !mine.closes)
		give_up_watched_locked();
	if (!mine.code) { /* nothing was translated from it */
		own_nothing_locked();
		mine.watched = 0;
		note_watching();
		return;
	}
	if (mine.borrowed)
		__atomic_store_n(&arena()->memory_spread, 1, __ATOMIC_RELEASE);
	if (n >= BORROWERS)
		give_up_watched_locked();
	if (n < BORROWERS) {
		mine.lent[n].task = to;
		mine.lent[n].generation = to->generation;
		mine.lent[n].images = to->images;
	}
	__atomic_store_n(&mine.nlent, n < BORROWERS ? n + 1 : NLENT_EVER, __ATOMIC_RELEASE);
	note_watching();
	forget_all_locked();
}

void own_memory_lent_to_none_locked(void)
{
	if (mine.nlent && mine.nlent != NLENT_EVER)
		__atomic_store_n(&mine.nlent, mine.nlent - 1, __ATOMIC_RELEASE);
	note_watching();
}

void own_memory_borrowed_locked(void)
{
	if (!mine.last)
		return;
	mine.borrowed = true;
	/* Numbers that are given from now on are of the child's own memory. */
	__atomic_store_n(&mine.nlent, 0, __ATOMIC_RELEASE);
	own_nothing_locked();
	mine.files = descriptors_of(thread_current());
	mine.parents = mine.watched;
	note_watching();
}

void own_memory_shared(u64 flags)
{
	if (mine.borrowed)
		__atomic_store_n(&arena()->memory_spread, 1, __ATOMIC_RELEASE);
	if (!(flags & CLONE_FILES) || !__atomic_load_n(&mine.watched, __ATOMIC_ACQUIRE))
		return;
	vma_lock();
	give_up_watched_locked();
	vma_unlock();
}
