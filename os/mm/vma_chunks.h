/*
 * The guest's memory map as it lies in memory: of os/mm/vma.c, for os/mm/vma_place.c.
 *
 * Mappings in order of address, without overlaps, in chunks of up to VMA_CHUNK; vma_order lists the chunks. A chunk is
 * never empty. Neighbours that differ in nothing are one entry. Everything is at LAYOUT_MM, in memory that the kernel
 * provides as it is touched and that stays readable, so that a reader without the lock may follow what it finds. `seq`
 * is odd while something is being written.
 */
#ifndef OS_VMA_CHUNKS_H
#define OS_VMA_CHUNKS_H

#include "os/mm/vma.h"
#include "rt/layout.h"
#include "rt/lock.h"

#define VMA_CHUNK	72 /* so that a chunk is a page */
#define VMA_CHUNKS	0x2000
#define VMA_GAP_UNKNOWN (~0ul)

struct vma_chunk {
	u32 n;
	u32 next_free; /* while in the list of free chunks */
	u64 gap;       /* no free range before one of its entries is longer; VMA_GAP_UNKNOWN: not computed */
	struct vma entry[VMA_CHUNK];
} __attribute__((aligned(4096)));

extern struct vma_map {
	struct lock lock;
	u32 seq;
	bool shared; /* see vma_sharers_changed() */
	u32 kept;    /* see os/mm/vma_kept.c: VMA_NOT_KEPT ... */
	u64 last_id;
	u32 count;		      /* entries */
	u32 chunks;		      /* in use: vma_order[0 .. chunks) */
	u32 touched;		      /* chunks ever used */
	u32 free;		      /* 1 + number of a free one among those, 0: none */
	gva near_base, near_top, top; /* bounds of placement */
	struct {
		gva end; /* between here and `top` every free range is shorter than */
		u64 len; /* that, so searches for so much or more begin here */
	} hint;
} vma_map;

static struct vma_chunk *const vma_pool = (struct vma_chunk *)LAYOUT_MM;
static u32 *const vma_order = (u32 *)(LAYOUT_MM + VMA_CHUNKS * sizeof(struct vma_chunk));

/* A place in the map: entry `i` of the chunk vma_order[c]. c == vma_map.chunks: the end. */
struct vma_pos {
	u32 c, i;
};

static inline struct vma_chunk *vma_chunk_at(u32 c)
{
	return &vma_pool[vma_order[c]];
}

static inline struct vma *vma_entry_at(struct vma_pos p)
{
	return &vma_chunk_at(p.c)->entry[p.i];
}

static inline bool vma_at_end(struct vma_pos p)
{
	return p.c >= vma_map.chunks;
}

static inline struct vma_pos vma_next(struct vma_pos p)
{
	return p.i + 1 < vma_chunk_at(p.c)->n ? (struct vma_pos){p.c, p.i + 1} : (struct vma_pos){p.c + 1, 0};
}

/* False if p is the first. */
static inline bool vma_previous(struct vma_pos p, struct vma_pos *out)
{
	if (p.i)
		*out = (struct vma_pos){p.c, p.i - 1};
	else if (p.c)
		*out = (struct vma_pos){p.c - 1, vma_chunk_at(p.c - 1)->n - 1};
	return p.i || p.c;
}

/* Around a change that is written while others have the memory: between the first two `seq` becomes odd, then even. */
enum { VMA_NOT_KEPT, VMA_KEPT, VMA_KEPT_IN_VAIN /* the change is complete */ };
void vma_keep(void);
void vma_keep_no_longer(void);

/* The first entry that ends above addr. What a reader without the lock finds may be anything, but it is readable. */
struct vma_pos vma_above(gva addr);

#endif
