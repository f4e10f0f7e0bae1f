/*
 * Ring buffers in the guest's address space: mappings of the session's memory of kind VMA_EVENT, see os/vma.h. They are not
 * inherited by fork, cannot grow, be cut, executed, emptied or duplicated, as natively.
 *
 * event/map.c knows them by address. event_lock() ranks below vma_lock(): what is to be unmapped is told to event/ first.
 */
#ifndef OS_PERF_MMAP_H
#define OS_PERF_MMAP_H

#include "os/thread.h"

/* mmap(2) of a descriptor that is an event. */
long perf_mmap(struct thread *t, const u64 *a);

/*
 * Before the guest's memory at [start, end) is unmapped or mapped over, without vma_lock(). 0; 1: perf_unmap_end() is to be called
 * afterwards; -EINVAL: it would cut a mapping.
 */
int perf_unmap_begin(gva start, gva end);
/* Without vma_lock(). done: the host has done it. */
void perf_unmap_end(gva start, gva end, bool done);

/* Whether the range has such mappings, and whether some of them only in part. */
enum perf_range { PERF_RANGE_NONE, PERF_RANGE_WHOLE, PERF_RANGE_CUT };
enum perf_range perf_range(gva start, gva end);
/* The same with vma_lock(). */
enum perf_range perf_range_locked(gva start, gva end);

/* madvise(2) of a range with such mappings: 0, or why not. */
int perf_advice(gva start, gva end, int advice);

/* In the child after fork: its memory has none. */
void perf_mmap_after_fork(void);

#endif
