/* See os/mm/own_memory.h. */
#include "os/mm/own_memory.h"
#include <errno.h>
#include <sys/mman.h>
#include "dbt/dbt.h"
#include "event/space.h"
#include "os/mm/sys_mm.h"
#include "os/session/process.h"
#include "os/session/served.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#define NUMBERS	   1024 /* what comes later is compared */
#define BORROWERS  4
#define NOT_OPENED (-1)

u32 own_memory_watching WRITTEN_BY_FORK;

#define NLENT_EVER (BORROWERS + 1)

/* All under vma_lock(), but that `own` and nlent are read without. */
static struct {
	u16 last;	       /* number given */
	bool own[NUMBERS + 1]; /* never taken back */
	u16 watched;	       /* the number of the file that is, 0: none is */
	s32 fd;		       /* its descriptor, */
	u32 files;	       /* in this table of descriptors (event_ctx()->files) */
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

/* Its code is compared, and will be: nothing is to be forgotten. */
static void give_up_watched_locked(void)
{
	mine.watched = 0;
	note_watching();
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

/* Of the pages of MFD_HUGETLB no part can be protected. */
long sys_memfd_create(struct thread *t, const u64 *a)
{
	char name[SERVED_NAME];
	long ret = guest_read_str(name, a[0], sizeof(name));
	u64 given = ret < 0 ? 0 : (u64)served_guest_name(name); /* 0: the kernel says what is wrong, EFAULT or before */

	if (ret == -ENAMETOOLONG)
		return refuse(EINVAL, "the name is longer than 249 bytes");
	vma_lock();
	mine.watched = a[1] & MFD_HUGETLB || !has_descriptors_alone(t) ? 0 : new_number();
	mine.fd = NOT_OPENED;
	mine.files = descriptors_of(t);
	note_watching();
	ret = thread_syscall(t, __NR_memfd_create, given, a[1], 0, 0, 0, 0);
	mine.fd = (s32)ret;
	if (ret < 0)
		give_up_watched_locked();
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
	if (!(flags & MAP_ANONYMOUS))
		return is_watched_locked(fd) ? mine.watched : 0;
	number = (prot & PROT_EXEC) && !(flags & MAP_HUGETLB) ? new_number() : 0;
	if (number)
		__atomic_store_n(&mine.own[number], true, __ATOMIC_RELEASE);
	return number;
}

/* No other descriptor or mapping comes of it; and its descriptor, if the first argument is one, is not this file's. */
static bool is_harmless(const struct thread *t)
{
	switch (t->nr) {
	case __NR_mmap:
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_mremap:
	case __NR_madvise:
	case __NR_brk:
	case __NR_futex:
	case __NR_rt_sigaction:
	case __NR_rt_sigprocmask:
	case __NR_rt_sigreturn:
	case __NR_sched_yield:
	case __NR_clock_gettime:
	case __NR_clock_nanosleep:
	case __NR_nanosleep:
	case __NR_getpid:
	case __NR_gettid:
	case __NR_membarrier:
	case __NR_memfd_create:
		return true;
	case __NR_ftruncate:
	case __NR_fstat:
	case __NR_newfstatat:
	case __NR_close:
		return mine.fd != NOT_OPENED;
	case __NR_read:
	case __NR_write:
	case __NR_ppoll:
	case __NR_epoll_pwait:
		return mine.fd != NOT_OPENED && (s32)t->args[0] != mine.fd;
	}
	return false;
}

/* In each mapping of such memory: all of its code is forgotten, and can be written again. */
static void forget_all_locked(void)
{
	const struct vma *v;

	for (gva at = 0; (v = vma_next_locked(at)); at = v->end)
		if (v->memory)
			dbt_invalidate(v->start, v->end);
}

/* The same of a part of one of them, [from, to) in the memory. */
static void forget_part_locked(u16 number, u64 from, u64 to)
{
	const struct vma *v;

	for (gva at = 0; (v = vma_next_locked(at)); at = v->end) {
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
		__atomic_store_n(&mine.own[mine.watched], true, __ATOMIC_RELEASE);
		give_up_watched_locked();
		forget_all_locked(); /* what compares need not any more */
	}
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

void own_memory_call(struct thread *t)
{
	vma_lock();
	if (mine.watched && !is_harmless(t))
		give_up_watched_locked();
	take_back_locked();
	vma_unlock();
}

void own_memory_changed_locked(gva start, gva end)
{
	const struct vma *v;

	for (gva at = start; mine.last && (v = vma_next_locked(at)) && v->start < end; at = v->end)
		if (v->memory)
			forget_part_locked(v->memory, v->offset + (MAX(start, v->start) - v->start),
					   v->offset + (MIN(end, v->end) - v->start));
}

void own_memory_lend_locked(const struct task *to)
{
	u32 n = mine.nlent;

	if (!mine.last)
		return;
	if (mine.borrowed)
		__atomic_store_n(&arena()->memory_spread, 1, __ATOMIC_RELEASE);
	mine.watched = 0;
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
	for (u32 i = 0; i <= mine.last; i++)
		mine.own[i] = false;
	__atomic_store_n(&mine.nlent, 0, __ATOMIC_RELEASE);
	note_watching();
}

void own_memory_shared(void)
{
	if (mine.borrowed)
		__atomic_store_n(&arena()->memory_spread, 1, __ATOMIC_RELEASE);
}
