/* mremap, madvise, remap_file_pages, System V shared memory: see os/mm/sys_mm.c for the rules. */
#include <errno.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include "dbt/dbt.h"
#include "event/map.h"
#include "os/mm/exec_memory.h"
#include "os/mm/make_way.h"
#include "os/mm/own_memory.h"
#include "os/mm/sys_mm.h"
#include "os/mm/vma.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/layout.h"
#include "rt/map.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif
#define HUGE_PAGE  0x200000ul
#define MM_HIGHEST LAYOUT_GUEST_END

static bool pcl_memory_locked(gva start, gva end)
{
	return vma_reserved(start, end) || vma_host_locked(start, end);
}

/* The map's entries of [from, from + old_len) appear at `to` too; the last one is stretched to new_len. */
static void copy_entries_locked(gva from, u64 old_len, gva to, u64 new_len)
{
	gva at = from;

	do {
		const struct vma *found = vma_next_locked(at);
		struct vma vma;

		if (!found || found->start > at)
			return;
		vma = *found;
		at = vma.end;
		if (vma.start < from) {
			vma.offset += from - vma.start;
			vma.start = from;
		}
		vma.end = at < from + old_len ? at - from + to : to + new_len;
		vma.start = vma.start - from + to;
		vma_insert_locked(&vma);
	} while (at < from + old_len);
}

struct remap {
	gva old, new;
	u64 old_len, new_len, flags;
};

static long host_mremap(const struct remap *r, u64 flags, gva to)
{
	long ret = sys5(__NR_mremap, r->old, r->old_len, r->new_len, flags, to);

	/* Pages that the translator protects split the host's mapping, which then cannot be moved as one. */
	if (ret == -EFAULT && vma_exec_locked(r->old, r->old + r->old_len) && dbt_unprotect_all())
		ret = sys5(__NR_mremap, r->old, r->old_len, r->new_len, flags, to);
	return ret;
}

/* Pages that the translator had protected have moved without its knowledge: they get what the guest asked for. */
static void restore_protection_locked(gva start, gva end)
{
	const struct vma *v;

	for (gva at = start; at < end && (v = vma_next_locked(at)) && v->start < end; at = v->end)
		if ((v->prot & PROT_EXEC) || v->memory)
			sys3(__NR_mprotect, MAX(v->start, start), MIN(v->end, end) - MAX(v->start, start),
			     vma_host_prot(v->prot));
}

static long remap_to_locked(const struct remap *r, u64 flags, gva to)
{
	long ret = host_mremap(r, flags, to);

	if (sys_is_error(ret))
		return ret;
	copy_entries_locked(r->old, r->old_len, ret, r->new_len);
	if (!(flags & MREMAP_DONTUNMAP) && r->old_len)
		vma_remove_locked(r->old, r->old + r->old_len);
	return ret;
}

/* To a place of our choice, kept free until the kernel has moved there; else to one of the kernel's. */
static long remap_anywhere_locked(const struct remap *r)
{
	gva to = vma_find_free_locked(PLACE_TOP, r->new_len, PAGE_SIZE);
	long ret = -ENOMEM;

	if (to)
		ret = rt_map_at(to, r->new_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_is_error(ret))
		return remap_to_locked(r, r->flags, 0);
	ret = remap_to_locked(r, r->flags | MREMAP_FIXED, to);
	if (sys_is_error(ret))
		sys2(__NR_munmap, to, r->new_len);
	return ret;
}

static long remap_shrink_locked(const struct remap *r)
{
	long ret = host_mremap(r, 0, 0);

	if (!sys_is_error(ret))
		vma_remove_locked(r->old + r->new_len, r->old + r->old_len);
	return ret;
}

static bool is_mapped_locked(gva at)
{
	const struct vma *v = vma_next_locked(at);

	return v && v->start <= at;
}

