/*
 * The code cache's memory: capacities and places, and what of them can be written. For dbt/cache.c and dbt/warm*.c.
 *
 * Everything is mapped once, of the size that it may get. Where the kernel promises no more than it has, it becomes
 * writable in steps (rt/reserve.h): what a half fills from the start on in cache_has_room(), a variant's tables when
 * they are wanted. When there is no more memory the cache is full; of each half so much is writable from the beginning
 * that it can be used and forgotten again.
 */
#ifndef DBT_CACHE_MEMORY_H
#define DBT_CACHE_MEMORY_H

#include "dbt/cache.h"
#include "rt/map.h"

/* Capacities of one half. */
#define MAX_FRAGS (1u << 20)
#define MAX_ENTRIES (1u << 20) /* at most half the slots of the largest table */
#define MAX_EXITS (4u << 20) /* entry.exit */
#define MAX_RECS (24u << 20)
#define MAX_PAGES (1u << 20) /* of both: see cache_pages_drop() */
#define MAX_NODES (2u << 20)
#define PAGES_MAX 512u /* that one fragment, with what else is mapped of them, may be of */
#define STUB_MAX 160u /* bytes of an exit stub, with what comes before it in the cold part */
#define STUB_LATE 20u /* of one that an exit gets when it is unlinked */
#define WASTE_LEAST (1u << 16) /* fragments: some 15 MB of records, code and stubs */
#define MORE 16u /* entries, exits and so on besides those of the fragment: of a look, of a landing */
#define MORE_BYTES 1024u

/*
 * A program is a large one when it needs this size of table. Then each half of its records, and of the code, has huge
 * pages, behind so much without.
 */
#define LARGE_LEVEL 2u
#define SMALL_PAGES 0x80000ul
#define ALIGN_HUGE(at) (ALIGN_UP((at) + SMALL_PAGES, HUGE_SIZE) - SMALL_PAGES)

#define TABLE_SLOTS (TABLE_FIRST * (1ul + 4 + 16 + 64 + 256)) /* of one variant, all sizes */
#define IBL_BYTES (IBL_SIZE * 4ul)
/* Of a half, from its start on: tables of indirect branches, the code of a miss, copies, then code and stubs. */
#define CODE_AT (VARIANTS * 2 * IBL_BYTES)
#define COPIES_AT (CODE_AT + PAGE_SIZE)
#define HOT_AT ALIGN_HUGE(COPIES_AT + COPIES_SIZE)
#define SMALL_HOT_SIZE 0x40000ul

int cache_memory_map(void);   /* sets cache's pointers; 0 or -errno */
/* cache_move_half(), but for what is in it. What it has less than DBT_HALF_FULL is mapped at LAYOUT_CACHE_REST. */
int cache_memory_move(u32 half, u64 start, u64 size);
int cache_memory_renew(void); /* in the child of a fork, where the code is in shared memory: 0 or -errno */

/*
 * The tables of a variant that it begins with, and the one of that level, can be written. With dbt_lock, as huge_pages.
 */
bool cache_variant_ready(struct variant *v);
bool cache_level_ready(struct variant *v, u32 level);
/* Its code is about to be used. */
void cache_variant_begin(struct variant *v);
void cache_huge_pages(u32 half);

/* See dbt_touch_ahead(). The second touches what the next fragment may take. With dbt_lock. */
bool cache_touch_from_now_on(void);
void cache_touch_ahead(void);

#endif
