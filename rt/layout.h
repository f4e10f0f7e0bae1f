/*
 * Where pcl's own memory lives in every guest's address space.
 *
 * The region is away from where Linux places programs without randomisation, stacks and libraries, from Go's and V8's
 * heaps, and from what sanitizers have fixed addresses for. ASan: its shadow (0x7fff8000 to 0x10007fff8000) and its
 * allocator, 4 TiB and some pages from 0x600000000000 on, of newer ones (gcc 13) from 0x500000000000 on. TSan: its
 * shadows (up to 0x340000000000), programs (0x550000000000 to 0x5a0000000000) and heap (from 0x720000000000). MSan: its
 * shadows (up to 0x510000000000, and from 0x600000000000). TySan: all up to 0x550000000000.
 *
 * Everything that translated code must reach with a 32-bit displacement is in the code cache below 2 GiB, next to the
 * images that the loader places there.
 */
#ifndef RT_LAYOUT_H
#define RT_LAYOUT_H

/* first address of pcl's own region: the runtime image (linker flag in the Makefile) */
#define LAYOUT_BASE 0x5b0000000000ul
#define LAYOUT_ARENA 0x5b1000000000ul	    /* the session's shared memory (memfd), see os/session/arena.h */
#define LAYOUT_ARENA_SIZE 0x400000000ul	    /* sparse: the tables */
#define LAYOUT_RINGS 0x5b1400000000ul	    /* the same memfd's later part, at the same distance: ring buffers */
#define LAYOUT_RINGS_SIZE 0x400000000ul	    /* sparse */
#define LAYOUT_THREADS 0x5b2000000000ul	    /* private: one struct thread with its stacks per guest thread */
#define LAYOUT_DBT 0x5b3000000000ul	    /* private: the translator's block tables */
#define LAYOUT_MM 0x5b4000000000ul	    /* private: the guest's memory map (os/mm/vma.c) */
/* again the arena's memfd: a journal for each task slot, see rt/section.h */
#define LAYOUT_JOURNALS 0x5b5000000000ul
#define LAYOUT_JOURNAL_SIZE 0x400000ul	    /* sparse */
#define LAYOUT_LONG_SIZE 0x80000000ul	    /* sparse; behind the last one: what one section may have besides */
/* what a smaller code cache has less than one of the usual size, see dbt/cache_memory.h */
#define LAYOUT_CACHE_REST 0x5be000000000ul
/* the code cache as it is written where it must not run there, see dbt/code_memory.h */
#define LAYOUT_CACHE_WRITE 0x5bf030000000ul
#define LAYOUT_END 0x5c0000000000ul	    /* first address after pcl's own region */

/*
 * Below 2 GiB, around the code cache. Non-PIE images are linked at 0x400000; MAP_32BIT mappings go up from
 * LAYOUT_LOW_END. A program's own wishes go first: the cache gives way to them (os/mm/make_way.h).
 *
 * Behind the libraries 256 MiB are left free below 2 GiB. A JIT in a library asks for the first addresses behind it:
 * Ruby 3.1's YJIT takes 256 MiB and breaks where they lie on both sides of 2 GiB, since an instruction that names an
 * address above is longer than one that it is patched to.
 */
#define LAYOUT_NEAR 0x10000000ul	    /* PIE images from here upwards */
#define LAYOUT_LIBRARIES_END 0x6f000000ul   /* shared libraries from here downwards, as long as there is room */
#define LAYOUT_NEAR_END 0x7f000000ul	    /* nothing is placed above; Wine has what is there */
#define LAYOUT_CACHE 0x30000000ul	    /* the code cache, unless the program wants it elsewhere */
#define LAYOUT_CACHE_SIZE 0x30000000ul
#define LAYOUT_LOW_END 0x60000000ul

/*
 * Where the guest finds its own things, as on Linux without address-space randomisation: the stack below GUEST_END, the
 * mmap area below that. A host that gives no memory there has both lower, see stack_find_top().
 */
#define LAYOUT_GUEST_END 0x7ffffffff000ul
#define LAYOUT_GUEST_STACK_ROOM 0x8000000ul
#define LAYOUT_GUEST_MMAP_TOP (LAYOUT_GUEST_END - LAYOUT_GUEST_STACK_ROOM)
#define LAYOUT_GUEST_BRK 0x555556000000ul /* of programs that have no room after them */

#endif
