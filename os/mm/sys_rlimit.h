/* Limits on address space, as the guest sees them: os/mm/sys_rlimit.c. */
#ifndef OS_SYS_RLIMIT_H
#define OS_SYS_RLIMIT_H

#include "abi/types.h"

/*
 * When a new image has mapped all that is pcl's: notes how much that is, without the bytes of the stack and of the
 * other mappings that the kernel has made for every program.
 */
void rlimit_note_own(u64 stack, u64 others);

#endif
