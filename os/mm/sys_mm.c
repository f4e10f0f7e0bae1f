/*
 * mmap, munmap, mprotect, brk.
 *
 * Placement is ours, so that addresses repeat: see vma.h. The code cache gives way (os/mm/make_way.h). pcl's other
 * memory and what the kernel left in the address space (VMA_HOST) are holes that cannot be filled: MAP_FIXED over them
 * gives ENOMEM, MAP_FIXED_NOREPLACE EEXIST, and calls on ranges treat them as not mapped. Rules on order and protection
 * are in vma.h.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include "dbt/dbt.h"
#include "os/mm/exec_memory.h"
#include "os/mm/make_way.h"
#include "os/mm/own_memory.h"
#include "os/mm/sys_mm.h"
#include "os/mm/vma.h"
#include "os/mm/warm.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/layout.h"
#include "rt/map.h"
#include "rt/refuse.h"
#include "rt/sys.h"

#ifndef MAP_32BIT
#define MAP_32BIT 0x40
#endif
#define MAP_HUGE_BITS(flags) (((flags) >> 26) & 0x3f)
#define HUGE_SHIFT_DEFAULT   21
#define MOUNT_NOEXEC	     8		 /* ST_NOEXEC in statfs.f_flags */
#define NEAR_DATA_MAX	     0x2000000ul /* file mappings that are not code go near only if they are smaller */
#define MM_HIGHEST	     LAYOUT_GUEST_END

u32 mm_lock_future;

static struct {
	gva start, end; /* under vma_lock() */
} brk_area;

void mm_set_brk(gva start)
{
	brk_area.start = brk_area.end = start;
}

int dbt_host_mapping(gva addr, struct dbt_mapping *out)
{
	struct vma vma;

	if (vma_lookup(addr, &vma))
		return -EFAULT;
	*out = (struct dbt_mapping){.start = vma.start, .end = vma.end, .prot = (int)vma.prot};
	out->shared = vma.flags & VMA_SHARED;
	out->sealed = vma.flags & VMA_SEALED;
	out->own = own_memory_is(vma.memory);
	return 0;
}

/* Files on a file system without execution cannot be mapped so; the host does not see our PROT_EXEC. */
static int check_exec_file(int fd)
{
	struct statfs fs;

	if (sys2(__NR_fstatfs, fd, &fs) || !(fs.f_flags & MOUNT_NOEXEC))
		return 0;
	return refuse(EPERM, "executable mapping of a file on a file system mounted noexec");
}

static enum vma_place choose_place(const struct mm_map *m)
{
	if (m->flags & MAP_32BIT)
		return PLACE_32BIT;
	if ((m->flags & MAP_ANONYMOUS) || (m->flags & MAP_TYPE) != MAP_PRIVATE || m->kind != VMA_PLAIN)
		return PLACE_TOP;
	if ((m->prot & PROT_EXEC) || (m->flags & MAP_DENYWRITE) || m->len <= NEAR_DATA_MAX)
		return PLACE_NEAR;
	return PLACE_TOP;
}

static u64 alignment(const struct mm_map *m)
{
	if (!(m->flags & MAP_HUGETLB))
		return PAGE_SIZE;
	return 1ul << (MAP_HUGE_BITS(m->flags) ? MAP_HUGE_BITS(m->flags) : HUGE_SHIFT_DEFAULT);
}

static int host_flags(const struct mm_map *m)
{
	bool lock = (mm_lock_future & (MCL_FUTURE | MCL_ONFAULT)) == MCL_FUTURE && !MM_IS_DROPPABLE(m->flags);

	return (m->flags & ~(MAP_32BIT | MAP_FIXED_NOREPLACE)) | (lock ? MAP_LOCKED : 0);
}

static long host_mmap(const struct mm_map *m, gva at, int more_flags)
{
	int flags = host_flags(m) | more_flags;

	return sys6(__NR_mmap, at, m->len, vma_host_prot(m->prot), flags, m->fd, m->offset);
}

