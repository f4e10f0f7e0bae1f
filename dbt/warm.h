/*
 * Warm starts: the translations of a program that ran before, from an image of the cache that is mapped privately.
 * See doc/warm-start.md.
 *
 * An image is half 0 of the cache and its tables as a process left them, at the addresses and with the numbers
 * that they have in every process. What is in it is of regions: executable mappings of files. A region's code is
 * used once the guest has the same part of the same file mapped at the same place (dbt_warm_activate()); before
 * that no lookup finds it. Blocks of different regions are not linked, so it is never reached otherwise. From then
 * on image and new code are alike: it is invalidated by page as all code, and linked as all code.
 *
 * os/mm/warm.c decides which file is used, and whether it can be trusted. Here nothing of an image is checked but
 * that it fits.
 */
#ifndef DBT_WARM_H
#define DBT_WARM_H

#include "abi/types.h"
#include "dbt/cache.h"

#define WARM_MAGIC 0x31306d7261776370ul /* "pcwarm01" */
#define WARM_REGIONS 255u /* ffmpeg has 200; frag.region is a byte */

/* A file and its version: what is in it is the same for as long as all of this is. */
struct warm_file {
	u64 dev, ino, size, mtime, ctime; /* times in ns. The vDSO: ino is 0, mtime a hash of it */
};

struct warm_region {
	u64 start, end;
	u64 offset; /* in the file */
	u64 of_program; /* it was mapped before the program began, as were all others of its file */
	struct warm_file file; /* the last one that it was made from; see dbt_warm_is_same() */
};

/* What an image is good for: compared as a whole. */
struct warm_key {
	u64 build[3];	 /* the runtime's build id */
	u64 settings;	 /* options and processor */
	u64 forms;	 /* landing and bswap_is_fast of dbt_options */
	u64 want;	 /* CPU_WANT_*: what is counted from the beginning */
	u64 place[2];	 /* addresses of the cache's first half */
	u64 size, head;	 /* of the program, and a hash of its first page, where linkers put the build id */
};

/* The parts of the file behind the header and the lookup tables. */
enum {
	WARM_FRAGS, WARM_ENTRIES, WARM_EXITS,
	WARM_RECS, WARM_KINDS, WARM_PAGES, WARM_NODES, WARM_PAGE_HASH, /* see dbt_warm_populate() */
	WARM_HOT, WARM_COLD,
	WARM_PARTS
};

/* At the file's beginning. Lookup tables of each variant follow; then the parts, each in whole pages. */
struct warm_header {
	u64 magic;
	u64 checksum; /* of all that follows */
	u64 size;     /* of the file */
	struct warm_key key;
	u64 part[WARM_PARTS]; /* bytes */
	u64 tables;   /* bytes of header and lookup tables */
	u64 hot, cold; /* bytes in use */
	u32 nfrag, nentry, nexit, nrec, npage, nnode; /* next free index of each */
	u32 nvariants, nregions;
	/* behind the lookup tables: u64s, see warm_landing(); then u32s, what each goes on with, from cache.miss on */
	u32 landings;
	u32 mixes; /* behind them, of struct mix: what the code counts by (dbt/mixes.h) */
	u32 worn;     /* so much in it is dead that it is not worth being kept, nor that which it was made from */
	struct {
		u32 want, mask; /* mask + 1: slots of its lookup table */
	} variant[VARIANTS];
	struct warm_region region[WARM_REGIONS];
};

#define WARM_HEADER_SIZE 24576u
_Static_assert(sizeof(struct warm_header) <= WARM_HEADER_SIZE, "it has its place");
#define WARM_CHECKED_FROM 16u /* what comes before is magic and checksum */
#define WARM_FILE_MAX 0x10000000ul  /* bytes of an image */
#define WARM_TABLES_MAX 0x4000000ul /* of its header and lookup tables */

/*
 * Where a whole image is to be mapped, privately and to be read and written, for dbt_warm_load(). Memory is
 * reserved there: WARM_FILE_MAX bytes.
 */
void *dbt_warm_place(void);

/*
 * Begins with the image that is mapped there and that `fd` is open for. of_other: it was not made by this program.
 * Before the first dbt_run(). 0, or -errno: the cache is empty as before. dbt_warm_header() is its header from then on,
 * NULL: there is none.
 */
int dbt_warm_load(int fd, bool of_other);
const struct warm_header *dbt_warm_header(void);

/*
 * The guest has mapped what may be region i of the header, of another file: whether the pages that the image has code
 * of are as they were. That is so for a copy of the file, as on another machine with the same packages. True for a
 * region of the program only if it is for all of them.
 */
bool dbt_warm_is_same(u32 i);

/* The guest has mapped region i of the header. With what guards its map, not with dbt_lock. */
void dbt_warm_activate(u32 i);

/*
 * Nobody has page faults when he executes it, or looks for what there is of it. The parts from WARM_RECS to
 * WARM_PAGE_HASH are left out: who looks there translates, which is own work (dbt_host_own_work()), or does so seldom.
 */
void dbt_warm_populate(void);

/* Nothing of the image is used from now on, and none is made. */
void dbt_warm_give_up(void);

/*
 * Blocks that were translated since the image was loaded, or the process was forked, of code that images may have; and
 * *before: those that there were then. An estimate, if others are translating; 0: there will be no image.
 */
u32 dbt_warm_new(u32 *before, bool (*may_have)(u64 pc));
void dbt_warm_forked(void);

/*
 * Makes an image of what there is. What is not to be in it is forgotten: code that is not of these regions, or of
 * a page of which clean(page, region, arg) says that it may not hold what is in the file. No other thread runs
 * translated code any more. Returns the header, complete but for key and checksum, with the lookup tables behind it,
 * as the file is to begin; NULL: there is nothing to save. It is good until the next one.
 */
typedef bool warm_clean(u64 page, u32 region, void *arg);
struct warm_header *dbt_warm_make(const struct warm_region *mapped, u32 n, warm_clean *clean, void *arg);

/*
 * The process goes on all the same, if it has made one. It may make another, unless it began with one. No other thread
 * of it is there.
 */
void dbt_warm_goes_on(void);

/* Where the bytes of part i are. */
const void *dbt_warm_part(u32 i);

/* For dbt/cache.c: */
extern u32 warm_frags; /* an image is in use: the first index behind its fragments; 0: none is */
extern bool warm_of_other; /* and another program made it */
u32 warm_find(const struct variant *v, u64 pc); /* its entry for pc, or 0 */
void warm_begin_variant(u32 variant); /* indirect branches of its code are to find their ways; with dbt_lock */
void warm_fragment_goes(void); /* one of the image's is forgotten */
void warm_forget(void); /* the half goes */

#endif
