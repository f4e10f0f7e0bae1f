/*
 * Where pcl's own memory lives in every guest's address space.
 *
 * The region is away from where Linux places programs, stacks and libraries, and from the shadows of ASan
 * (0x7fff8000 to 0x10007fff8000), TSan (up to 0x340000000000, and from 0x550000000000) and MSan, and from Go's and V8's
 * heaps. Everything that translated code must reach with a 32-bit displacement is in the code cache below 2 GiB, next
 * to the images that the loader places there.
 */
#ifndef RT_LAYOUT_H
#define RT_LAYOUT_H

/* first address of pcl's own region: the runtime image (linker flag in the Makefile) */
#define LAYOUT_BASE 0x520000000000ul
#define LAYOUT_ARENA 0x521000000000ul	    /* the session's shared memory (memfd), see os/session/arena.h */
#define LAYOUT_ARENA_SIZE 0x400000000ul	    /* sparse: the tables */
#define LAYOUT_RINGS 0x521400000000ul	    /* the same memfd's later part, at the same distance: ring buffers */
#define LAYOUT_RINGS_SIZE 0x400000000ul	    /* sparse */
#define LAYOUT_THREADS 0x522000000000ul	    /* private: one struct thread with its stacks per guest thread */
#define LAYOUT_DBT 0x523000000000ul	    /* private: the translator's block tables */
#define LAYOUT_MM 0x524000000000ul	    /* private: the guest's memory map (os/mm/vma.c) */
/* again the arena's memfd: a journal for each task slot, see rt/section.h */
#define LAYOUT_JOURNALS 0x525000000000ul
#define LAYOUT_JOURNAL_SIZE 0x400000ul	    /* sparse */
#define LAYOUT_LONG_SIZE 0x80000000ul	    /* sparse; behind the last one: what one section may have besides */
/* what a smaller code cache has less than one of the usual size, see dbt/cache_memory.h */
#define LAYOUT_CACHE_REST 0x52e000000000ul
/* the code cache as it is written where it must not run there, see dbt/code_memory.h */
#define LAYOUT_CACHE_WRITE 0x52f030000000ul
#define LAYOUT_END 0x530000000000ul	    /* first address after pcl's own region */

/*
 * Below 2 GiB, around the code cache. Non-PIE images are linked at 0x400000; MAP_32BIT mappings go up from
 * LAYOUT_LOW_END. A program's own wishes go first: the cache gives way to them (os/mm/make_way.h).
 */
#define LAYOUT_NEAR 0x10000000ul	    /* PIE images from here upwards */
#define LAYOUT_NEAR_END 0x7f000000ul	    /* shared libraries from here downwards; Wine has what is above */
#define LAYOUT_CACHE 0x30000000ul	    /* the code cache, unless the program wants it elsewhere */
#define LAYOUT_CACHE_SIZE 0x30000000ul
#define LAYOUT_LOW_END 0x60000000ul

/* Where the guest finds its own things, as on Linux without address-space randomisation. */
#define LAYOUT_GUEST_STACK_TOP 0x7ffffffff000ul
#define LAYOUT_GUEST_MMAP_TOP 0x7ffff7fff000ul
#define LAYOUT_GUEST_BRK 0x555556000000ul /* of programs that have no room after them */

#endif
