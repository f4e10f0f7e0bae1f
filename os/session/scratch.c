/* Short-lived memory; see scratch.h. Addresses go round an area above the memory map's, so threads rarely meet. */
#include <errno.h>
#include <sys/mman.h>
#include "os/session/scratch.h"
#include "rt/layout.h"
#include "rt/map.h"
#include "rt/sys.h"

#define AREA	  (LAYOUT_MM + 0x10000000ul)
#define AREA_SIZE 0x8000000000ul
#define TRIES	  1000

static u64 next;

void *scratch_alloc(u64 size)
{
	size = ALIGN_UP(size, PAGE_SIZE);
	for (int i = 0; i < TRIES; i++) {
		u64 at = __atomic_fetch_add(&next, size + PAGE_SIZE, __ATOMIC_RELAXED) % AREA_SIZE;
		long ret = rt_map_at(AREA + at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (ret != -EEXIST)
			return sys_is_error(ret) ? NULL : (void *)ret;
	}
	return NULL;
}

void scratch_free(void *p, u64 size)
{
	sys2(__NR_munmap, p, ALIGN_UP(size, PAGE_SIZE));
}
