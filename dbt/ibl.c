/* See dbt/ibl.h. The table and the chains of landings. */
#include "dbt/ibl.h"
#include "dbt/translate.h"
#include "rt/log.h"

/* The first entry of the index's chain of landings, or 0. */
static u32 first_of(const struct variant *v, u64 pc)
{
	u32 at = __atomic_load_n(&v->ibl[(u16)pc], __ATOMIC_ACQUIRE), entry;

	if (!at)
		return 0;
	memcpy(&entry, cache_place_of(v)->miss + at - sizeof(entry), sizeof(entry));
	return entry;
}

u32 ibl_find(const struct variant *v, u64 pc)
{
	u32 entry = first_of(v, pc);

	return entry && cache.entry[entry].pc == pc ? entry : 0;
}

/* Points the table, or the landing before it in the chain, to `to` (0: the miss code). */
static void set_next(struct variant *v, u64 pc, u32 before, u32 to)
{
	const u8 *miss = cache_place_of(v)->miss, *host = to ? (u8 *)(uintptr_t)cache.entry[to].landing : miss;

	check_slow(host >= miss && (!to || cache.entry[to].landing));
	if (before) {
		if (cache.entry[before].landing_next == to) /* an image's page stays as it is */
			return;
		cache.entry[before].landing_next = to;
		emit_patch(code_at(cache.entry[before].landing_miss), host);
	} else {
		__atomic_store_n(&v->ibl[(u16)pc], (u32)(host - miss), __ATOMIC_RELEASE);
	}
}

static void make_landing(struct entry *en)
{
	u32 entry = (u32)(en - cache.entry);
	bool carry_dead = translate_carry_dead(entry);
	struct emit e = {.p = cache.hot};
	struct landing l = ibl_emit_landing(&e, entry, en->pc, carry_dead);

	check_slow(!en->landing);
	emit_jmp(&e, (u8 *)(uintptr_t)en->host);
	cache.hot = e.p;
	en->landing = l.at;
	en->landing_miss = l.miss;
}

void ibl_install(struct variant *v, u32 entry)
{
	struct entry *en = &cache.entry[entry];
	u32 head = first_of(v, en->pc);

	for (u32 i = head; i; i = cache.entry[i].landing_next)
		if (i == entry)
			return;
	if (!en->landing)
		make_landing(en);
	set_next(v, en->pc, entry, head);
	set_next(v, en->pc, 0, entry);
}

void ibl_remove(struct variant *v, u32 entry)
{
	struct entry *en = &cache.entry[entry];
	u32 before = 0;

	if (!en->landing)
		return;
	for (u32 i = first_of(v, en->pc); i; before = i, i = cache.entry[i].landing_next)
		if (i == entry) {
			set_next(v, en->pc, before, en->landing_next);
			return;
		}
}
