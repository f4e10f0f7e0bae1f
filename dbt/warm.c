/* Using an image: see dbt/warm.h. */
#include "dbt/warm.h"
#include <asm/errno.h>
#include <linux/mman.h>
#include "dbt/cache_memory.h"
#include "dbt/code_pages.h"
#include "dbt/dbt.h"
#include "dbt/invalidate.h"
#include "dbt/mixes.h"
#include "dbt/translate.h"
#include "dbt/warm_parts.h"
#include "rt/guest.h"
#include "rt/hash.h"
#include "rt/log.h"
#include "rt/sys.h"

#define LARGE_ENTRIES 65536u
#define MADV_POPULATE_READ_ 22 /* Linux 5.14 */

u32 warm_frags;
bool warm_of_other;

static u8 active[1 + WARM_REGIONS]; /* by frag.region */
static bool some_went;		     /* fragments of the image are dead that were not when it was made */
/* Regions are those of an image that was made, or none is to be used: no other is mapped any more. */
static bool numbered_anew;
static bool populated;		    /* in this memory map, which other threads share */
static u32 first_new = 1, had;	    /* fragment, and how many entries: see dbt_warm_new() */

void *dbt_warm_place(void)
{
	return cache.warm;
}

static const struct warm_header *header(void)
{
	return (const struct warm_header *)cache.warm;
}

const struct warm_header *dbt_warm_header(void)
{
	return warm_frags && !numbered_anew ? header() : NULL;
}

void *warm_part_at(u32 i, u64 *max)
{
	const struct half_place *place = &cache.place[0];
	const struct {
		void *at;
		u64 max;
	} parts[WARM_PARTS] = {
		[WARM_FRAGS] = {cache.frag, MAX_FRAGS * sizeof(struct frag)},
		[WARM_ENTRIES] = {cache.entry, MAX_ENTRIES * sizeof(struct entry)},
		[WARM_EXITS] = {cache.exit, MAX_EXITS * sizeof(struct exit)},
		[WARM_RECS] = {cache.rec, MAX_RECS * sizeof(struct rec)},
		[WARM_KINDS] = {cache.kinds, MAX_RECS * sizeof(struct rec_kinds)},
		[WARM_PAGES] = {cache.page, MAX_PAGES * sizeof(struct code_page)},
		[WARM_NODES] = {cache.node, MAX_NODES * sizeof(struct page_node)},
		[WARM_PAGE_HASH] = {cache.page_hash, PAGE_HASH_SIZE * sizeof(u32)},
		[WARM_HOT] = {code_at(place->hot), place->cold - place->hot},
		[WARM_COLD] = {code_at(place->cold), place->end - place->cold},
	};

	*max = parts[i].max;
	return parts[i].at;
}

static int prot_of(u32 i)
{
	return PROT_READ | PROT_WRITE | (i == WARM_HOT || i == WARM_COLD ? PROT_EXEC : 0);
}

static bool fits(const struct warm_header *h)
{
	u64 sum = h->tables, slots = 0, max;

	if (h->tables < WARM_HEADER_SIZE || h->tables > WARM_TABLES_MAX || h->nvariants > VARIANTS ||
	    h->nregions > WARM_REGIONS || h->hot > h->part[WARM_HOT] || h->cold > h->part[WARM_COLD])
		return false;
	for (u32 i = 0; i < h->nvariants; i++)
		slots += h->variant[i].mask + 1ul;
	for (u32 i = 0; i < WARM_PARTS; i++) {
		warm_part_at(i, &max);
		if (h->part[i] > max || h->part[i] % PAGE_SIZE)
			return false;
		sum += h->part[i];
	}
	return sum == h->size && h->mixes <= CPU_MIXES &&
	       WARM_HEADER_SIZE + slots * sizeof(u64) + warm_landings_size(h->landings) +
			       h->mixes * sizeof(struct mix) <= h->tables &&
	       h->nfrag < MAX_FRAGS && h->nentry < MAX_ENTRIES && h->nexit < MAX_EXITS && h->nrec < MAX_RECS &&
	       h->npage < MAX_PAGES && h->nnode < MAX_NODES;
}

static long map_part(u32 i, u64 size, int fd, u64 offset)
{
	u64 max;

	if (!size)
		return 0;
	return sys6(__NR_mmap, (long)warm_part_at(i, &max), (long)size, prot_of(i),
		    MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, (long)offset);
}

