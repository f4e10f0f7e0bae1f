/* Making an image: see dbt/warm.h. */
#include <linux/mman.h>
#include "dbt/cache_memory.h"
#include "dbt/code_pages.h"
#include "dbt/dbt.h"
#include "dbt/invalidate.h"
#include "dbt/mixes.h"
#include "dbt/warm.h"
#include "dbt/warm_parts.h"
#include "rt/log.h"
#include "rt/sys.h"

#define SLOTS_MIN 64u
/* Code of these depends on more than on the guest's bytes. */
#define WANT_OTHER (CPU_WANT_WATCH | CPU_WANT_TOUCH | CPU_WANT_BREAK | CPU_WANT_ONE | CPU_WANT_RSEQ_CS)

static struct code_page *pages; /* as the image is to have them */

const void *dbt_warm_part(u32 i)
{
	u64 max;

	return i == WARM_PAGES ? pages : warm_part_at(i, &max);
}

/* But what is of a region behind the first n. */
static void forget_page(struct code_page *p, u32 n)
{
	bool kept = false;

	for (u32 at = p->frags; at; at = cache.node[at].next)
		if (cache.frag[cache.node[at].frag].region > n)
			kept = true;
		else
			dbt_forget_frag(cache.node[at].frag);
	if (!kept)
		p->frags = 0;
}

/* 1 + index of the region with the page, or 0. The page before it was in `last`. */
static u32 region_of(u64 page, const struct warm_region *region, u32 n, u32 last)
{
	if (last && warm_is_in(page, &region[last - 1]))
		return last;
	for (u32 i = 0; i < n; i++)
		if (warm_is_in(page, &region[i]))
			return 1 + i;
	return 0;
}

/*
 * The program's own regions are always there together, so they are one: linkers like lld put the PLT into a segment
 * of its own.
 */
static u32 taken_as(const struct warm_region *region, u32 r)
{
	for (u32 i = 0; region[r - 1].of_program && i < r; i++)
		if (region[i].of_program)
			return 1 + i;
	return r;
}

/* All pages that a fragment was made from are in the same one. */
static void take_page(struct code_page *p, u32 region)
{
	for (u32 n = p->frags; n; n = cache.node[n].next) {
		struct frag *f = &cache.frag[cache.node[n].frag];

		if (f->region && f->region != region)
			dbt_forget_frag(cache.node[n].frag);
		f->region = (u8)region;
	}
}

/*
 * What the image that this process began with has of files that are not mapped now, stays in the next one: another
 * run may want it; but not if it is another program's. By frag.region there: which regions they are now, 0: they go.
 */
static u32 keep_unmapped(struct warm_region *region, u32 n, u8 *now)
{
	const struct warm_header *h = dbt_warm_header();
	const u32 mapped = n;

	for (u32 i = 0; h && !warm_of_other && i < h->nregions; i++) {
		const struct warm_region *r = &h->region[i];
		bool free = n < WARM_REGIONS && !warm_is_active(1 + i);

		for (u32 k = 0; k < mapped; k++)
			free &= r->end <= region[k].start || r->start >= region[k].end;
		if (!free)
			continue;
		region[n++] = *r;
		now[1 + i] = (u8)n;
	}
	return n;
}

/* Those of the first n regions, which are mapped, and of `now`. */
static void forget_others(const struct warm_region *region, u32 n, const u8 *now, warm_clean *clean, void *arg)
{
	u32 r = 0;

	for (u32 i = 1; i < cache.nfrag; i++) {
		struct frag *f = &cache.frag[i];
		bool unmapped = i < warm_frags && !warm_is_active(f->region);

		f->region = unmapped ? now[f->region] : 0;
		if ((unmapped && !f->region) || (cache.variant[f->variant].want & WANT_OTHER))
			dbt_forget_frag(i);
	}
	for (u32 i = 1; i < cache.npage; i++) {
		struct code_page *p = &cache.page[i];

		r = region_of(p->page, region, n, r);
		if (r && p->frags && !p->checked && !p->protected_ && !p->writes && clean(p->page, r - 1, arg) &&
		    (p->content = warm_content(p->page)))
			take_page(p, taken_as(region, r));
		else
			forget_page(p, n);
	}
	for (u32 f = 1; f < cache.nfrag; f++)
		if (!cache.frag[f].region)
			dbt_forget_frag(f);
}

/* Links stay within a region, and lists are of what is alive. */
static void keep_links(void)
{
	for (u32 i = 1; i < cache.nentry; i++)
		cache.entry[i].in = 0;
	for (u32 i = 1; i < cache.nexit; i++) {
		struct exit *x = &cache.exit[i];
		struct entry *to = &cache.entry[x->linked];

		if (!x->linked)
			continue;
		if (cache.frag[x->frag].dead) {
			x->linked = 0;
		} else if (cache.frag[to->frag].dead || cache.frag[to->frag].region != cache.frag[x->frag].region) {
			cache_exit_unlink(i);
		} else {
			x->next_in = to->in;
			to->in = i;
		}
	}
}

