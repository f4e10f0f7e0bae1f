/* See os/mm/make_way.h. */
#include "os/mm/make_way.h"
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include "dbt/dbt.h"
#include "os/mm/vma.h"
#include "os/session/process.h"
#include "rt/layout.h"
#include "rt/log.h"
#include "rt/sys.h"

#define TRIES	  2000 /* of a millisecond */
#define HINTS_MAX 8    /* a program that looks for a place near its code asks for one after the other */

static u32 hints; /* that the cache has moved for; under vma_lock() */

static void note_half_locked(u32 half)
{
	struct vma vma = {.kind = VMA_HOST};

	dbt_half_place(half, &vma.start, &vma.end);
	vma_insert_locked(&vma);
}

void make_way_init_locked(void)
{
	note_half_locked(0);
	note_half_locked(1);
}

static bool half_is_in(u32 half, gva start, gva end)
{
	gva from, to;

	dbt_half_place(half, &from, &to);
	return from < end && start < to;
}

/* Of twice the size, above [start, end) or below it. 0: there is none. */
static gva find_place_locked(gva start, gva end, u64 size)
{
	gva at = vma_find_between_locked(MAX(end, LAYOUT_NEAR), LAYOUT_NEAR_END, 2 * size, DBT_HALF_ALIGN);

	if (!at)
		at = vma_find_between_locked(LAYOUT_NEAR, MIN(start, LAYOUT_NEAR_END), 2 * size, DBT_HALF_ALIGN);
	return at ? at + size : 0;
}

/* Where it goes to may overlap where it is. */
static int move_half_locked(u32 half, gva start, gva end)
{
	u64 size = DBT_HALF_FULL;
	gva from, to, at = 0;
	int ret = -ENOMEM;

	if (!vma_room_locked())
		return ret;
	dbt_half_place(half, &from, &to);
	vma_remove_locked(from, to);
	while (size >= DBT_HALF_MIN && !(at = find_place_locked(start, end, size)))
		size /= 2;
	if (at)
		ret = dbt_move_half(half, at, size);
	note_half_locked(half);
	return ret;
}

/* The one that is not in use is to go first: both may be in the way. */
static int move_locked(gva start, gva end)
{
	u32 last = dbt_half_in_use();
	int ret = 0;

	if (half_is_in(!last, start, end))
		ret = move_half_locked(!last, start, end);
	if (!ret && half_is_in(last, start, end))
		ret = move_half_locked(last, start, end);
	return ret;
}

/* What of [start, end) is mapped is the cache's. */
static bool else_free_locked(gva start, gva end)
{
	gva at = start;

	for (const struct vma *v; (v = vma_next_locked(at)) && v->start < end; at = v->end)
		if (v->kind != VMA_HOST || !(half_is_in(0, v->start, v->end) || half_is_in(1, v->start, v->end)))
			return false;
	return true;
}

static bool is_in_the_way(gva start, gva end)
{
	return half_is_in(0, start, end) || half_is_in(1, start, end);
}

static void lock_and_move(gva start, gva end, bool only_if_free, bool hint)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	int ret = -EAGAIN;

	vma_lock();
	for (u32 i = 0; i < TRIES && ret == -EAGAIN && is_in_the_way(start, end); i++) {
		if ((only_if_free && !else_free_locked(start, end)) || (hint && hints == HINTS_MAX) ||
		    __atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED))
			return;
		ret = move_locked(start, end);
		if (ret == -EAGAIN) {
			vma_unlock();
			sys2(__NR_nanosleep, &ms, 0);
			vma_lock();
		}
	}
	hints += hint && !ret;
}

void make_way_lock(gva start, gva end)
{
	lock_and_move(start, end, false, false);
}

void make_way_lock_free(gva start, gva end, bool hint)
{
	lock_and_move(start, end, true, hint);
}

void make_way_lock_mmap(gva addr, u64 len, int flags)
{
	gva start = ALIGN_DOWN(addr, PAGE_SIZE);

	if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED && start == addr)
		make_way_lock(start, start + len);
	else if (start)
		make_way_lock_free(start, start + len, !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)));
	else
		vma_lock();
}

bool make_way_has_room(gva start, gva end)
{
	u64 above = LAYOUT_NEAR_END - MIN(MAX(end, LAYOUT_NEAR), LAYOUT_NEAR_END);
	u64 below = MIN(MAX(start, LAYOUT_NEAR), LAYOUT_NEAR_END) - LAYOUT_NEAR;

	return !is_in_the_way(start, end) || MAX(above, below) >= 3 * DBT_HALF_MIN + DBT_HALF_ALIGN;
}
