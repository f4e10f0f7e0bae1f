/*
 * The guest's memory map as it was before a change, for the case that its writer dies and another process has the same
 * memory. See os/mm/vma.h.
 *
 * A copy of everything, for as long as the change takes: there are such processes for short times, children of vfork
 * above all, and they seldom change the map.
 */
#include <sys/mman.h>
#include "os/mm/vma_chunks.h"
#include "os/session/thread.h"
#include "rt/log.h"
#include "rt/status.h"
#include "rt/string.h"
#include "rt/sys.h"

/* Behind the map itself. */
static struct kept {
	struct vma_map map;
	u32 order[VMA_CHUNKS];
	struct vma_chunk pool[]; /* map.touched */
} *const kept = (struct kept *)(LAYOUT_MM + 2 * VMA_CHUNKS * sizeof(struct vma_chunk));

static size_t size_of(u32 chunks)
{
	return sizeof(*kept) + chunks * sizeof(struct vma_chunk);
}

void vma_sharers_changed(const struct thread *own)
{
	vma_lock();
	vma_map.shared = thread_any_of_other_group(own);
	vma_unlock();
}

void vma_keep(void)
{
	size_t pool = vma_map.touched * sizeof(struct vma_chunk);
	long ret = sys6(__NR_mmap, (long)kept, size_of(vma_map.touched), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (sys_is_error(ret)) /* then there is none */
		return;
	kept->map = vma_map;
	memcpy(kept->order, vma_order, vma_map.chunks * sizeof(vma_order[0]));
	memcpy(kept->pool, vma_pool, pool);
	__atomic_store_n(&vma_map.kept, VMA_KEPT, __ATOMIC_RELEASE);
}

void vma_keep_no_longer(void)
{
	vma_map.kept = VMA_NOT_KEPT;
	sys2(__NR_munmap, (long)kept, size_of(kept->map.touched));
}

static void restore(void)
{
	struct vma_map map = kept->map;

	map.lock = vma_map.lock;
	map.seq = vma_map.seq;
	map.shared = vma_map.shared;
	map.kept = VMA_KEPT;
	for (u32 i = 0; i < map.touched; i++) {
		vma_pool[i] = kept->pool[i];
		vma_pool[i].gap = VMA_GAP_UNKNOWN;
	}
	memcpy(vma_order, kept->order, map.chunks * sizeof(vma_order[0]));
	vma_map = map;
}

void vma_mend(void)
{
	if (vma_map.seq & 1) {
		if (vma_map.kept == VMA_NOT_KEPT) {
			log_printf(0, "a process with the same memory was killed while it changed the memory map");
			for (;;)
				sys1(__NR_exit_group, PCL_FAILED);
		}
		if (vma_map.kept == VMA_KEPT)
			restore();
		__atomic_store_n(&vma_map.seq, vma_map.seq + 1, __ATOMIC_RELEASE);
	}
	if (vma_map.kept != VMA_NOT_KEPT)
		vma_keep_no_longer();
}
