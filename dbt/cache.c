/* The code cache's memory and records. See dbt/cache.h for the words and rules. */
#include "dbt/cache.h"
#include <linux/signal.h>
#include "dbt/cache_memory.h"
#include "dbt/code_pages.h"
#include "dbt/ibl.h"
#include "dbt/warm.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/sys.h"

struct cache cache;
struct lock dbt_lock WRITTEN_BY_FORK;

u64 cache_hash(u64 pc)
{
	return pc * 0x9e3779b97f4a7c15ul;
}

/*
 * Blocks that lie together are put together: a fork's child that translates a few writes to few pages, each of which
 * costs it a copy.
 */
static u32 index_of(u64 pc)
{
	return (u32)(cache_hash(pc >> 10) >> 32) + (u32)(pc >> 2 & 0xff);
}

u64 cache_slot(u64 hash, u32 entry)
{
	return (hash & 0xfffffffe00000000ul) | entry;
}

static void table_put(struct table *t, u32 entry)
{
	u64 pc = cache.entry[entry].pc;
	u32 i = index_of(pc) & t->mask;

	check(t->used <= t->mask); /* searches end */
	/* The place of one that is gone will do: code that is rewritten again and again comes back to the same one. */
	while ((u32)t->slot[i])
		i = (i + 1) & t->mask;
	t->used += !t->slot[i];
	__atomic_store_n(&t->slot[i], cache_slot(cache_hash(pc), entry), __ATOMIC_RELEASE);
}

/* An empty table of that size. */
static void table_clear(struct table *t)
{
	if (t->used)
		memset(t->slot, 0, (t->mask + 1ul) * sizeof(u64));
	t->used = 0;
}

/*
 * Makes room in the variant's table, with all entries up to `last`: a larger one, or the largest one without what is
 * gone. Who reads it meanwhile may miss an entry, and then looks again with the lock.
 */
static void table_renew(struct variant *v, u32 last)
{
	u32 level = v->level + 1 < TABLE_SIZES ? v->level + 1 : v->level;
	struct table *t = &v->table[level];

	if (!cache_level_ready(v, level)) { /* it is half full, so there is room for what is about to be published */
		cache.full = true;
		return;
	}
	if (level == LARGE_LEVEL && !cache.huge[cache.half])
		cache_huge_pages(cache.half);
	table_clear(t);
	for (u32 f = warm_frags ? warm_frags : cache.first_frag; f < cache.nfrag; f++) {
		const struct frag *frag = &cache.frag[f];

		if (&cache.variant[frag->variant] == v && !frag->dead)
			for (u32 i = frag->entry; i < frag->entry + frag->nentry && i <= last; i++)
				if (cache.entry[i].insns)
					table_put(t, i);
	}
	__atomic_store_n(&v->level, level, __ATOMIC_RELEASE);
}

u32 cache_variant(u32 want)
{
	u32 half = __atomic_load_n(&cache.half, __ATOMIC_RELAXED);
	u32 n = __atomic_load_n(&cache.nvariant[half], __ATOMIC_ACQUIRE);

	for (u32 i = half * VARIANTS; n--; i++)
		if (cache.variant[i].want == want)
			return i;
	return NO_VARIANT;
}

u32 cache_variant_get(u32 want)
{
	u32 i = cache_variant(want), *n = &cache.nvariant[cache.half];

	if (i == NO_VARIANT && *n < VARIANTS) {
		i = cache.half * VARIANTS + *n;
		if (!cache_variant_ready(&cache.variant[i]))
			return NO_VARIANT;
		cache.variant[i].want = want;
		__atomic_store_n(n, *n + 1, __ATOMIC_RELEASE);
	}
	if (i != NO_VARIANT && unlikely(!cache.variant[i].begun))
		cache_variant_begin(&cache.variant[i]);
	return i;
}

u32 cache_find(const struct variant *v, u64 pc)
{
	const struct table *t = &v->table[__atomic_load_n(&v->level, __ATOMIC_ACQUIRE)];
	u64 want = cache_slot(cache_hash(pc), 0), slot;

	if (!__atomic_load_n(&t->used, __ATOMIC_RELAXED)) /* its pages stay untouched */
		return warm_frags ? warm_find(v, pc) : 0;
	for (u32 i = index_of(pc) & t->mask; (slot = __atomic_load_n(&t->slot[i], __ATOMIC_ACQUIRE));
	     i = (i + 1) & t->mask)
		if (cache_slot(slot, 0) == want && (u32)slot && cache.entry[(u32)slot].pc == pc)
			return (u32)slot;
	return warm_frags ? warm_find(v, pc) : 0;
}

void cache_publish(struct variant *v, u32 entry)
{
	check_slow(lock_held(RANK_DBT) && cache.entry[entry].insns);
	table_put(&v->table[v->level], entry);
	if (v->table[v->level].used > v->table[v->level].mask / 2)
		table_renew(v, entry);
}