static long remap_locked(const struct remap *r)
{
	gva old_end = r->old + r->old_len, grown_end = r->old + r->new_len;
	long ret;

	if (pcl_memory_locked(r->old, MAX(old_end, r->old + 1)) || !is_mapped_locked(r->old))
		return -EFAULT;
	if (!vma_room_locked())
		return -ENOMEM;
	if (r->flags & MREMAP_FIXED) {
		if (pcl_memory_locked(r->new, r->new + r->new_len))
			return refuse(ENOMEM, "mremap over pcl's own memory");
		return remap_to_locked(r, r->flags, r->new);
	}
	if (r->flags & MREMAP_DONTUNMAP || !r->old_len)
		return remap_anywhere_locked(r);
	if (r->new_len <= r->old_len)
		return r->new_len < r->old_len ? remap_shrink_locked(r) : host_mremap(r, 0, 0);
	ret = -ENOMEM;
	if (grown_end <= MM_HIGHEST && vma_free_locked(old_end, grown_end)) {
		ret = host_mremap(r, 0, 0);
		if (!sys_is_error(ret))
			copy_entries_locked(r->old, r->old_len, r->old, r->new_len);
	}
	if (ret == -ENOMEM && (r->flags & MREMAP_MAYMOVE))
		ret = remap_anywhere_locked(r);
	return ret;
}

/* The checks of check_mremap_params() and mremap_to() in Linux, mm/mremap.c. */
static bool remap_valid(const struct remap *r)
{
	if (r->flags & ~(u64)(MREMAP_FIXED | MREMAP_MAYMOVE | MREMAP_DONTUNMAP))
		return false;
	if ((r->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) && !(r->flags & MREMAP_MAYMOVE))
		return false;
	if ((r->flags & MREMAP_DONTUNMAP) && r->old_len != r->new_len)
		return false;
	if ((r->old & (PAGE_SIZE - 1)) || !r->new_len || r->new_len > MM_HIGHEST)
		return false;
	if (r->old > MM_HIGHEST || r->old_len > MM_HIGHEST)
		return false;
	if (!(r->flags & MREMAP_FIXED))
		return true;
	if ((r->new &(PAGE_SIZE - 1)) || r->new > MM_HIGHEST - r->new_len)
		return false;
	return r->old + r->old_len <= r->new || r->new + r->new_len <= r->old;
}

/* No event's mapping is in the old range. */
static long remap_plain(const struct remap *r)
{
	bool had_code, fixed = r->flags & MREMAP_FIXED;
	int events = fixed ? perf_unmap_begin(r->new, r->new + r->new_len) : 0;
	long ret;

	if (events < 0)
		return -EINVAL;
	if (fixed)
		make_way_lock(r->new, r->new + r->new_len);
	else
		make_way_lock_free(r->old + r->old_len, r->old + r->new_len, r->flags & MREMAP_MAYMOVE);
	had_code = vma_exec_locked(r->old, r->old + MAX(r->old_len, 1ul)) ||
		   (fixed && vma_exec_locked(r->new, r->new + r->new_len));
	ret = remap_locked(r);
	if (had_code && !sys_is_error(ret)) {
		dbt_invalidate(r->old, r->old + r->old_len);
		dbt_invalidate(ret, ret + r->new_len);
		restore_protection_locked(ret, ret + r->new_len);
	}
	if (!sys_is_error(ret))
		own_memory_changed_locked(ret, ret + r->new_len);
	vma_unlock();
	if (events)
		perf_unmap_end(r->new, r->new + r->new_len, !sys_is_error(ret));
	return ret;
}

/* Linux quirk: what is at the new place goes, whether the mapping can be moved or not. */
static long move_event(struct thread *t, const struct remap *r)
{
	long ret = mm_unmap(r->new, r->new + r->new_len);

	if (ret)
		return ret;
	if (perf_range(r->old, r->old + r->old_len) == PERF_RANGE_CUT)
		return refuse(EINVAL, "an event's mapping moves as a whole");
	vma_lock();
	ret = remap_locked(r);
	vma_unlock();
	if (!sys_is_error(ret))
		event_map_moved(t->cpu->slot, r->old, ret);
	return ret;
}

/* The part of [at, end) that is of one mapping. */
static bool next_piece(gva at, gva end, struct vma *out)
{
	const struct vma *v;

	vma_lock();
	v = vma_next_locked(at);
	if (v) {
		*out = *v;
		out->start = MAX(v->start, at);
		out->end = MIN(v->end, end);
	}
	vma_unlock();
	return v && out->start < end;
}

