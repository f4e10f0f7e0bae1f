/*
 * Executable memory that the kernel would refuse the guest. It is not asked for it otherwise: no page of the guest is
 * executable for the processor (os/mm/vma.h, rule 3).
 *
 *   a seccomp filter sees the arguments of mmap, mprotect and shmat: it is shown them in a call that has no effect
 *   PR_SET_MDWE (Linux 6.3): nothing is mapped writable and executable, and nothing becomes executable that was not
 *
 * What a security module refuses (SELinux: execmem, execmod, execheap) is not asked for.
 */
#ifndef OS_EXEC_MEMORY_H
#define OS_EXEC_MEMORY_H

#include "abi/types.h"

/*
 * With the arguments of mmap, mprotect and pkey_mprotect (nr), or shmat, that ask for PROT_EXEC or SHM_EXEC: 0, or
 * -errno for the guest.
 */
long exec_memory_mmap(const u64 *a);
long exec_memory_protect(long nr, const u64 *a, u64 pkey);
long exec_memory_shmat(const u64 *a);

/* Whether PR_SET_MDWE forbids a new mapping with that protection. */
bool exec_memory_denies(int prot);

/*
 * From where on PR_SET_MDWE forbids that protection for what is mapped in [start, end), which may have holes; `end`:
 * nowhere.
 */
gva exec_memory_denied_locked(gva start, gva end, int prot);

#endif