static long map_at(const struct mm_map *m, gva at)
{
	return rt_map_at(at, m->len, (int)vma_host_prot(m->prot), host_flags(m), m->fd, (u64)m->offset);
}

/* Without a fixed address: the hint if it is free, else a place of our choice, else the kernel's. */
static long map_anywhere_locked(const struct mm_map *m)
{
	u64 len = ALIGN_UP(m->len, PAGE_SIZE);
	gva hint = ALIGN_DOWN(m->addr, PAGE_SIZE);
	long ret = -EEXIST;
	gva at;

	if (hint && hint <= MM_HIGHEST - len && vma_free_locked(hint, hint + len))
		ret = map_at(m, hint);
	if (!sys_is_error(ret))
		return ret;
	at = vma_find_free_locked(choose_place(m), len, alignment(m));
	if (at)
		ret = map_at(m, at);
	else if (m->flags & MAP_32BIT)
		return -ENOMEM;
	/* Something that the map does not know of is there, or the file wants an alignment of its own. */
	if (!at || ret == -EEXIST || ret == -EINVAL)
		ret = host_mmap(m, 0, 0);
	return ret;
}

static void note_mapping_locked(const struct mm_map *m, gva start)
{
	struct vma vma = {
		.start = start,
		.end = start + ALIGN_UP(m->len, MAX(alignment(m), PAGE_SIZE)),
		.prot = m->prot & (PROT_READ | PROT_WRITE | PROT_EXEC),
		.kind = m->kind,
	};

	if ((m->flags & MAP_TYPE) != MAP_PRIVATE)
		vma.flags |= VMA_SHARED;
	if (m->flags & MAP_GROWSDOWN)
		vma.flags |= VMA_GROWSDOWN;
	if (!(m->flags & MAP_ANONYMOUS)) {
		vma.flags |= VMA_FILE;
		vma.offset = m->offset;
		vma.id = vma_new_id_locked();
	}
	vma.memory = own_memory_number_locked(m->prot, m->flags, m->fd);
	vma_insert_locked(&vma);
}

/*
 * Address space that is only to be kept free, as ThreadSanitizer does with wide ranges: what is free around pcl's
 * memory is mapped. The rest is unusable anyway until mprotect, which refuses.
 */
static long reserve_around_locked(const struct mm_map *m, gva end)
{
	gva at, stop;

	for (at = m->addr; (stop = vma_piece_locked(&at, end)); at = stop) {
		struct mm_map part = *m;
		long ret;

		if (!vma_room_locked())
			return -ENOMEM;
		part.addr = at;
		part.len = stop - at;
		ret = host_mmap(&part, at, 0);
		if (sys_is_error(ret))
			return ret;
		note_mapping_locked(&part, at);
	}
	return m->addr;
}

static bool is_pcls_locked(gva start, gva end)
{
	return vma_reserved(start, end) || vma_host_locked(start, end);
}

