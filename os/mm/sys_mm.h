/*
 * The guest's address space as other modules of os/ change it. The system calls: os/mm/sys_mm.c, os/mm/sys_mm_range.c.
 */
#ifndef OS_SYS_MM_H
#define OS_SYS_MM_H

#include "abi/types.h"
#include "os/mm/vma.h"

/* Where a new program's brk area begins. */
void mm_set_brk(gva start);

/* One mapping as mmap(2) is asked for it. */
struct mm_map {
	gva addr;
	u64 len;
	int prot, flags, fd;
	u64 offset;
	u32 kind; /* enum vma_kind */
};

/*
 * Maps for the guest by the rules of mmap(2), with pcl's own memory as forbidden ground: the address or -errno. Used
 * for the guest's own calls and for ring buffers (fd: the arena's).
 */
long mm_map(const struct mm_map *m);

/* munmap(2) of [start, end), in whole pages: 0 or -errno. */
long mm_unmap(gva start, gva end);

/* Memory that the kernel may drop (MAP_DROPPABLE, Linux 6.11), and that cannot be locked. flags: of mmap(2). */
#define MM_IS_DROPPABLE(flags) (((flags) & 0xf) == 8)

/* The new image locks what it maps from now on (mlockall with MCL_FUTURE); flags of mlockall(2), 0: none. */
extern u32 mm_lock_future;
/*
 * After mlockall with MCL_ONFAULT, for which mmap(2) has no flag: what has just been mapped there is locked page by
 * page as it is used. start; or -EAGAIN, as of mmap(2), where the limit does not allow it, and it is unmapped.
 */
long mm_lock_on_fault_locked(gva start, gva end);

#endif