void cache_unpublish(struct variant *v, u32 entry)
{
	struct table *t = &v->table[v->level];
	u32 i = index_of(cache.entry[entry].pc) & t->mask;

	for (; t->slot[i]; i = (i + 1) & t->mask)
		if ((u32)t->slot[i] == entry) {
			__atomic_store_n(&t->slot[i], SLOT_GONE, __ATOMIC_RELEASE);
			return;
		}
}

/* What leads from the lookup to the dispatcher, and back. */
static void emit_miss(u32 half)
{
	struct half_place *p = &cache.place[half];
	struct emit e = {.p = code_at((u64)(uintptr_t)p->miss)};

	ibl_emit_miss(&e);
	p->lookup = (u8 *)(uintptr_t)code_host(e.p);
	ibl_emit_resume(&e);
}

void cache_frags_are(u32 n)
{
	cache.nfrag = n;
	__atomic_store_n(&cache.nfrag_of[cache.half], n, __ATOMIC_RELEASE);
}

/* Starts with an empty half. Index 0 stays unused in both. */
static void use_half(u32 half)
{
	const struct half_place *p = &cache.place[half];

	emit_miss(half);
	cache.nvariant[half] = 0;
	cache.full = false;
	cache.ndead = 0;
	__atomic_store_n(&cache.half, half, __ATOMIC_RELAXED);
	cache.miss = p->miss;
	cache.hot = code_at(p->hot);
	cache.cold = code_at(p->cold);
	cache.first_frag = half * MAX_FRAGS + 1;
	cache.nentry = half * MAX_ENTRIES + 1;
	cache.nexit = half * MAX_EXITS + 1;
	cache.nrec = half * MAX_RECS + 1;
	cache.nnode = half * MAX_NODES + 1;
	cache_frags_are(cache.first_frag);
}

/* No lookup finds anything of the half in use. */
static void forget_lookups(void)
{
	for (u32 i = 0; i < cache.nvariant[cache.half]; i++) {
		struct variant *v = &cache.variant[cache.half * VARIANTS + i];

		if (!v->table[0].used && !v->begun)
			continue;
		__atomic_store_n(&v->level, 0, __ATOMIC_RELEASE);
		memset(v->ibl, 0, IBL_BYTES);
		table_clear(&v->table[0]);
		__atomic_store_n(&v->begun, false, __ATOMIC_RELEASE); /* last: who dies before is followed by another */
	}
	cache_pages_forget();
}

/* Whoever is still inside the half in use finds no way to stay in it. */
static void leave_half(void)
{
	warm_forget();
	for (u32 i = cache.half * MAX_EXITS + 1; i < cache.nexit; i++)
		if (cache.exit[i].linked)
			cache_exit_unlink(i);
	forget_lookups();
}

/* Last: lookups take no lock, and what they find is good until this rises. */
static void new_generation(void)
{
	__atomic_store_n(&cache.generation, cache.generation + 1, __ATOMIC_RELEASE);
}

/* The half in use has been left. Can be done again by somebody else. */
static void use_next_half(void)
{
	cache_pages_drop();
	use_half(cache.next_half - 1);
	new_generation();
	/* Who holds the new epoch finds nothing of the half that was in use before. */
	__atomic_store_n(&cache.epoch, cache.epoch + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cache.next_half, 0, __ATOMIC_RELEASE);
}

void cache_switch_half(void)
{
	check_slow(lock_held(RANK_DBT));
	stat_inc(cache_flushes);
	leave_half();
	__atomic_store_n(&cache.next_half, 1 + !cache.half, __ATOMIC_RELEASE);
	use_next_half();
}

/* What was not complete counts as not begun: fragments before cache.nfrag has risen, stubs before cache.cold has. */
static void drop_unfinished(void)
{
	const struct frag *last = &cache.frag[cache.nfrag - 1];

	cache.nexit = cache.nfrag > cache.first_frag ? last->exit + last->nexit : cache.half * MAX_EXITS + 1;
	for (u32 i = cache.half * MAX_EXITS + 1; i < cache.nexit; i++)
		if (cache.exit[i].stub >= code_host(cache.cold))
			cache.exit[i].stub = 0;
}

/* All that the dead holder was doing is done again as a whole: the half is left, or the next one is begun. */
void cache_mend(void)
{
	check_slow(lock_held(RANK_DBT));
	if (cache.next_half) {
		use_next_half();
		return;
	}
	drop_unfinished();
	leave_half();
	for (u32 f = cache.first_frag; f < cache.nfrag; f++)
		cache.frag[f].dead = true;
	cache.full = true;
	new_generation();
}

bool cache_is_new(void)
{
	return cache.epoch == 1 && cache.nfrag == cache.first_frag;
}

int cache_move_half(u32 half, u64 start, u64 size)
{
	int ret = cache_memory_move(half, start, size);

	check_slow(lock_held(RANK_DBT) && (half != cache.half || cache_is_new()));
	if (half == cache.half)
		use_half(half);
	return ret;
}