static long map_fixed_locked(const struct mm_map *m)
{
	gva start = m->addr, end = m->addr + ALIGN_UP(m->len, PAGE_SIZE);
	bool noreplace = (m->flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE;

	if ((start & (PAGE_SIZE - 1)) || end > MM_HIGHEST || end < start)
		return host_mmap(m, start, noreplace ? MAP_FIXED_NOREPLACE : 0); /* the kernel refuses it */
	if (!noreplace && m->prot == PROT_NONE && (m->flags & MAP_ANONYMOUS) && is_pcls_locked(start, end))
		return reserve_around_locked(m, end);
	if (is_pcls_locked(start, end))
		return noreplace ? refuse(EEXIST, "pcl's own memory is there")
				 : refuse(ENOMEM, "MAP_FIXED over pcl's own memory");
	return noreplace ? map_at(m, start) : host_mmap(m, start, 0);
}

static bool is_code_of_file(const struct mm_map *m)
{
	return (m->prot & (PROT_EXEC | PROT_WRITE)) == PROT_EXEC && m->kind == VMA_PLAIN &&
	       !(m->flags & MAP_ANONYMOUS) && (m->flags & MAP_TYPE) == MAP_PRIVATE;
}

static long map_and_note(const struct mm_map *m, u64 len)
{
	bool fixed = m->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE), had_code;
	struct warm_file file;
	bool known = is_code_of_file(m) && warm_identify(m->fd, &file);
	long ret;

	make_way_lock_mmap(m->addr, len, m->flags);
	if (!vma_room_locked()) {
		vma_unlock();
		return refuse(ENOMEM, "too many mappings");
	}
	had_code = fixed && vma_exec_locked(m->addr, m->addr + len);
	ret = fixed ? map_fixed_locked(m) : map_anywhere_locked(m);
	if (!sys_is_error(ret) && !is_pcls_locked(ret, ret + len)) {
		note_mapping_locked(m, ret);
		ret = mm_lock_on_fault_locked(ret, ret + len);
	}
	if (had_code)
		dbt_invalidate(m->addr, m->addr + len);
	if (!sys_is_error(ret))
		own_memory_changed_locked(ret, ret + len);
	if (known && !sys_is_error(ret))
		warm_mapped_locked(ret, ret + len, (u64)m->offset, &file);
	vma_unlock();
	return ret;
}