/* Each mapping of the range, in its order, as Linux does from 6.17 on; what has moved when one cannot has moved. */
static long move_pieces(struct thread *t, const struct remap *r)
{
	struct vma piece;

	for (gva at = r->old; next_piece(at, r->old + r->old_len, &piece); at = piece.end) {
		struct remap part = {
			.old = piece.start,
			.new = piece.start - r->old + r->new,
			.old_len = piece.end - piece.start,
			.new_len = piece.end - piece.start,
			.flags = r->flags,
		};
		long ret = piece.kind == VMA_EVENT ? move_event(t, &part) : remap_plain(&part);

		if (sys_is_error(ret))
			return ret;
	}
	return (long)r->new;
}

/* What stays of the old range, [old, old + len), is of more than one mapping, and one of them is an event's. */
static bool is_of_several(const struct remap *r, u64 len)
{
	struct vma first;

	if (perf_range(r->old, r->old + len) == PERF_RANGE_NONE)
		return false;
	return vma_lookup(r->old, &first) || first.kind != VMA_EVENT || first.end < r->old + len;
}

/*
 * An event's mapping is in the old range. It moves as a whole, and that is all that it does: it does not grow, and is
 * not cut. What is unmapped behind the new length may be one.
 */
static long remap_with_events(struct thread *t, const struct remap *r)
{
	struct remap kept = *r;
	struct vma first;
	long ret;

	if (r->flags & MREMAP_DONTUNMAP)
		return -EINVAL;
	if (vma_lookup(r->old, &first))
		return -EFAULT;
	if (r->new_len > r->old_len)
		return refuse(EFAULT, "an event's mapping cannot grow or be duplicated");
	if (r->new_len < r->old_len) {
		if ((r->flags & MREMAP_FIXED) && is_of_several(r, r->new_len))
			return -EFAULT;
		ret = r->flags & MREMAP_FIXED ? mm_unmap(r->new, r->new + r->new_len) : 0;
		if (!ret)
			ret = mm_unmap(r->old + r->new_len, r->old + r->old_len);
		if (ret)
			return ret;
		kept.old_len = r->new_len;
	}
	return r->flags & MREMAP_FIXED ? move_pieces(t, &kept) : (long)r->old;
}

long sys_mremap(struct thread *t, const u64 *a)
{
	struct remap r = {
		.old = a[0],
		.new = a[4],
		.old_len = ALIGN_UP(a[1], PAGE_SIZE),
		.new_len = ALIGN_UP(a[2], PAGE_SIZE),
		.flags = a[3],
	};
	long ret;

	if (!remap_valid(&r))
		return -EINVAL;
	if (perf_range(r.old, MAX(r.old + r.old_len, r.old + 1)) != PERF_RANGE_NONE)
		return remap_with_events(t, &r);
	ret = remap_plain(&r);
	if (!sys_is_error(ret))
		perf_moved(t, ret);
	return ret;
}

static bool advice_changes_contents(int advice)
{
	return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE ||
	       advice == MADV_DONTNEED_LOCKED || advice == MADV_GUARD_INSTALL;
}

long sys_madvise(struct thread *t, const u64 *a)
{
	gva start = a[0], end = start + ALIGN_UP(a[1], PAGE_SIZE);
	bool had_code, forbidden;
	long ret = end > start ? perf_advice(start, end, (int)a[2]) : 0;

	if (ret)
		return ret;
	if (end < start || !advice_changes_contents((int)a[2])) {
		ret = syscall_pass(t, a);
		perf_pages_changed(start, end);
		return ret;
	}
	vma_lock();
	had_code = vma_exec_locked(start, end);
	forbidden = pcl_memory_locked(start, end);
	vma_unlock();
	if (forbidden)
		return refuse(ENOMEM, "madvise of pcl's own memory");
	ret = syscall_pass(t, a);
	perf_pages_changed(start, end);
	if (had_code) {
		dbt_invalidate(start, end);
		vma_lock();
		own_memory_changed_locked(start, end);
		vma_unlock();
	}
	return ret;
}

