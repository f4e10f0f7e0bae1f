/* See reserve.h. */
#include "rt/reserve.h"

#include <asm/errno.h>
#include <linux/mman.h>
#include "rt/log.h"
#include "rt/map.h"
#include "rt/sys.h"

#define STEP 0x40000ul
#define TOUCH 0x10000ul /* bytes at a time, but with an eighth of what there is */

bool reserve_in_steps;

int reserve_prot(int prot)
{
	return reserve_in_steps ? prot & ~PROT_WRITE : prot;
}

struct reserve reserve_of(u64 start, u64 size, int prot)
{
	check(!((start | size) % PAGE_SIZE));
	return (struct reserve){start, start + size, reserve_in_steps ? start : start + size, start, (u32)prot};
}

/*
 * Shared memory counts page by page as it is touched, and where there is none for a page it would be SIGBUS. An older
 * kernel cannot tell.
 */
static bool make_ready(struct reserve *r, u64 until)
{
	long ret;

	check_slow(r->start <= r->ready && r->ready < until && until <= r->end);
	if (r->prot) {
		ret = sys3(__NR_mprotect, (long)r->ready, (long)(until - r->ready), r->prot);
	} else {
		ret = sys3(__NR_madvise, (long)r->ready, (long)(until - r->ready), MADV_POPULATE_WRITE);
		if (ret == -EINVAL)
			ret = 0;
	}
	if (!ret)
		r->ready = until;
	return !ret;
}

/*
 * By half of what there is, at least a step, so that it becomes so in few calls; and where huge pages are of use, up to
 * the end of one.
 */
bool reserve_grow(struct reserve *r, u64 until)
{
	u64 least = ALIGN_UP(until, PAGE_SIZE), more;

	if (until > r->end)
		return false;
	more = MAX(least, r->ready + MAX(STEP, ALIGN_UP((r->ready - r->start) / 2, PAGE_SIZE)));
	if (more - r->start >= HUGE_SIZE)
		more = ALIGN_UP(more, HUGE_SIZE);
	return make_ready(r, MIN(more, r->end)) || make_ready(r, least);
}

bool reserve_touch(struct reserve *r, u64 until)
{
	u64 from = r->touched, more = from + MAX(TOUCH, ALIGN_UP((from - r->start) / 8, PAGE_SIZE));

	if (until <= from || from == r->ready)
		return true;
	r->touched = MIN(MAX(ALIGN_UP(until, PAGE_SIZE), more), r->ready);
	return !sys3(__NR_madvise, (long)from, (long)(r->touched - from), MADV_POPULATE_WRITE);
}

u64 reserve_give_up(struct reserve *r, u64 keep, u64 bytes)
{
	u64 from = MAX(ALIGN_UP(keep, PAGE_SIZE), r->ready - MIN(bytes, r->ready - r->start));

	check_slow(keep >= r->start);
	if (!r->prot || from >= r->ready || sys3(__NR_mprotect, (long)from, (long)(r->ready - from), PROT_READ))
		return 0;
	bytes = r->ready - from;
	r->ready = r->end = from;
	return bytes;
}
