/* Free places in the guest's memory map; see vma.h. */
#include "os/mm/vma_chunks.h"

#define STACK_GUARD_GAP 0x100000ul /* the kernel's default: room it wants below a VMA_GROWSDOWN mapping */
#define LOWEST		0x10000ul  /* vm.mmap_min_addr */
#define HIGHEST		0x7ffffffff000ul

/* Where the room that an entry claims begins: below a growing stack nothing is placed. */
static gva claim_start(const struct vma *v)
{
	if (!(v->flags & VMA_GROWSDOWN))
		return v->start;
	return v->start > STACK_GUARD_GAP + LOWEST ? v->start - STACK_GUARD_GAP : LOWEST;
}

/* True if nothing of that length fits before any entry of the chunk. */
static bool chunk_too_tight(u32 c, u64 len)
{
	struct vma_chunk *chunk = vma_chunk_at(c);
	gva before = 0;

	if (!c)
		return false;
	if (chunk->gap == VMA_GAP_UNKNOWN) {
		before = vma_chunk_at(c - 1)->entry[vma_chunk_at(c - 1)->n - 1].end;
		chunk->gap = 0;
		for (u32 i = 0; i < chunk->n; i++) {
			gva claim = claim_start(&chunk->entry[i]);

			if (claim > before)
				chunk->gap = MAX(chunk->gap, claim - before);
			before = chunk->entry[i].end;
		}
	}
	return chunk->gap < len;
}

static gva find_upwards(gva low, gva high, u64 len, u64 align)
{
	gva at = ALIGN_UP(low, align);
	struct vma_pos p = vma_above(low);

	while (at + len <= high) {
		if (vma_at_end(p) || at + len <= claim_start(vma_entry_at(p)))
			return at;
		if (!p.i && chunk_too_tight(p.c, len))
			p.i = vma_chunk_at(p.c)->n - 1;
		at = MAX(at, ALIGN_UP(vma_entry_at(p)->end, align));
		p = vma_next(p);
	}
	return 0;
}

static gva find_downwards(gva low, gva high, u64 len, u64 align)
{
	struct vma_pos p = vma_above(high - 1), before = {0};
	gva end = vma_at_end(p) ? high : MIN(high, claim_start(vma_entry_at(p)));

	if (vma_at_end(p))
		p = (struct vma_pos){vma_map.chunks, 0};
	for (;;) {
		bool any = vma_previous(p, &before);
		gva floor = any ? MAX(vma_entry_at(before)->end, low) : low;

		if (end >= len && end - len >= floor && ALIGN_DOWN(end - len, align) >= floor)
			return ALIGN_DOWN(end - len, align);
		if (!any || floor == low)
			return 0;
		p = before;
		/* The whole chunk in one step, if it is above `low`. */
		if (p.i + 1 == vma_chunk_at(p.c)->n && vma_chunk_at(p.c)->entry[0].start > low &&
		    chunk_too_tight(p.c, len))
			vma_previous((struct vma_pos){p.c, 0}, &p);
		end = claim_start(vma_entry_at(p));
	}
}

gva vma_find_between_locked(gva low, gva high, u64 len, u64 align)
{
	return low + len <= high ? find_downwards(low, high, len, align) : 0;
}

static gva find_at_top(u64 len, u64 align)
{
	bool plain = align == PAGE_SIZE;
	gva high = len >= vma_map.hint.len ? vma_map.hint.end : vma_map.top;
	gva at = find_downwards(LAYOUT_END, high, len, align);

	if (at && plain) {
		vma_map.hint.end = at + len;
		vma_map.hint.len = len;
	}
	return at;
}

/* Libraries do not take what the program's heap may grow into, as long as there is other room. */
static gva find_near(u64 len, u64 align)
{
	gva at = find_downwards(LAYOUT_LOW_END, vma_map.near_top, len, align);

	if (!at)
		at = find_downwards(LAYOUT_LOW_END, LAYOUT_NEAR_END, len, align);
	return at ? at : find_downwards(vma_map.near_base, LAYOUT_LOW_END, len, align);
}

gva vma_find_free_locked(enum vma_place place, u64 len, u64 align)
{
	gva at = 0;

	if (len > HIGHEST)
		return 0;
	if (place == PLACE_32BIT)
		return find_upwards(LAYOUT_LOW_END, 0x80000000ul, len, align);
	if (place == PLACE_PROGRAM)
		at = find_upwards(vma_map.near_base, LAYOUT_NEAR_END, len, align);
	if (place == PLACE_NEAR)
		at = find_near(len, align);
	if (!at)
		at = find_at_top(len, align);
	if (!at)
		at = find_downwards(LAYOUT_LOW_END, LAYOUT_BASE, len, align);
	return at;
}
