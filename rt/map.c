/* See map.h. */
#include <asm/errno.h>
#include <linux/mman.h>
#include "rt/map.h"
#include "rt/sys.h"

#define NOREPLACE 0x100000 /* MAP_FIXED_NOREPLACE */

static u32 refused; /* a filter does not let the flag pass, and filters are for ever */

static bool is_refusal(long ret)
{
	return ret == -ENOSYS || ret == -EPERM || ret == -EINVAL;
}

long rt_map_at(u64 at, u64 len, int prot, int flags, int fd, u64 offset)
{
	long ret = -EPERM;

	flags &= ~(MAP_FIXED | NOREPLACE);
	if (!__atomic_load_n(&refused, __ATOMIC_RELAXED))
		ret = sys6(__NR_mmap, (long)at, (long)len, prot, flags | NOREPLACE, fd, (long)offset);
	if (is_refusal(ret)) {
		ret = sys6(__NR_mmap, (long)at, (long)len, prot, flags, fd, (long)offset);
		if (ret == (long)at)
			__atomic_store_n(&refused, 1, __ATOMIC_RELAXED);
	}
	if (sys_is_error(ret) || (u64)ret == at)
		return ret;
	/* a kernel before 4.17, where the flag is unknown, or only a hint that was not taken */
	sys2(__NR_munmap, ret, len);
	return -EEXIST;
}
