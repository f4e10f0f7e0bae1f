/* Between dbt/warm.c and dbt/warm_make.c. */
#ifndef DBT_WARM_PARTS_H
#define DBT_WARM_PARTS_H

#include "abi/types.h"

/* Where part i of an image is mapped, and the most bytes that it may have. */
void *warm_part_at(u32 i, u64 *max);

/*
 * A landing that is to be in the table of indirect branches: its variant, its region (as frag.region) and its
 * index in the table, and in the low half where it is, from cache.miss on. They are in this order. None is dead.
 */
static inline u64 warm_landing(u32 variant, u32 region, u16 index, u32 at)
{
	return (u64)variant << 56 | (u64)region << 48 | (u64)index << 32 | at;
}

/* The process has made an image: it makes no other. */
bool warm_is_made(void);

/* By frag.region: the guest has it mapped. The first n are from now on, and no others. */
bool warm_is_active(u32 region);
void warm_set_active(u32 n);

#endif