long sys_remap_file_pages(struct thread *t, const u64 *a)
{
	gva start = ALIGN_DOWN(a[0], PAGE_SIZE), end = start + ALIGN_UP(a[1], PAGE_SIZE);
	const struct vma *found;
	bool had_code = false;
	long ret;

	vma_lock();
	if (end > start && (pcl_memory_locked(start, end) || perf_range_locked(start, end) != PERF_RANGE_NONE)) {
		ret = -EINVAL;
	} else {
		ret = syscall_pass(t, a);
		found = vma_next_locked(start);
		if (!ret && found && found->start <= start) {
			struct vma vma = *found;

			vma.start = start;
			vma.end = end;
			vma.offset = a[3] * PAGE_SIZE;
			had_code = vma.prot & PROT_EXEC;
			vma_insert_locked(&vma);
			own_memory_changed_locked(start, end);
		}
	}
	if (had_code)
		dbt_invalidate(start, end);
	vma_unlock();
	if (!ret)
		perf_mapped(t, start, -1);
	return ret;
}

/* Where a segment of that size is to go; 0: nowhere. */
static gva shm_place_locked(gva addr, u64 size, int flags, long *err)
{
	if (!addr) {
		*err = flags & SHM_REMAP ? -EINVAL : -ENOMEM;
		return flags & SHM_REMAP ? 0 : vma_find_free_locked(PLACE_TOP, size, PAGE_SIZE);
	}
	*err = -EINVAL;
	if (flags & SHM_RND)
		addr = ALIGN_DOWN(addr, PAGE_SIZE);
	if ((addr & (PAGE_SIZE - 1)) || addr > MM_HIGHEST - size || pcl_memory_locked(addr, addr + size))
		return 0;
	return addr;
}

/*
 * Whether the segment's mode lets it be attached so: the kernel asks that, and fails then since there is something at
 * the address already. 0, or -errno.
 */
static long shm_may_execute(const u64 *a)
{
	long ret = sys3(__NR_shmat, a[0], LAYOUT_BASE, a[2] & ~(u64)SHM_REMAP);

	return ret == -EINVAL ? 0 : ret;
}

long sys_shmat(struct thread *t, const u64 *a)
{
	int flags = (int)a[2];
	struct shmid_ds ds;
	bool had_code = false;
	struct vma vma;
	u64 size;
	long ret = flags & SHM_EXEC ? exec_memory_shmat(a) : 0;
	gva at;

	if (!ret)
		ret = sys3(__NR_shmctl, a[0], IPC_STAT, &ds);
	if (ret)
		return ret;
	size = ALIGN_UP(ds.shm_segsz, PAGE_SIZE);
	if (flags & SHM_REMAP)
		make_way_lock(a[1], a[1] + size);
	else
		make_way_lock_free(a[1], a[1] ? a[1] + size : 0, false);
	ret = -ENOMEM;
	at = vma_room_locked() ? shm_place_locked(a[1], size, flags, &ret) : 0;
	if (at) {
		had_code = vma_exec_locked(at, at + size);
		ret = flags & SHM_EXEC ? shm_may_execute(a) : 0;
		if (!ret)
			ret = sys3(__NR_shmat, a[0], at, flags & ~SHM_EXEC);
	}
	if (ret == -EINVAL && at && !a[1]) { /* the pages may be huge, which IPC_STAT does not say */
		size = ALIGN_UP(size, HUGE_PAGE);
		at = vma_find_free_locked(PLACE_TOP, size, HUGE_PAGE);
		if (at)
			ret = sys3(__NR_shmat, a[0], at, flags & ~SHM_EXEC);
	}
	if (at && !sys_is_error(ret)) {
		vma = (struct vma){
			.start = at,
			.end = at + size,
			.prot = PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0),
			.flags = VMA_SHARED,
			.kind = VMA_SHM,
		};
		vma_insert_locked(&vma);
	}
	if (had_code)
		dbt_invalidate(at, at + size);
	vma_unlock();
	if (!sys_is_error(ret))
		perf_mapped(t, ret, -1);
	return ret;
}

long sys_shmdt(struct thread *t, const u64 *a)
{
	gva at = a[0], end = a[0];
	const struct vma *v;
	bool had_code = false;
	long ret;

	vma_lock();
	ret = sys1(__NR_shmdt, a[0]);
	if (!ret) {
		while ((v = vma_next_locked(at)) && v->kind == VMA_SHM && v->start - v->offset == a[0]) {
			at = end = v->end;
			had_code |= v->prot & PROT_EXEC;
			vma_remove_locked(v->start, end);
		}
	}
	if (had_code)
		dbt_invalidate(a[0], end);
	vma_unlock();
	return ret;
}