/*
 * The code of a large program is read, into huge pages: what it would cost to find its pages again and again is
 * more.
 */
static long read_part(u32 i, u64 size, int fd, u64 offset)
{
	u64 max;
	u8 *at = warm_part_at(i, &max);

	cache_huge_pages(0);
	while (size) {
		long n = sys4(__NR_pread64, fd, at, (long)size, (long)offset);

		if (n <= 0)
			return n ? n : -EIO;
		at += n;
		offset += (u64)n;
		size -= (u64)n;
	}
	return 0;
}

void dbt_warm_populate(void)
{
	u64 max;

	if (!warm_frags || __atomic_exchange_n(&populated, true, __ATOMIC_RELAXED))
		return;
	sys3(__NR_madvise, (long)cache.warm, (long)header()->tables, MADV_POPULATE_READ_);
	for (u32 i = 0; i < WARM_PARTS; i++)
		if (i < WARM_RECS || i > WARM_PAGE_HASH)
			sys3(__NR_madvise, (long)warm_part_at(i, &max), (long)header()->part[i], MADV_POPULATE_READ_);
}

/* The first n parts become empty memory again. */
static void unmap_parts(const struct warm_header *h, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (sys_is_error(map_part(i, h->part[i], -1, 0))) {
			log_printf(0, "no memory for the code cache");
			cache_end();
		}
}

/* Behind the lookup tables of all variants. See warm_landing(). */
static const u64 *landings(const struct warm_header *h)
{
	const u64 *at = (const u64 *)(cache.warm + WARM_HEADER_SIZE);

	for (u32 i = 0; i < h->nvariants; i++)
		at += h->variant[i].mask + 1ul;
	return at;
}

static const struct mix *mixes(const struct warm_header *h)
{
	return (const struct mix *)((const u8 *)landings(h) + warm_landings_size(h->landings));
}

int dbt_warm_load(int fd, bool of_other)
{
	const struct warm_header *h = header();
	u64 offset = h->tables;

	if (code_distance || reserve_in_steps || !fits(h))
		return -EINVAL;
	for (u32 i = 0; i < WARM_PARTS; offset += h->part[i++]) {
		bool large = i == WARM_HOT && h->nentry > LARGE_ENTRIES;
		long ret = large ? read_part(i, h->part[i], fd, offset) : map_part(i, h->part[i], fd, offset);

		if (sys_is_error(ret)) {
			unmap_parts(h, i + 1);
			return (int)ret;
		}
	}
	cache.hot = code_at(cache.place[0].hot) + h->hot;
	cache.cold = code_at(cache.place[0].cold) + h->cold;
	cache_frags_are(h->nfrag);
	cache.nentry = h->nentry;
	cache.nexit = h->nexit;
	cache.nrec = h->nrec;
	cache.npage = h->npage;
	cache.nnode = h->nnode;
	for (u32 i = 0; i < h->nvariants; i++)
		cache.variant[i].want = h->variant[i].want;
	cache.nvariant[0] = h->nvariants;
	mixes_load(mixes(h), h->mixes);
	warm_frags = h->nfrag;
	warm_of_other = of_other;
	first_new = h->nfrag;
	had = h->nentry;
	return 0;
}

/*
 * Puts the region's landings into the variant's table, where there is just what they go on with. Others are found
 * when they are missed.
 */
static void install(u32 variant, u32 region)
{
	const struct warm_header *h = header();
	const u64 *list = landings(h), from = warm_landing(variant, region, 0, 0);
	const u32 *below = (const u32 *)(list + h->landings);
	u32 lo = 0, hi = h->landings, *ibl = cache.variant[variant].ibl;

	if (some_went)
		return;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (list[mid] < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < h->landings && list[lo] >> 48 == from >> 48; lo++) {
		u16 index = (u16)(list[lo] >> 32);

		if (ibl[index] == below[lo])
			__atomic_store_n(&ibl[index], (u32)list[lo], __ATOMIC_RELEASE);
	}
}

void warm_begin_variant(u32 variant)
{
	if (numbered_anew || dbt_options.no_ibl || variant >= header()->nvariants)
		return;
	for (u32 r = 1; r <= header()->nregions; r++)
		if (active[r])
			install(variant, r);
}

