/*
 * Sizing pcl's own memory files. They are sparse and larger than any RLIMIT_FSIZE that users set, and beyond that limit
 * ftruncate(2) sends SIGXFSZ, which would end the guest.
 */
#ifndef RT_FILE_SIZE_H
#define RT_FILE_SIZE_H

#include "abi/types.h"

/*
 * Gives the file that size, whatever the soft limit is, which afterwards is what it was. The hard limit is raised
 * meanwhile by whom the kernel lets. 0; -EFBIG: the hard limit is in the way, and no signal was sent; or what
 * ftruncate(2) says. To be called while the process has one thread: others would have the raised limit meanwhile.
 */
long file_size_set(long fd, u64 size);

#endif
