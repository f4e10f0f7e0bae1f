/* See dbt/code_memory.h. */
#include "dbt/code_memory.h"
#include <asm/errno.h>
#include <asm/mman.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include "dbt/dbt.h"
#include "rt/file_size.h"
#include "rt/log.h"
#include "rt/reserve.h"
#include "rt/sys.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

_Static_assert((u32)LAYOUT_CACHE_WRITE == LAYOUT_CACHE, "rule 1");

u64 code_distance, code_memory_private;

static bool decided; /* how many mappings there are */

/* What is mapped, and how much of it is no reserve. */
struct range {
	u64 start, size, ready;
};

static long map(const struct range *r, u64 addr, int prot, int flags, long fd)
{
	return sys6(__NR_mmap, (long)addr, (long)r->size, prot, flags | MAP_NORESERVE, fd, 0);
}

static u64 write_at(const struct range *r)
{
	return r->start + LAYOUT_CACHE_WRITE - LAYOUT_CACHE;
}

/*
 * The place where code would be written is mapped too: RLIMIT_AS is to mean the same in every image
 * (os/mm/sys_rlimit.c).
 */
static int map_one(const struct range *r)
{
	long ret = map(r, r->start, reserve_prot(PROT_READ | PROT_WRITE | PROT_EXEC),
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);

	if (sys_is_error(ret))
		return (int)ret;
	if (reserve_in_steps)
		ret = sys3(__NR_mprotect, r->start, r->ready, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (sys_is_error(ret)) {
		sys2(__NR_munmap, r->start, r->size);
		return (int)ret;
	}
	ret = map(r, write_at(r), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);
	return sys_is_error(ret) ? (int)ret : 0;
}

/*
 * No descriptor is taken, and no memory was ever writable and becomes executable. But all of it counts at once where
 * the host promises no more than it has. `flags`: MAP_FIXED to replace what is there.
 */
static int map_anonymous(const struct range *r, int flags)
{
	u64 write = write_at(r);
	long ret = map(r, r->start, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS | flags, -1);

	if (sys_is_error(ret))
		return (int)ret;
	/* An old size of 0 maps shared memory once more. */
	ret = sys5(__NR_mremap, r->start, 0, r->size, MREMAP_MAYMOVE | MREMAP_FIXED, write);
	if (!sys_is_error(ret))
		ret = sys3(__NR_mprotect, write, r->size, PROT_READ | PROT_WRITE);
	if (!sys_is_error(ret))
		return 0;
	sys2(__NR_munmap, r->start, r->size);
	sys2(__NR_munmap, write, r->size);
	return (int)ret;
}

static int map_file(const struct range *r, long fd)
{
	long ret = file_size_set(fd, r->size);

	if (!ret)
		ret = map(r, r->start, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd);
	if (!sys_is_error(ret))
		ret = map(r, write_at(r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd);
	return sys_is_error(ret) ? (int)ret : 0;
}

/* SELinux takes executable anonymous memory for execmem, shared or not. A file of memory is a file. */
static long map_memfd(void *range)
{
	long fd = sys2(__NR_memfd_create, "", MFD_CLOEXEC | MFD_EXEC);
	int ret;

	if (fd == -EINVAL) /* the kernel does not know MFD_EXEC, and then makes all so */
		fd = sys2(__NR_memfd_create, "", MFD_CLOEXEC);
	if (fd < 0)
		return fd;
	ret = map_file(range, fd);
	sys1(__NR_close, fd);
	return ret;
}

static int map_two(struct range *r, int flags)
{
	int ret = reserve_in_steps ? -ENOMEM : map_anonymous(r, flags);

	if (ret)
		ret = (int)dbt_host_apart(map_memfd, r);
	if (ret == -EFBIG) /* the guest's RLIMIT_FSIZE: there is no other way then */
		ret = map_anonymous(r, flags);
	if (!ret)
		code_distance = LAYOUT_CACHE_WRITE - LAYOUT_CACHE;
	return ret;
}

int code_memory_map(u64 start, u64 end, u64 ready, bool two)
{
	struct range r = {start, end - start, ready - start};
	bool first = !decided;
	int ret = -ENOMEM;

	check(start < ready && ready <= end && !((start | end) % PAGE_SIZE));
	decided = true;
	if (first ? !two : !code_distance)
		ret = map_one(&r);
	return ret && (first || code_distance) ? map_two(&r, MAP_FIXED_NOREPLACE) : ret;
}

void code_memory_unmap(u64 start, u64 end)
{
	struct range r = {.start = start, .size = end - start};

	sys2(__NR_munmap, start, r.size);
	sys2(__NR_munmap, write_at(&r), r.size);
}

int code_memory_renew(u64 start, u64 end)
{
	struct range r = {.start = start, .size = end - start};

	return map_two(&r, MAP_FIXED);
}

int code_memory_prot(void)
{
	return code_distance ? 0 : PROT_READ | PROT_WRITE | PROT_EXEC;
}

u64 code_memory_shared(void)
{
	return code_distance ? code_memory_private : 0;
}