const struct half_place *cache_place_of(const struct variant *v)
{
	return &cache.place[(u32)(v - cache.variant) / VARIANTS];
}

void cache_end(void)
{
	for (;;)
		sys2(__NR_kill, sys0(__NR_getpid), SIGKILL);
}

void cache_renew(void)
{
	int ret;

	dbt_warm_forked();
	if (!code_distance)
		return;
	ret = cache_memory_renew();
	if (ret) {
		log_printf(0, "cannot reserve a forked process's code cache: error %d", -ret);
		cache_end();
	}
	cache.generation++;
	cache.nfrag_of[cache.half] = cache.first_frag;
	forget_lookups();
	use_half(!cache.half);
}

void cache_unlock(void)
{
	code_written();
	lock_release(&dbt_lock);
}

int cache_init(void)
{
	int ret = cache_memory_map();

	if (ret)
		return ret;
	lock_init(&dbt_lock, RANK_DBT);
	cache.npage = 1;
	cache.epoch = cache.generation = 1;
	use_half(0);
	return 0;
}

/* The half that host is in, 2: in none. */
static u32 half_at(u64 host)
{
	for (u32 half = 0; half < 2; half++) {
		u64 code = __atomic_load_n(&cache.code[half], __ATOMIC_RELAXED);

		if (host >= (u32)code && host < code >> 32)
			return half;
	}
	return 2;
}

bool cache_contains(u64 host)
{
	return half_at(host) < 2;
}

u32 cache_frag_at(u64 host)
{
	u32 half = half_at(host), lo, hi, end;

	if (half == 2)
		return 0;
	lo = half * MAX_FRAGS + 1;
	end = __atomic_load_n(&cache.nfrag_of[half], __ATOMIC_ACQUIRE);
	hi = end;
	while (lo < hi) { /* fragments are in the order of their host addresses */
		u32 mid = lo + (hi - lo) / 2;

		if (cache.frag[mid].host_end <= host)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < end && host >= cache.frag[lo].host ? lo : 0;
}

u32 cache_rec_at(const struct frag *f, u64 host)
{
	u32 off = (u32)(host - f->host);
	u32 lo = f->rec, hi = f->rec + f->nrec;

	check_slow(host >= f->host && f->nrec);
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (cache.rec[mid].host <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static void stub_make(u32 id)
{
	struct emit e = {.p = cache.cold};

	check_slow(!cache.exit[id].stub && lock_held(RANK_DBT));
	cache.exit[id].stub = code_host(e.p);
	cache_emit_stub(&e, id);
	cache.cold = e.p;
}

u32 cache_exit_new(enum exit_kind kind, u32 frag, u32 variant, u64 target, u8 *patch)
{
	u32 id = cache.nexit++;

	check_slow(!patch || cache_contains(code_host(patch)));
	cache.exit[id] = (struct exit){
		.target = target,
		.patch = code_host(patch),
		.frag = frag,
		.kind = (u8)kind,
		.variant = (u8)variant,
	};
	return id;
}

void cache_exit_link(u32 id, u32 entry)
{
	struct exit *x = &cache.exit[id];
	struct entry *to = &cache.entry[entry];

	/* Where an exit leads to is what it says, and no poll is left out on the way (dbt/polls.h). */
	check(x->patch && x->target == to->pc && (x->kind != EXIT_BRANCH || x->distance <= to->distance));
	check_slow(!x->linked);
	x->linked = entry;
	x->next_in = to->in;
	to->in = id;
	emit_patch(code_at(x->patch), (u8 *)(uintptr_t)to->host);
}

void cache_exit_shorten(u32 id, u32 take_back)
{
	const struct exit *ahead = &cache.exit[id - 1];

	check(ahead->kind == EXIT_AHEAD && ahead->frag == cache.exit[id].frag && cache.exit[id].linked);
	emit_patch(code_at(ahead->patch), (u8 *)(uintptr_t)take_back);
}

/* See cache_exit_shorten(). */
static void lengthen(u32 id)
{
	const struct exit *ahead = &cache.exit[id - 1];

	if (ahead->kind == EXIT_AHEAD && ahead->frag == cache.exit[id].frag)
		emit_patch(code_at(ahead->patch), (u8 *)(uintptr_t)ahead->stub);
}

void cache_exit_unlink(u32 id)
{
	struct exit *x = &cache.exit[id];

	check_slow(x->patch || x->kind != EXIT_BRANCH);
	if (!x->stub)
		stub_make(id);
	x->linked = 0;
	lengthen(id);
	if (x->patch)
		emit_patch(code_at(x->patch), (u8 *)(uintptr_t)x->stub);
}

u8 *cache_const64(u64 value)
{
	u8 *at = (u8 *)ALIGN_UP((uintptr_t)cache.cold, 8);

	memcpy(at, &value, 8);
	cache.cold = at + 8;
	return at;
}
