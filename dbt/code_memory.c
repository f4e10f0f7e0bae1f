/* See dbt/code_memory.h. */
#include "dbt/code_memory.h"
#include <asm/errno.h>
#include <asm/mman.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include "dbt/dbt.h"
#include "rt/log.h"
#include "rt/reserve.h"
#include "rt/sys.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

_Static_assert((u32)LAYOUT_CACHE_WRITE == LAYOUT_CACHE, "rule 1");

u64 code_distance, code_memory_private;

static u64 code_start, code_size, code_ready;

static long map(u64 addr, int prot, int flags, long fd)
{
	return sys6(__NR_mmap, (long)addr, (long)code_size, prot, flags | MAP_NORESERVE, fd, 0);
}

/*
 * The place where code would be written is mapped too: RLIMIT_AS is to mean the same in every image
 * (os/mm/sys_rlimit.c).
 */
static int map_one(void)
{
	long ret = map(code_start, reserve_prot(PROT_READ | PROT_WRITE | PROT_EXEC),
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);

	if (sys_is_error(ret))
		return (int)ret;
	if (reserve_in_steps)
		ret = sys3(__NR_mprotect, code_start, code_ready, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (sys_is_error(ret)) {
		sys2(__NR_munmap, code_start, code_size);
		return (int)ret;
	}
	ret = map(code_start + LAYOUT_CACHE_WRITE - LAYOUT_CACHE, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);
	return sys_is_error(ret) ? (int)ret : 0;
}

/*
 * No descriptor is taken, and no memory was ever writable and becomes executable. But all of it counts at once where
 * the host promises no more than it has. `flags`: MAP_FIXED to replace what is there.
 */
static int map_anonymous(int flags)
{
	u64 write = code_start + LAYOUT_CACHE_WRITE - LAYOUT_CACHE;
	long ret = map(code_start, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | flags, -1);

	if (sys_is_error(ret))
		return (int)ret;
	/* An old size of 0 maps shared memory once more. */
	ret = sys5(__NR_mremap, code_start, 0, code_size, MREMAP_MAYMOVE | MREMAP_FIXED, write);
	if (!sys_is_error(ret))
		ret = sys3(__NR_mprotect, write, code_size, PROT_READ | PROT_WRITE);
	if (!sys_is_error(ret))
		return 0;
	sys2(__NR_munmap, code_start, code_size);
	sys2(__NR_munmap, write, code_size);
	return (int)ret;
}

static int map_file(long fd)
{
	u64 write = code_start + LAYOUT_CACHE_WRITE - LAYOUT_CACHE;
	long ret = sys2(__NR_ftruncate, fd, code_size);

	if (!ret)
		ret = map(code_start, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd);
	if (!sys_is_error(ret))
		ret = map(write, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd);
	return sys_is_error(ret) ? (int)ret : 0;
}

/* SELinux takes executable anonymous memory for execmem, shared or not. A file of memory is a file. */
static long map_memfd(void *unused)
{
	long fd = sys2(__NR_memfd_create, "", MFD_CLOEXEC | MFD_EXEC);
	int ret;

	if (fd == -EINVAL) /* the kernel does not know MFD_EXEC, and then makes all so */
		fd = sys2(__NR_memfd_create, "", MFD_CLOEXEC);
	if (fd < 0)
		return fd;
	ret = map_file(fd);
	sys1(__NR_close, fd);
	return ret;
}

static int map_two(int flags)
{
	int ret = reserve_in_steps ? -ENOMEM : map_anonymous(flags);

	if (ret)
		ret = (int)dbt_host_apart(map_memfd, NULL);
	if (!ret)
		code_distance = LAYOUT_CACHE_WRITE - LAYOUT_CACHE;
	return ret;
}

int code_memory_init(u64 start, u64 end, u64 ready, bool two)
{
	check(start < ready && ready <= end && !((start | end) % PAGE_SIZE));
	code_start = start;
	code_size = end - start;
	code_ready = ready - start;
	if (!two && !map_one())
		return 0;
	return map_two(MAP_FIXED_NOREPLACE);
}

int code_memory_renew(void)
{
	return map_two(MAP_FIXED);
}

int code_memory_prot(void)
{
	return code_distance ? 0 : PROT_READ | PROT_WRITE | PROT_EXEC;
}

u64 code_memory_shared(void)
{
	return code_distance ? code_memory_private : 0;
}
