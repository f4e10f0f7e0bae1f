/* Between dbt/warm.c and dbt/warm_make.c. */
#ifndef DBT_WARM_PARTS_H
#define DBT_WARM_PARTS_H

#include "abi/types.h"
#include "dbt/warm.h"

/* Where part i of an image is mapped, and the most bytes that it may have. */
void *warm_part_at(u32 i, u64 *max);

/*
 * The first of the landings of a variant and region that have the same index in the table of indirect branches: the
 * variant, the region (as frag.region) and the index, and in the low half where it is, from cache.miss on. They are in
 * this order. They are chained as they are to be, and the last goes on with the first of the regions before that have
 * landings with this index, or with the miss code. None is dead.
 */
static inline u64 warm_landing(u32 variant, u32 region, u16 index, u32 at)
{
	return (u64)variant << 56 | (u64)region << 48 | (u64)index << 32 | at;
}

/* Of the list of n landings, with what is behind it. */
static inline u64 warm_landings_size(u32 n)
{
	return n * sizeof(u64) + ALIGN_UP(n * sizeof(u32), sizeof(u64));
}

static inline bool warm_is_in(u64 page, const struct warm_region *r)
{
	return page >= r->start && page < r->end;
}

/* A hash of the guest's page, never 0; 0: it cannot be read. */
u64 warm_content(u64 page);

/* The process has made an image: it makes no other. */
bool warm_is_made(void);

/* By frag.region: the guest has it mapped. The first n are from now on, and no others. */
bool warm_is_active(u32 region);
void warm_set_active(u32 n);

#endif