long mm_map(const struct mm_map *m)
{
	u64 len = ALIGN_UP(m->len, PAGE_SIZE);
	int events = 0;
	long ret;

	if (!len || len > MM_HIGHEST || (m->offset & (PAGE_SIZE - 1)))
		return host_mmap(m, 0, 0); /* the kernel refuses it */
	if ((m->prot & PROT_EXEC) && !(m->flags & MAP_ANONYMOUS) && check_exec_file(m->fd))
		return -EPERM;
	if ((m->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED)
		events = perf_unmap_begin(m->addr, m->addr + len);
	if (events < 0)
		return -EINVAL;
	ret = map_and_note(m, len);
	if (events)
		perf_unmap_end(m->addr, m->addr + len, !sys_is_error(ret));
	return ret;
}

long sys_mmap(struct thread *t, const u64 *a)
{
	struct mm_map m = {
		.addr = a[0],
		.len = a[1],
		.prot = a[2],
		.flags = a[3],
		.fd = a[4],
		.offset = a[5],
	};
	struct mapping_record *gone;
	long ret;

	if (!(m.flags & MAP_ANONYMOUS) && perf_is_event(t, (u32)m.fd))
		return perf_mmap(t, a);
	if (m.prot & PROT_EXEC) {
		ret = exec_memory_mmap(a);
		if (ret)
			return ret;
	}
	gone = perf_unmapping(t, m.addr, (m.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED ? m.len : 0);
	ret = perf_unmapped(t, gone, mm_map(&m));
	if (!sys_is_error(ret))
		perf_mapped(t, ret, m.flags & MAP_ANONYMOUS ? -1 : m.fd);
	return ret;
}

/* [addr, addr + len) in whole pages, false if munmap and mprotect would find it invalid. */
static bool page_range(gva addr, u64 len, gva *end)
{
	len = ALIGN_UP(len, PAGE_SIZE);
	*end = addr + len;
	return !(addr & (PAGE_SIZE - 1)) && len && addr <= MM_HIGHEST && len <= MM_HIGHEST - addr;
}

/* Unmaps the guest's part of a range; host memory in it stays. */
static long unmap_locked(gva start, gva end)
{
	gva at, stop;

	for (at = start; (stop = vma_piece_locked(&at, end)); at = stop) {
		long ret = sys2(__NR_munmap, at, stop - at);

		if (ret)
			return ret;
		vma_remove_locked(at, stop);
	}
	return 0;
}

long mm_unmap(gva start, gva end)
{
	int events = perf_unmap_begin(start, end);
	bool had_code;
	long ret;

	if (events < 0)
		return -EINVAL;
	vma_lock();
	had_code = vma_exec_locked(start, end);
	ret = vma_room_locked() ? unmap_locked(start, end) : -ENOMEM;
	if (had_code)
		dbt_invalidate(start, end);
	vma_unlock();
	if (events)
		perf_unmap_end(start, end, !ret);
	return ret;
}

long sys_munmap(struct thread *t, const u64 *a)
{
	struct mapping_record *gone = perf_unmapping(t, a[0], a[1]);
	gva end;

	return perf_unmapped(t, gone, page_range(a[0], a[1], &end) ? mm_unmap(a[0], end) : -EINVAL);
}

/* PROT_GROWSDOWN and PROT_GROWSUP stretch the range to the end of the mapping that it begins or ends in. */
static int stretch_locked(gva *start, gva *end, u64 *prot)
{
	const struct vma *vma = vma_next_locked(*start);
	u64 grows = *prot & (PROT_GROWSDOWN | PROT_GROWSUP);

	*prot &= ~(u64)(PROT_GROWSDOWN | PROT_GROWSUP);
	if (!grows)
		return 0;
	if (grows == (PROT_GROWSDOWN | PROT_GROWSUP))
		return -EINVAL;
	if (!vma || vma->start >= *end)
		return -ENOMEM;
	if (grows == PROT_GROWSUP || !(vma->flags & VMA_GROWSDOWN)) /* no mapping on x86-64 grows up */
		return -EINVAL;
	*start = vma->start;
	return 0;
}

/*
 * Where in [start, end) the protection cannot be given; `end`: nowhere. *why: the error. Linux quirk: what comes
 * before is changed all the same.
 */
static gva denied_locked(gva start, gva end, u64 prot, int *why)
{
	gva event = perf_denied_locked(start, end, prot), exec = exec_memory_denied_locked(start, end, (int)prot);

	*why = 0;
	if (event < end && event <= exec)
		*why = prot & PROT_EXEC ? refuse(EACCES, "event mappings are not executable")
					: refuse(EINVAL, "an event's mapping has one protection");
	else if (exec < end)
		*why = refuse(EACCES, "PR_SET_MDWE: memory that is to become executable");
	return MIN(event, exec);
}

/* The host's mappings of a growing stack begin where it has grown to; only the kernel's flag knows where. */
static long host_protect(long nr, gva start, gva end, u64 prot, bool stretched, u64 pkey)
{
	return sys4(nr, start, end - start, vma_host_prot(prot) | (stretched ? PROT_GROWSDOWN : 0), pkey);
}

static long protect_locked(long nr, gva start, gva end, u64 prot, u64 asked_start, bool stretched, u64 pkey)
{
	gva at = start;
	long ret;

	if (is_pcls_locked(start, end))
		return refuse(ENOMEM, "mprotect of pcl's own memory");
	ret = host_protect(nr, stretched ? asked_start : start, end, prot, stretched, pkey);
	if (!ret) {
		vma_protect_locked(start, end, prot & (PROT_READ | PROT_WRITE | PROT_EXEC));
		return 0;
	}
	if (ret != -ENOMEM)
		return ret;
	/* Linux quirk: what comes before a hole has been changed. */
	for (const struct vma *v = vma_next_locked(at); v && v->start <= at && at < end; v = vma_next_locked(at))
		at = v->end;
	at = MIN(at, end);
	if (at > start && at < end && !host_protect(nr, start, at, prot, false, pkey))
		vma_protect_locked(start, at, prot & (PROT_READ | PROT_WRITE | PROT_EXEC));
	return ret;
}

static long protect(struct thread *t, long nr, const u64 *a, u64 pkey)
{
	gva start = a[0], end;
	u64 prot = a[2];
	bool had_code, stretched = prot & PROT_GROWSDOWN;
	struct perf_protection pieces = {0};
	int refused = 0;
	long ret;

	if (!page_range(start, a[1], &end) || (prot & ~0xful & ~(u64)(PROT_GROWSDOWN | PROT_GROWSUP)))
		return sys4(nr, start, a[1], prot, pkey); /* nothing to do, or the kernel refuses it */
	if (prot & PROT_EXEC) {
		ret = exec_memory_protect(nr, a, pkey);
		if (ret)
			return ret;
	}
	vma_lock();
	had_code = vma_exec_locked(start, end);
	ret = vma_room_locked() ? stretch_locked(&start, &end, &prot) : -ENOMEM;
	if (!ret)
		end = denied_locked(start, end, prot, &refused);
	if (!ret && start < end) {
		perf_protect_begin_locked(t, start, end, prot & (PROT_READ | PROT_WRITE | PROT_EXEC), &pieces);
		ret = protect_locked(nr, start, end, prot, a[0], stretched, pkey);
	}
	/* Read-only code that stays so has not changed. */
	if (had_code && (!(prot & PROT_EXEC) || (prot & PROT_WRITE)))
		dbt_invalidate(start, end);
	own_memory_changed_locked(start, end);
	vma_unlock();
	if (ret)
		return ret;
	perf_protected(t, &pieces);
	return refused;
}

long sys_mprotect(struct thread *t, const u64 *a)
{
	return protect(t, __NR_mprotect, a, 0);
}

long sys_pkey_mprotect(struct thread *t, const u64 *a)
{
	return protect(t, __NR_pkey_mprotect, a, a[3]);
}

/*
 * The translator may have taken the permission to write from some of the pages, and then could never give it back: it
 * gets them as they were, and does not do that again there. If the kernel refuses (a hole that the map does not know
 * of, no mseal), nothing is lost but some speed.
 */
long sys_mseal(struct thread *t, const u64 *a)
{
	gva start = a[0], end;
	long ret = -ENOMEM;

	if (a[2] || !page_range(start, a[1], &end))
		return syscall_pass(t, a); /* nothing to do, or the kernel refuses it */
	vma_lock();
	if (vma_covered_locked(start, end) && !vma_reserved(start, end) && vma_room_locked()) {
		vma_seal_locked(start, end);
		dbt_invalidate(start, end);
		ret = sys3(t->nr, start, end - start, 0);
	}
	vma_unlock();
	return ret;
}

static bool grow_brk_locked(gva from, gva to)
{
	struct mm_map m = {
		.len = to - from,
		.prot = PROT_READ | PROT_WRITE,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS,
		.fd = -1,
		.kind = VMA_HEAP,
	};

	if (!vma_room_locked() || to > MM_HIGHEST || !vma_free_locked(from, to))
		return false;
	if (sys_is_error(map_at(&m, from)))
		return false;
	note_mapping_locked(&m, from);
	return true;
}

/* brk(2): returns the end of the area, changed or not. RLIMIT_DATA is the kernel's to check, as for any private
 * mapping. */
long sys_brk(struct thread *t, const u64 *a)
{
	gva new = a[0], old_page, new_page;
	long ret;

	make_way_lock_free(ALIGN_UP(__atomic_load_n(&brk_area.end, __ATOMIC_RELAXED), PAGE_SIZE), new, false);
	old_page = ALIGN_UP(brk_area.end, PAGE_SIZE);
	new_page = ALIGN_UP(new, PAGE_SIZE);
	if (new < brk_area.start || new > MM_HIGHEST)
		goto out;
	if (new_page > old_page && !grow_brk_locked(old_page, new_page))
		goto out;
	if (new_page < old_page && unmap_locked(new_page, old_page))
		goto out;
	brk_area.end = new;
out:
	ret = brk_area.end;
	vma_unlock();
	if (new_page > old_page && (gva)ret == new)
		perf_mapped(t, old_page, -1);
	return ret;
}
