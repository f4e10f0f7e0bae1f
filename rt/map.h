/* Mapping memory at an address that is to be free, and what <linux/mman.h> may be too old for. */
#ifndef RT_MAP_H
#define RT_MAP_H

#include "abi/types.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif
#define HUGE_SIZE 0x200000ul /* of a huge page */

/*
 * mmap(2) with MAP_FIXED_NOREPLACE, which need not be in flags. The address, -EEXIST if it is not free, or another
 * -errno. Seccomp filters often know no such flag: then the address is only a hint, which the kernel takes if it is
 * free.
 */
long rt_map_at(u64 at, u64 len, int prot, int flags, int fd, u64 offset);

#endif
