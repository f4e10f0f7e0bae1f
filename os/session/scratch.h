/*
 * Memory of pcl's own for the time of one system call, when it is too much for the runtime's stack. In pcl's region, so
 * that the guest's map does not notice. A new image, or the end of the process, frees what is left.
 */
#ifndef OS_SCRATCH_H
#define OS_SCRATCH_H

#include "abi/types.h"

/* Zeroed; NULL if memory is short. */
void *scratch_alloc(u64 size);
void scratch_free(void *p, u64 size);

#endif
