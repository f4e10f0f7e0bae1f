/* mlockall(2): of the guest's mappings only. What is pcl's is large, sparse, and nobody's wish to lock. */
#include <errno.h>
#include <sys/mman.h>
#include "event/host.h"
#include "os/mm/sys_mm.h"
#include "os/mm/vma.h"
#include "os/syscall.h"
#include "rt/layout.h"
#include "rt/sys.h"

static bool is_guests(const struct vma *v)
{
	return v->kind != VMA_HOST && v->kind != VMA_VVAR && v->kind != VMA_VDSO;
}

/* Where a stack, which the host has as far as it has grown, begins. */
static gva grown_start(const struct vma *v)
{
	gva lo = v->start, hi = v->end;
	u8 resident;

	while (lo < hi) {
		gva mid = lo + ALIGN_DOWN((hi - lo) / 2, PAGE_SIZE);

		if (sys3(__NR_mincore, mid, PAGE_SIZE, &resident))
			lo = mid + PAGE_SIZE;
		else
			hi = mid;
	}
	return lo;
}

static u64 guest_pages_locked(void)
{
	u64 pages = 0;

	for (const struct vma *v = vma_next_locked(0); v; v = vma_next_locked(v->end))
		if (is_guests(v))
			pages += (v->end - (v->flags & VMA_GROWSDOWN ? grown_start(v) : v->start)) / PAGE_SIZE;
	return pages;
}

/* As in the kernel all or nothing: where the limit does not allow all, none is locked. */
static long may_lock_locked(u64 flags)
{
	if (host_may_lock())
		return 0;
	if (!host_memlock_pages())
		return -EPERM;
	return (flags & MCL_CURRENT) && guest_pages_locked() > host_memlock_pages() ? -ENOMEM : 0;
}

static long lock_all_locked(u64 flags)
{
	long ret = 0;

	for (const struct vma *v = vma_next_locked(0); v && !ret; v = vma_next_locked(v->end)) {
		if (!is_guests(v) || v->kind == VMA_EVENT || !v->prot)
			continue;
		ret = sys3(__NR_mlock2, v->start, v->end - v->start, flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0);
		if (ret == -ENOMEM && (v->flags & VMA_GROWSDOWN))
			ret = 0; /* the part that it has not grown to yet */
	}
	return ret;
}

long sys_mlockall(struct thread *t, const u64 *a)
{
	u64 flags = a[0];
	long ret;

	if (!flags || (flags & ~(u64)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) || flags == MCL_ONFAULT)
		return -EINVAL;
	vma_lock();
	ret = may_lock_locked(flags);
	if (!ret && (flags & MCL_CURRENT))
		ret = lock_all_locked(flags);
	if (!ret)
		mm_lock_future = flags & MCL_FUTURE ? flags : 0;
	vma_unlock();
	return ret;
}

long mm_lock_on_fault_locked(gva start, gva end)
{
	if (!(mm_lock_future & MCL_ONFAULT) || !sys3(__NR_mlock2, start, end - start, MLOCK_ONFAULT))
		return (long)start;
	(void)sys2(__NR_munmap, start, end - start);
	vma_remove_locked(start, end);
	return -EAGAIN;
}

long sys_munlockall(struct thread *t, const u64 *a)
{
	mm_lock_future = 0;
	return syscall_pass(t, a);
}