static bool is_found(const struct entry *e, u32 variant)
{
	const struct frag *f = &cache.frag[e->frag];

	return !f->dead && f->variant == variant && e->insns;
}

/* The variant's lookup table: how many slots. */
static u32 fill_table(u64 *slots, const u64 *end, u32 variant)
{
	u32 n = 0, mask;

	for (u32 i = 1; i < cache.nentry; i++)
		n += is_found(&cache.entry[i], variant);
	for (mask = SLOTS_MIN - 1; mask < 2 * n; mask = 2 * mask + 1)
		;
	if (mask >= (u64)(end - slots))
		return 0;
	for (u32 i = 1; i < cache.nentry; i++) {
		const struct entry *e = &cache.entry[i];
		u64 hash = cache_hash(e->pc);
		u32 at = (u32)(hash >> 32) & mask;

		if (!is_found(e, variant))
			continue;
		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = cache_slot(hash, i);
	}
	return mask + 1;
}

/* Heap sort. */
static void sift(u64 *a, u32 at, u32 n)
{
	for (u32 child; (child = 2 * at + 1) < n; at = child) {
		u64 value = a[at];

		child += child + 1 < n && a[child + 1] > a[child];
		if (value >= a[child])
			return;
		a[at] = a[child];
		a[child] = value;
	}
}

static void sort(u64 *a, u32 n)
{
	for (u32 i = n / 2; i-- > 0;)
		sift(a, i, n);
	while (n > 1) {
		u64 value = a[--n];

		a[n] = a[0];
		a[0] = value;
		sift(a, 0, n);
	}
}

static u32 entry_of(u32 landing)
{
	u32 entry;

	memcpy(&entry, cache.miss + landing - sizeof(entry), sizeof(entry));
	return entry;
}

/* Both from cache.miss on; then 0: the miss code. */
static void chain_landing(u32 landing, u32 then)
{
	struct entry *e = &cache.entry[entry_of(landing)];
	u32 next = then ? entry_of(then) : 0;

	if (e->landing_next == next) /* the page of the image that this process began with stays as it is */
		return;
	e->landing_next = next;
	emit_patch(code_at(e->landing_miss), cache.miss + then);
}

static u8 region_of_landing(u32 landing)
{
	return cache.frag[cache.entry[entry_of(landing)].frag].region;
}

/* All that are alive, by variant, index, region and place. How many there are, -1: too many. */
static long find_landings(u64 *at, u64 max)
{
	u32 n = 0;

	for (u32 i = 1; i < cache.nentry; i++) {
		const struct entry *e = &cache.entry[i];
		const struct frag *f = &cache.frag[e->frag];

		if (f->dead || !e->landing)
			continue;
		if (n == max)
			return -1;
		at[n++] = (u64)f->variant << 56 | (u64)(u16)e->pc << 40 | (u64)f->region << 32 |
			  (e->landing - code_host(cache.miss));
	}
	sort(at, n);
	return n;
}

/*
 * Chains those of the same index, the newest first, as they come to be chained when code is made. Those that are the
 * first of their regions remain. How many these are.
 */
static u32 chain_landings(u64 *at, u32 n)
{
	u32 heads = 0;

	for (u32 i = 0, then = 0; i < n; i++) {
		u32 landing = (u32)at[i];

		chain_landing(landing, then);
		then = i + 1 < n && at[i + 1] >> 40 == at[i] >> 40 ? landing : 0;
		if (!then || at[i + 1] >> 32 != at[i] >> 32)
			at[heads++] = warm_landing((u32)(at[i] >> 56), region_of_landing(landing), (u16)(at[i] >> 40),
						   landing);
	}
	return heads;
}

/* What the last one of its region goes on with. */
static u32 find_below(u32 landing)
{
	u32 next = entry_of(landing), region = region_of_landing(landing);

	do
		next = cache.entry[next].landing_next;
	while (next && cache.frag[cache.entry[next].frag].region == region);
	return next ? cache.entry[next].landing - code_host(cache.miss) : 0;
}

/* Into the list that the header tells of. How many there are, -1: too many. */
static long fill_landings(u64 *at, const u64 *end)
{
	long n, all = find_landings(at, (u64)(end - at) / 2);
	u32 *below;

	if (all < 0)
		return all;
	n = chain_landings(at, (u32)all);
	sort(at, (u32)n);
	below = (u32 *)(at + n);
	memset(below, 0, (u64)(all - n) * sizeof(*at)); /* zero, as what is behind */
	for (long i = 0; i < n; i++)
		below[i] = find_below((u32)at[i]);
	return n;
}

/* What the pages were to the process is not to be known. */
static u64 copy_pages(void *to)
{
	pages = to;
	for (u32 i = 1; i < cache.npage; i++) {
		const struct code_page *p = &cache.page[i];

		pages[i] = (struct code_page){
			.page = p->page, .content = p->content, .next = p->next, .frags = p->frags};
	}
	return cache.npage * sizeof(struct code_page);
}

