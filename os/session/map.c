/* See map.h. */
#include <asm/errno.h>
#include <linux/mman.h>
#include "os/session/arena.h"
#include "os/session/map.h"
#include "rt/sys.h"

/* The file lies at LAYOUT_ARENA. */
static int map_part(int arena_fd, u64 fixed, u64 at, u64 size)
{
	long ret = sys6(__NR_mmap, at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, arena_fd,
			at - LAYOUT_ARENA);

	if (sys_is_error(ret))
		return (int)ret;
	return (u64)ret == at ? 0 : -ENOMEM;
}

static int map_all(int arena_fd, u64 fixed)
{
	int ret = map_part(arena_fd, fixed, LAYOUT_ARENA, LAYOUT_ARENA_SIZE);

	if (!ret)
		ret = map_part(arena_fd, fixed, LAYOUT_RINGS, LAYOUT_RINGS_SIZE);
	if (!ret)
		ret = map_part(arena_fd, fixed, LAYOUT_JOURNALS, ARENA_JOURNALS_SIZE);
	return ret;
}

int map_arena(int arena_fd)
{
	return map_all(arena_fd, MAP_FIXED_NOREPLACE);
}

int map_arena_again(int arena_fd)
{
	return map_all(arena_fd, MAP_FIXED);
}
