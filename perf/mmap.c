/* See perf.h and mmap.h; and the memory of the rings, for event/host.h. */
#include <asm/fcntl.h>
#include <asm/stat.h>
#include <asm-generic/errno.h>
#include <linux/resource.h>
#include <sys/mman.h>
#include "event/map.h"
#include "event/ready.h"
#include "event/watch.h"
#include "os/mm/sys_mm.h"
#include "os/mm/vma.h"
#include "os/session/process.h"
#include "perf/mmap.h"
#include "perf/perf.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#define MAP_KEPT (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT | MAP_LOCKED | MAP_POPULATE | MAP_NONBLOCK)

struct host_rings host_rings = {(char *)LAYOUT_RINGS, LAYOUT_RINGS_SIZE / PAGE_SIZE};

void host_ring_free(u32 page, u32 pages)
{
	sys3(__NR_madvise, host_ring_page(page), pages * PAGE_SIZE, MADV_REMOVE);
}

u64 host_memlock_pages(void)
{
	u64 limit[2] = {~0ul, ~0ul};

	sys2(__NR_getrlimit, RLIMIT_MEMLOCK, limit);
	return limit[0] == ~0ul ? ~0ul : limit[0] / PAGE_SIZE;
}

/* Linux quirk: that something is there already comes before what is wrong with the mapping of an event. */
static bool is_taken(const u64 *a)
{
	u64 len = (a[1] + PAGE_SIZE - 1) & -PAGE_SIZE;
	const struct vma *v;
	bool taken;

	if ((a[3] & (MAP_FIXED_NOREPLACE | MAP_HUGETLB)) != MAP_FIXED_NOREPLACE || !len || (a[0] | a[5]) % PAGE_SIZE)
		return false;
	vma_lock();
	v = vma_next_locked(a[0]);
	taken = v && v->start < a[0] + len;
	vma_unlock();
	return taken;
}

long perf_mmap(struct thread *t, const u64 *a)
{
	struct event_map_request rq = {.len = a[1], .prot = (u32)a[2], .flags = (u32)a[3], .offset = a[5]};
	struct mm_map m = {.addr = a[0], .prot = (int)a[2], .flags = MAP_SHARED | (a[3] & MAP_KEPT), .kind = VMA_EVENT};
	long ret = is_taken(a) ? refuse(EEXIST, "something is mapped there") : 0;

	ret = ret ? ret : event_map_begin(t->cpu->slot, (u32)a[4], &rq);
	if (ret)
		return ret;
	m.len = rq.pages * PAGE_SIZE;
	m.fd = the_process.runtime_fd + ARENA_FD;
	m.offset = LAYOUT_RINGS - LAYOUT_ARENA + rq.page * PAGE_SIZE;
	ret = mm_map(&m);
	if (sys_is_error(ret)) {
		event_map_undo(&rq);
		return ret;
	}
	sys3(__NR_madvise, ret, m.len, MADV_DONTFORK);
	sys3(__NR_madvise, ret, m.len, MADV_DONTDUMP);
	sys2(__NR_munlock, ret, m.len); /* MAP_LOCKED, MCL_FUTURE: it is memory of a device */
	rq.addr = (gva)ret;
	event_map_commit(&rq);
	if (event_watched()) { /* POLLHUP is over, and so is the news of it */
		perf_drain((s32)a[4]);
		event_ready_missed(t->cpu->slot, (u32)a[4]);
	}
	perf_mapped(t, (gva)ret, -1);
	return ret;
}

void perf_mmap_inode(struct perf_mmap_inode *out)
{
	long fd = sys2(__NR_eventfd2, 0, O_CLOEXEC);
	struct stat st = {0};

	if (!sys_is_error(fd)) {
		sys2(__NR_fstat, fd, &st);
		sys1(__NR_close, fd);
	}
	*out = (struct perf_mmap_inode){(u32)(st.st_dev >> 8 & 0xfff), (u32)(st.st_dev & 0xff), st.st_ino};
}

enum perf_range perf_range(gva start, gva end)
{
	task_id task = host_current();
	enum perf_range found;

	if (likely(!task || !event_map_any(task, start, end)))
		return PERF_RANGE_NONE;
	vma_lock();
	found = perf_range_locked(start, end);
	vma_unlock();
	return found;
}

/* Also where the memory map has none: an entry whose memory is gone goes here, see event/map.h. */
int perf_unmap_begin(gva start, gva end)
{
	task_id task = host_current();

	if (likely(!task || !event_map_any(task, start, end)))
		return 0;
	if (perf_range(start, end) == PERF_RANGE_CUT)
		return refuse(EINVAL, "an event's mapping can only be unmapped as a whole");
	event_map_remove_begin(task, start, end);
	return 1;
}

void perf_unmap_end(gva start, gva end, bool done)
{
	event_map_remove_end(host_current(), start, end, done);
}

enum perf_range perf_range_locked(gva start, gva end)
{
	enum perf_range found = PERF_RANGE_NONE;
	const struct vma *v;

	for (gva at = start; at < end && (v = vma_next_locked(at)) && v->start < end; at = v->end) {
		if (v->kind != VMA_EVENT)
			continue;
		if (v->start < start || v->end > end)
			return PERF_RANGE_CUT;
		found = PERF_RANGE_WHOLE;
	}
	return found;
}

/* By a change of a part's protection. */
static bool is_split(const struct vma *v, gva start, gva end, u64 prot)
{
	return (v->start < start || v->end > end) && v->prot != (prot & (PROT_READ | PROT_WRITE | PROT_EXEC));
}

gva perf_denied_locked(gva start, gva end, u64 prot)
{
	const struct vma *v;

	for (gva at = start; at < end && (v = vma_next_locked(at)) && v->start < end; at = v->end)
		if (v->kind == VMA_EVENT && (prot & PROT_EXEC || is_split(v, start, end, prot)))
			return MAX(v->start, start);
	return end;
}

/* As for any memory of a device in Linux. */
int perf_advice(gva start, gva end, int advice)
{
	enum perf_range range = perf_range(start, end);

	if (likely(range == PERF_RANGE_NONE))
		return 0;
	switch (advice) {
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
		return range == PERF_RANGE_WHOLE ? 0 : refuse(EINVAL, "an event's mapping has one advice");
	case MADV_NORMAL:
	case MADV_WILLNEED:
	case MADV_DONTFORK:
	case MADV_MERGEABLE:
	case MADV_UNMERGEABLE:
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_DONTDUMP:
	case MADV_KEEPONFORK:
		return 0;
	case MADV_REMOVE:
		return refuse(ENODEV, "event mappings have no file to make a hole in");
	default:
		return refuse(EINVAL, "not an advice for event mappings");
	}
}

/* One that another thread was making may not have had MADV_DONTFORK yet. */
void perf_mmap_after_fork(void)
{
	const struct vma *v;
	gva at = 0;

	if (likely(!event_space->opened))
		return;
	vma_lock();
	while ((v = vma_next_locked(at))) {
		gva start = v->start;

		at = v->end;
		if (v->kind != VMA_EVENT)
			continue;
		sys2(__NR_munmap, start, at - start);
		vma_remove_locked(start, at);
	}
	vma_unlock();
}