static void set_part(struct warm_header *h, u32 i, u64 bytes)
{
	h->part[i] = ALIGN_UP(bytes, PAGE_SIZE);
	h->size += h->part[i];
}

static void fill_header(struct warm_header *h, u64 pages_size)
{
	bool kinds = false;

	for (u32 i = 0; i < h->nvariants; i++)
		kinds |= !!(cache.variant[i].want & CPU_WANT_KINDS);
	h->magic = WARM_MAGIC;
	h->size = h->tables;
	h->nfrag = cache.nfrag;
	h->nentry = cache.nentry;
	h->nexit = cache.nexit;
	h->nrec = cache.nrec;
	h->npage = cache.npage;
	h->nnode = cache.nnode;
	h->hot = (u64)(cache.hot - code_at(cache.place[0].hot));
	h->cold = (u64)(cache.cold - code_at(cache.place[0].cold));
	set_part(h, WARM_FRAGS, cache.nfrag * sizeof(struct frag));
	set_part(h, WARM_ENTRIES, cache.nentry * sizeof(struct entry));
	set_part(h, WARM_EXITS, cache.nexit * sizeof(struct exit));
	set_part(h, WARM_RECS, cache.nrec * sizeof(struct rec));
	set_part(h, WARM_KINDS, kinds ? cache.nrec * sizeof(struct rec_kinds) : 0);
	set_part(h, WARM_PAGES, pages_size);
	set_part(h, WARM_NODES, cache.nnode * sizeof(struct page_node));
	set_part(h, WARM_PAGE_HASH, PAGE_HASH_SIZE * sizeof(u32));
	set_part(h, WARM_HOT, h->hot);
	set_part(h, WARM_COLD, h->cold);
}

static struct warm_header *make(u8 *place, const struct warm_region *region, u32 nregions)
{
	struct warm_header *h = (struct warm_header *)place;
	u64 *slots = (u64 *)(place + WARM_HEADER_SIZE), *end = (u64 *)(place + WARM_TABLES_MAX), pages_size;
	const struct mix *mix;
	long landings;

	h->nvariants = cache.nvariant[0];
	h->nregions = nregions;
	memcpy(h->region, region, nregions * sizeof(*region));
	for (u32 i = 0; i < h->nvariants; i++) {
		u32 n = fill_table(slots, end, i);

		if (!n)
			return NULL;
		h->variant[i].want = cache.variant[i].want;
		h->variant[i].mask = n - 1;
		slots += n;
	}
	landings = fill_landings(slots, end);
	if (landings < 0)
		return NULL;
	h->landings = (u32)landings;
	slots += warm_landings_size(h->landings) / sizeof(*slots);
	mix = mixes_all(&h->mixes);
	h->tables = ALIGN_UP((u64)((u8 *)slots - place) + h->mixes * sizeof(*mix), PAGE_SIZE);
	if (h->tables + cache.npage * sizeof(struct code_page) + PAGE_SIZE > WARM_TABLES_MAX)
		return NULL;
	memcpy(slots, mix, h->mixes * sizeof(*mix));
	pages_size = copy_pages(place + h->tables);
	fill_header(h, pages_size);
	return h->size <= WARM_FILE_MAX ? h : NULL;
}

/* Most of it is dead: of files that have changed since. The next image is to begin empty. */
static bool is_worn(void)
{
	u32 dead = 0;

	for (u32 f = 1; f < cache.nfrag; f++)
		dead += cache.frag[f].dead;
	return dead > cache.nfrag / 2;
}

/* The code is of the first half alone, before it was ever full. Sections are learned of when code is decoded. */
static bool can_make(u32 n)
{
	return !warm_is_made() && !code_distance && !reserve_in_steps && !cache.half && cache.epoch == 1 &&
	       !dbt_rseq_cs_known && n <= WARM_REGIONS && cache.nvariant[0] <= VARIANTS / 2 && cache_has_room();
}

struct warm_header *dbt_warm_make(const struct warm_region *mapped, u32 n, warm_clean *clean, void *arg)
{
	static struct warm_region region[WARM_REGIONS]; /* under dbt_lock */
	u8 *place = cache.warm + WARM_FILE_MAX;
	struct warm_header *h = NULL;
	u8 now[1 + WARM_REGIONS] = {0};
	u32 all;

	lock_acquire(&dbt_lock);
	if (can_make(n)) {
		sys3(__NR_madvise, (long)place, WARM_TABLES_MAX, MADV_DONTNEED); /* zero, whatever was there */
		memcpy(region, mapped, n * sizeof(*mapped));
		all = keep_unmapped(region, n, now);
		forget_others(region, n, now, clean, arg);
		keep_links();
		warm_set_active(n);
		h = make(place, region, all);
		if (h)
			h->worn = is_worn();
	}
	cache_unlock();
	return h;
}
