/*
 * Calls on ranges that the host does, but for the mappings of events: to Linux these are memory of a device, which
 * has no file to be written to and is never locked; under pcl they are memory of a file.
 */
#include <errno.h>
#include <sys/mman.h>
#include "os/mm/vma.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/layout.h"
#include "rt/refuse.h"
#include "rt/sys.h"

static bool has_events(const u64 *a)
{
	gva end = ALIGN_UP(a[0] + a[1], PAGE_SIZE);

	return end > a[0] && perf_range(a[0], end) != PERF_RANGE_NONE;
}

/* What comes before such a mapping is written all the same, and a hole there forgotten. */
long sys_msync(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	if ((a[2] & MS_SYNC) && (!ret || ret == -ENOMEM) && has_events(a))
		return refuse(EINVAL, "event mappings have no file to be written to");
	return ret;
}

static void unlock_events_locked(gva start, gva end)
{
	const struct vma *v;

	for (gva at = start; at < end && (v = vma_next_locked(at)) && v->start < end; at = v->end)
		if (v->kind == VMA_EVENT)
			sys2(__NR_munlock, MAX(v->start, start), MIN(v->end, end) - MAX(v->start, start));
}

/* The limits are looked at for the whole range. */
long sys_mlock(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);

	if (has_events(a)) {
		vma_lock();
		unlock_events_locked(ALIGN_DOWN(a[0], PAGE_SIZE), ALIGN_UP(a[0] + a[1], PAGE_SIZE));
		vma_unlock();
	}
	return ret;
}
