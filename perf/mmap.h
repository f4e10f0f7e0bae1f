/* Ring buffers in the guest's address space; the rest is in perf/perf.h. */
#ifndef PERF_MMAP_H
#define PERF_MMAP_H

/* In the child after fork: its memory has none. */
void perf_mmap_after_fork(void);

#endif