void warm_fragment_goes(void)
{
	some_went = true;
}

u64 warm_content(u64 page)
{
	u8 copy[PAGE_SIZE];
	u64 hash;

	if (guest_read(copy, page, sizeof(copy)))
		return 0;
	hash = hash_of(copy, sizeof(copy), 0);
	return MAX(hash, 1ul);
}

/* A page of region i; if that is the program's, of any of these. */
static bool goes_with(u64 page, u32 i)
{
	const struct warm_header *h = header();

	if (warm_is_in(page, &h->region[i]))
		return true;
	for (u32 k = 0; h->region[i].of_program && k < h->nregions; k++)
		if (h->region[k].of_program && warm_is_in(page, &h->region[k]))
			return true;
	return false;
}

bool dbt_warm_is_same(u32 i)
{
	bool same = true;

	lock_acquire(&dbt_lock);
	for (u32 p = 1; same && p < header()->npage; p++)
		if (cache.page[p].frags && goes_with(cache.page[p].page, i))
			same = warm_content(cache.page[p].page) == cache.page[p].content;
	cache_unlock();
	return same;
}

void dbt_warm_activate(u32 i)
{
	lock_acquire(&dbt_lock);
	if (warm_frags && !numbered_anew && !active[1 + i]) {
		__atomic_store_n(&active[1 + i], 1, __ATOMIC_RELEASE);
		for (u32 v = 0; !dbt_options.no_ibl && v < header()->nvariants; v++)
			if (cache.variant[v].begun)
				install(v, 1 + i);
	}
	cache_unlock();
}

void dbt_warm_give_up(void)
{
	lock_acquire(&dbt_lock);
	for (u32 f = 1; f < warm_frags; f++)
		dbt_forget_frag(f);
	numbered_anew = true;
	cache_unlock();
}

/* Landings are chained to some of regions that are not mapped now. They are chained anew as they are missed. */
void dbt_warm_goes_on(void)
{
	if (!numbered_anew)
		return;
	lock_acquire(&dbt_lock);
	for (u32 i = 0; i < cache.nvariant[0]; i++)
		if (cache.variant[i].begun)
			memset(cache.variant[i].ibl, 0, IBL_BYTES);
	numbered_anew = warm_frags;
	cache_unlock();
}

void warm_set_active(u32 n)
{
	for (u32 i = 0; i < WARM_REGIONS; i++)
		active[1 + i] = i < n;
	numbered_anew = true;
}

bool warm_is_made(void)
{
	return numbered_anew;
}

bool warm_is_active(u32 region)
{
	return __atomic_load_n(&active[region], __ATOMIC_ACQUIRE);
}

void warm_forget(void)
{
	__atomic_store_n(&warm_frags, 0, __ATOMIC_RELEASE);
}

u32 warm_find(const struct variant *v, u64 pc)
{
	const struct warm_header *h = header();
	const u64 *slots = (const u64 *)(cache.warm + WARM_HEADER_SIZE);
	u64 hash = cache_hash(pc), want = cache_slot(hash, 0);
	size_t n = (size_t)(v - cache.variant);
	const struct frag *f;
	u32 mask, entry;

	if (n >= h->nvariants)
		return 0;
	for (size_t i = 0; i < n; i++)
		slots += h->variant[i].mask + 1ul;
	mask = h->variant[n].mask;
	for (u32 i = (u32)(hash >> 32) & mask; slots[i]; i = (i + 1) & mask) {
		entry = (u32)slots[i];
		if (cache_slot(slots[i], 0) != want || cache.entry[entry].pc != pc)
			continue;
		f = &cache.frag[cache.entry[entry].frag];
		return f->dead || !warm_is_active(f->region) ? 0 : entry;
	}
	return 0;
}

u32 dbt_warm_new(u32 *before, bool (*may_have)(u64 pc))
{
	u32 end = __atomic_load_n(&cache.nfrag_of[0], __ATOMIC_ACQUIRE), sum = 0;

	*before = had;
	if (cache.half)
		return 0;
	for (u32 f = first_new; f < end; f++)
		if (!cache.frag[f].dead && may_have(cache.frag[f].pc))
			sum += cache.frag[f].nentry;
	return sum;
}

void dbt_warm_forked(void)
{
	first_new = cache.nfrag;
	had = cache.nentry;
	populated = false;
}
