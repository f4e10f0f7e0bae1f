/* See cache_memory.h. */
#include "dbt/cache_memory.h"
#include <asm/errno.h>
#include <linux/mman.h>
#include "dbt/code_pages.h"
#include "dbt/translate.h"
#include "dbt/warm.h"
#include "rt/layout.h"
#include "rt/log.h"
#include "rt/map.h"
#include "rt/stress.h"
#include "rt/sys.h"

static long map(u64 addr, size_t size, int prot)
{
	return rt_map_at(addr, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* See rt/reserve.h. */
static bool make_writable(const void *at, size_t size)
{
	return !sys3(__NR_mprotect, (long)at, (long)size, PROT_READ | PROT_WRITE);
}

bool cache_variant_ready(struct variant *v)
{
	if (!v->ready)
		v->ready = make_writable(v->table[0].slot, TABLE_FIRST * sizeof(u64)) &&
			   make_writable(v->ibl, IBL_BYTES);
	return v->ready;
}

static void touch(const void *at, size_t size)
{
	dbt_host_own_work(true);
	if (sys3(__NR_madvise, (long)at, (long)size, MADV_POPULATE_WRITE))
		cache.touches_ahead = false;
	dbt_host_own_work(false);
}

static void touch_table(const struct variant *v, u32 level)
{
	touch(v->table[level].slot, (v->table[level].mask + 1ul) * sizeof(u64));
}

static void touch_variant(const struct variant *v)
{
	touch(v->ibl, IBL_BYTES);
	for (u32 level = 0; level <= v->level; level++)
		touch_table(v, level);
}

#define FEW_LOOKUPS (CPU_WANT_ONE | CPU_WANT_FINE | CPU_WANT_NEAR)

/* Targets differ in these bits as if by chance: nearly all pages would be touched, one after the other. */
void cache_variant_begin(struct variant *v)
{
	v->begun = true;
	if (cache.touches_ahead)
		touch_variant(v);
	else if (!reserve_in_steps && !(v->want & FEW_LOOKUPS))
		sys3(__NR_madvise, (long)v->ibl, (long)IBL_BYTES, MADV_POPULATE_WRITE); /* or not */
	if (warm_frags)
		warm_begin_variant((u32)(v - cache.variant));
}

bool cache_level_ready(struct variant *v, u32 level)
{
	check(level < TABLE_SIZES);
	if (level >= v->levels && make_writable(v->table[level].slot, (v->table[level].mask + 1ul) * sizeof(u64)))
		v->levels = level + 1;
	if (cache.touches_ahead && level < v->levels)
		touch_table(v, level);
	return level < v->levels;
}

static void advise_huge(const void *table, size_t size)
{
	u64 at = (u64)(uintptr_t)table + SMALL_PAGES;

	check(at % HUGE_SIZE == 0);
	sys3(__NR_madvise, (long)at, (long)ALIGN_DOWN(size - SMALL_PAGES, HUGE_SIZE), MADV_HUGEPAGE); /* or not */
}

/*
 * A large program's tables and code are used all over, and a good part of what that costs are misses of the TLB. Small
 * programs shall have no huge page to clear, and no more mappings to copy when they fork.
 */
void cache_huge_pages(u32 half)
{
	const struct half_place *p = &cache.place[half];

	advise_huge(&cache.frag[half * MAX_FRAGS], MAX_FRAGS * sizeof(struct frag));
	advise_huge(&cache.entry[half * MAX_ENTRIES], MAX_ENTRIES * sizeof(struct entry));
	advise_huge(&cache.exit[half * MAX_EXITS], MAX_EXITS * sizeof(struct exit));
	advise_huge(&cache.rec[half * MAX_RECS], MAX_RECS * sizeof(struct rec));
	advise_huge(&cache.kinds[half * MAX_RECS], MAX_RECS * sizeof(struct rec_kinds));
	advise_huge(code_at(p->hot), p->cold - p->hot);
	advise_huge(code_at(p->cold), p->end - p->cold);
	cache.huge[half] = true;
}

/* What a half has of each. */
static const struct half_table {
	void **table;
	size_t size; /* of one */
	u32 of, n;
	bool huge; /* see cache_huge_pages() */
} half_tables[] = {
	{(void **)&cache.frag, sizeof(struct frag), OF_FRAGS, MAX_FRAGS, true},
	{(void **)&cache.entry, sizeof(struct entry), OF_ENTRIES, MAX_ENTRIES, true},
	{(void **)&cache.exit, sizeof(struct exit), OF_EXITS, MAX_EXITS, true},
	{(void **)&cache.rec, sizeof(struct rec), OF_RECS, MAX_RECS, true},
	{(void **)&cache.kinds, sizeof(struct rec_kinds), OF_KINDS, MAX_RECS, true},
	{(void **)&cache.node, sizeof(struct page_node), OF_NODES, MAX_NODES, false},
};

static const struct {
	void **table;
	size_t size;
} whole_tables[] = {
	{(void **)&cache.page, MAX_PAGES * sizeof(struct code_page)},
	{(void **)&cache.page_hash, PAGE_HASH_SIZE * sizeof(u32)},
	{(void **)&cache.variant[0].table[0].slot, 2 * VARIANTS * TABLE_SLOTS * sizeof(u64)},
	{(void **)&cache.warm, WARM_FILE_MAX + WARM_TABLES_MAX},
};

static int map_tables(void)
{
	u64 at = LAYOUT_DBT;
	long ret;

	for (size_t i = 0; i < ARRAY_SIZE(half_tables); i++) {
		if (half_tables[i].huge)
			at = ALIGN_HUGE(at);
		*half_tables[i].table = (void *)at;
		at += 2ul * half_tables[i].n * half_tables[i].size;
	}
	for (size_t i = 0; i < ARRAY_SIZE(whole_tables); i++) {
		*whole_tables[i].table = (void *)at;
		at += ALIGN_UP(whole_tables[i].size, PAGE_SIZE);
	}
	check(at <= LAYOUT_MM);
	ret = map(LAYOUT_DBT, at - LAYOUT_DBT, reserve_prot(PROT_READ | PROT_WRITE));
	return sys_is_error(ret) ? (int)ret : 0;
}

static void tables_place(struct variant *v, u64 *slot)
{
	for (u32 i = 0; i < TABLE_SIZES; i++) {
		v->table[i].slot = slot;
		v->table[i].mask = (TABLE_FIRST << 2 * i) - 1;
		slot += TABLE_FIRST << 2 * i;
	}
}

/* As much as it takes to fill and forget each half. */
static bool reserve_tables(void)
{
	bool ready = true;

	for (u32 half = 0; half < 2; half++)
		for (size_t i = 0; i < ARRAY_SIZE(half_tables); i++) {
			const struct half_table *t = &half_tables[i];
			size_t size = t->n * t->size;
			struct reserve *r = &cache.of[half][t->of];

			*r = reserve_of((u64)(uintptr_t)*t->table + half * size, size, PROT_READ | PROT_WRITE);
			ready &= reserve_ready(r, r->start + 1);
		}
	cache.pages =
		reserve_of((u64)(uintptr_t)cache.page, MAX_PAGES * sizeof(struct code_page), PROT_READ | PROT_WRITE);
	for (u32 i = 0; i < 2 * VARIANTS; i++) {
		struct variant *v = &cache.variant[i];

		tables_place(v, cache.variant[0].table[0].slot + i * TABLE_SLOTS);
		v->levels = reserve_in_steps ? 1 : TABLE_SIZES;
	}
	if (!reserve_in_steps)
		return true;
	return ready && reserve_ready(&cache.pages, cache.pages.start + 1) &&
	       make_writable(cache.page_hash, PAGE_HASH_SIZE * sizeof(u32)) && cache_variant_ready(&cache.variant[0]) &&
	       cache_variant_ready(&cache.variant[VARIANTS]);
}

/* Of the half's code, at least so much that it can be begun. */
static bool reserve_code(u32 half)
{
	const struct half_place *p = &cache.place[half];
	struct reserve *of = cache.of[half];
	u64 hot = (u64)(uintptr_t)code_at(p->hot), cold = (u64)(uintptr_t)code_at(p->cold);

	of[OF_HOT] = reserve_of(hot, dbt_options.small_cache ? SMALL_HOT_SIZE : cold - hot, code_memory_prot());
	of[OF_COLD] = reserve_of(cold, p->end - p->cold, code_memory_prot());
	return reserve_ready(&of[OF_HOT], hot + 1) && reserve_ready(&of[OF_COLD], cold + 1);
}

_Static_assert(CODE_AT == DBT_HALF_TABLES && HUGE_SIZE == DBT_HALF_ALIGN, "dbt/dbt.h");

static void set_place(u32 half, u64 start, u64 size)
{
	u64 hot = start + HOT_AT, body = ALIGN_DOWN(size - HOT_AT, HUGE_SIZE);
	struct half_place place = {
		.start = start,
		.end = hot + body,
		.hot = hot,
		.cold = hot + ALIGN_DOWN(body / 3 * 2, HUGE_SIZE),
		.copies = code_at(start + COPIES_AT),
		.miss = (u8 *)(start + CODE_AT),
	};

	cache.place[half] = place;
	__atomic_store_n(&cache.code[half], (start + CODE_AT) | place.end << 32, __ATOMIC_RELAXED);
	cache.huge[half] = false;
	for (u32 i = half * VARIANTS; i < (half + 1) * VARIANTS; i++) {
		cache.variant[i].ibl = (u32 *)(start + i % VARIANTS * 2 * IBL_BYTES);
		cache.variant[i].ready = !reserve_in_steps;
		cache.variant[i].begun = false;
	}
}

/* RLIMIT_AS and RLIMIT_DATA are to mean the same wherever the cache is (os/mm/sys_rlimit.c). */
static long map_rest(u32 half, u64 size)
{
	u64 at = LAYOUT_CACHE_REST + half * 2 * DBT_HALF_FULL, rest = DBT_HALF_FULL - size;
	long ret = 0;

	sys2(__NR_munmap, (long)at, 2 * DBT_HALF_FULL);
	if (rest)
		ret = map(at, rest, reserve_prot(PROT_READ | PROT_WRITE));
	if (rest && !sys_is_error(ret))
		ret = map(at + rest, rest, PROT_NONE);
	return ret;
}

static void unmap_half(u64 start, u64 size)
{
	sys2(__NR_munmap, (long)start, CODE_AT);
	code_memory_unmap(start + CODE_AT, start + size);
}

static int map_half(u32 half, u64 start, u64 size)
{
	long ret = map(start, CODE_AT, reserve_prot(PROT_READ | PROT_WRITE));

	if (sys_is_error(ret))
		return (int)ret;
	ret = code_memory_map(start + CODE_AT, start + size, start + HOT_AT, dbt_options.dual_map);
	if (!ret)
		ret = map_rest(half, size);
	if (sys_is_error(ret)) {
		unmap_half(start, size);
		return (int)ret;
	}
	set_place(half, start, size);
	return 0;
}

static u64 code_ready(void)
{
	u64 sum = 2 * (HOT_AT - CODE_AT);

	for (u32 half = 0; half < 2; half++)
		for (u32 i = OF_HOT; i <= OF_COLD; i++)
			sum += cache.of[half][i].ready - cache.of[half][i].start;
	return sum;
}

int cache_memory_map(void)
{
	int ret = map_tables();

	for (u32 half = 0; !ret && half < 2; half++)
		ret = map_half(half, LAYOUT_CACHE + half * DBT_HALF_FULL, DBT_HALF_FULL);
	if (!ret && !(reserve_tables() && reserve_code(0) && reserve_code(1)))
		ret = -ENOMEM;
	if (!ret)
		code_memory_private = reserve_in_steps ? code_ready() : 2 * (DBT_HALF_FULL - CODE_AT);
	return ret;
}

int cache_memory_move(u32 half, u64 start, u64 size)
{
	struct half_place was = cache.place[half];
	u64 old_size = ALIGN_UP(was.end - was.start, HUGE_SIZE);
	int ret;

	unmap_half(was.start, old_size);
	ret = map_half(half, start, size);
	if ((ret && map_half(half, was.start, old_size)) || !reserve_code(half) ||
	    !cache_variant_ready(&cache.variant[half * VARIANTS])) {
		log_printf(0, "no memory for the code cache");
		cache_end();
	}
	return ret;
}

int cache_memory_renew(void)
{
	int ret = 0;

	for (u32 half = 0; !ret && half < 2; half++) {
		const struct half_place *p = &cache.place[half];

		ret = code_memory_renew(p->start + CODE_AT, p->start + ALIGN_UP(p->end - p->start, HUGE_SIZE));
		if (!ret && !reserve_code(half))
			ret = -ENOMEM;
	}
	return ret;
}

#define UP_TO(table, n) ((u64)(uintptr_t)&cache.table[(n)])

/* For all that one more fragment of the largest size takes. */
static bool for_each_need(bool (*fn)(struct reserve *r, u64 until))
{
	struct reserve *of = cache.of[cache.half];
	u32 exits = cache.nexit - cache.half * MAX_EXITS;

	return fn(&of[OF_HOT], (u64)(uintptr_t)cache.hot + FRAG_MAX_BYTES + MORE_BYTES) &&
	       fn(&of[OF_COLD],
		  (u64)(uintptr_t)cache.cold + STUB_MAX * FRAG_MAX_EXITS + STUB_LATE * exits + MORE_BYTES) &&
	       fn(&of[OF_FRAGS], UP_TO(frag, cache.nfrag + 1 + MORE)) &&
	       fn(&of[OF_ENTRIES], UP_TO(entry, cache.nentry + 64 + MORE)) &&
	       fn(&of[OF_EXITS], UP_TO(exit, cache.nexit + FRAG_MAX_EXITS + MORE)) &&
	       fn(&of[OF_RECS], UP_TO(rec, cache.nrec + FRAG_MAX_RECS + MORE)) &&
	       fn(&of[OF_KINDS], UP_TO(kinds, cache.nrec + FRAG_MAX_RECS + MORE)) &&
	       fn(&of[OF_NODES], UP_TO(node, cache.nnode + 256)) &&
	       fn(&cache.pages, UP_TO(page, cache.npage + PAGES_MAX));
}

bool cache_has_room(void)
{
	if (stress(STRESS_FULL) && cache.nfrag - cache.first_frag >= STRESS_FRAGS)
		return false;
	return !cache.full && for_each_need(reserve_ready);
}

bool cache_is_waste(void)
{
	u32 least = stress(STRESS_FULL) ? STRESS_FRAGS / 8 : WASTE_LEAST;

	return unlikely(cache.ndead >= least) && cache.ndead > (cache.nfrag - cache.first_frag) / 4 * 3;
}

/* ---- touching ahead ---- */

static bool touch_reserve(struct reserve *r, u64 until)
{
	bool ok = true;

	if (unlikely(until > r->touched)) {
		dbt_host_own_work(true);
		ok = reserve_touch(r, until);
		dbt_host_own_work(false);
	}
	return ok;
}

void cache_touch_ahead(void)
{
	if (cache.touches_ahead && !for_each_need(touch_reserve))
		cache.touches_ahead = false;
}

bool cache_touch_from_now_on(void)
{
	cache.touches_ahead = !reserve_in_steps && !code_distance && (!warm_frags || warm_of_other);
	if (!cache.touches_ahead)
		return false;
	touch(cache.page_hash, PAGE_HASH_SIZE * sizeof(u32));
	for (u32 i = 0; i < ARRAY_SIZE(cache.variant); i++)
		if (cache.variant[i].begun)
			touch_variant(&cache.variant[i]);
	return cache.touches_ahead;
}

/* Records, of which there is room for by far the most. */
bool cache_give_up(u64 bytes)
{
	u32 half = cache.half;
	struct reserve *used = &cache.of[half][OF_RECS], *other = &cache.of[!half][OF_RECS];

	return reserve_give_up(other, UP_TO(rec, !half * MAX_RECS + 2 * FRAG_MAX_RECS), bytes) ||
	       reserve_give_up(used, UP_TO(rec, cache.nrec + 2 * FRAG_MAX_RECS), bytes);
}
