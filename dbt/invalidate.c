/* Guest code that changed: forgetting what was made from it. */
#include <asm/errno.h>
#include <linux/mman.h>
#include "dbt/cache.h"
#include "dbt/code_pages.h"
#include "dbt/dbt.h"
#include "dbt/ibl.h"
#include "dbt/invalidate.h"
#include "dbt/warm.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define WRITE_MAX (1u << 20) /* no datagram is larger; of a stream the rest can be read again */

void dbt_forget_frag(u32 frag)
{
	struct frag *f = &cache.frag[frag];
	struct variant *v = &cache.variant[f->variant];

	check_slow(lock_held(RANK_DBT) && frag < cache.nfrag);
	if (f->dead)
		return;
	f->dead = true;
	cache.ndead++;
	if (frag < warm_frags)
		warm_fragment_goes();
	for (u32 i = f->entry; i < f->entry + f->nentry; i++) {
		struct entry *en = &cache.entry[i];

		cache_unpublish(v, i);
		ibl_remove(v, i);
		for (u32 x = en->in, next; x; x = next) {
			check(cache.exit[x].linked == i);
			next = cache.exit[x].next_in;
			cache_exit_unlink(x);
		}
		en->in = 0;
		if (en->poll)
			dbt_forget_frag(cache.entry[en->poll].frag);
	}
	/* Last, as in cache_switch_half(). */
	__atomic_store_n(&cache.generation, cache.generation + 1, __ATOMIC_RELEASE);
}

static void drop(u32 frag)
{
	stat_add(blocks_dropped, cache.frag[frag].dead ? 0 : cache.frag[frag].nentry);
	dbt_forget_frag(frag);
}

void dbt_forget(u32 frag)
{
	lock_acquire(&dbt_lock);
	/* It may have gone with its half of the cache meanwhile. */
	if (frag >= cache.first_frag && frag < cache.nfrag)
		drop(frag);
	cache_unlock();
}

static void kill_page(struct code_page *p)
{
	for (u32 n = p->frags; n; n = cache.node[n].next)
		drop(cache.node[n].frag);
	p->frags = 0;
}

void dbt_forget_range(u64 start, u64 end)
{
	for (u32 i = 1; i < cache.npage; i++)
		if (cache.page[i].page < end && cache.page[i].page + PAGE_SIZE > start)
			kill_page(&cache.page[i]);
}

/*
 * Where the guest has as much private memory as it may (RLIMIT_DATA), it may have got the page's share for something
 * else while that could not be written; or the limit was lowered to less than it has.
 */
static void make_writable(u64 page)
{
	long ret = sys3(__NR_mprotect, page, PAGE_SIZE, PROT_READ | PROT_WRITE);

	for (u64 bytes = PAGE_SIZE; ret == -ENOMEM && cache_give_up(bytes); bytes *= 2)
		ret = sys3(__NR_mprotect, page, PAGE_SIZE, PROT_READ | PROT_WRITE);
	if (ret == -ENOMEM) { /* it would be written in vain for ever */
		log_printf(0, "the limit on private memory forbids to make the page at %#lx writable again", page);
		cache_end();
	}
}

/* Gives the guest its write permission back. The mapping may be another one by now: then there is nothing to give. */
static void unprotect(struct code_page *p)
{
	struct dbt_mapping m;

	if (!p->protected_)
		return;
	p->protected_ = false;
	if (dbt_host_mapping(p->page, &m) == 0 && (m.prot & PROT_WRITE))
		make_writable(p->page);
}

/* The page is written to at another address of it. */
static void kill_aliases(u64 page)
{
	for (gva at = 0; (at = dbt_host_alias(page, at));) {
		struct code_page *p = at == page ? NULL : cache_page(at, false);

		if (!p)
			continue;
		p->writes += !!p->frags;
		p->aliased = false;
		kill_page(p);
	}
}

/* What is mapped there from now on may be something else. */
static void renew_page(struct code_page *p)
{
	kill_page(p);
	unprotect(p);
	p->checked = p->aliased = false;
	p->writes = 0;
}

void dbt_invalidate(gva start, gva end)
{
	u64 first = ALIGN_DOWN(start, PAGE_SIZE);

	if (__atomic_load_n(&cache.npage, __ATOMIC_ACQUIRE) == 1)
		return;
	stat_inc(invalidations);
	lock_acquire(&dbt_lock);
	if ((end - first) / PAGE_SIZE < cache.npage) {
		for (u64 page = first; page < end; page += PAGE_SIZE)
			if (cache_page(page, false))
				renew_page(cache_page(page, false));
	} else {
		for (u32 i = 1; i < cache.npage; i++)
			if (cache.page[i].page >= first && cache.page[i].page < end)
				renew_page(&cache.page[i]);
	}
	cache_unlock();
}

bool dbt_write_fault(gva addr)
{
	struct code_page *p;
	struct dbt_mapping m;
	bool ours;

	lock_acquire(&dbt_lock);
	p = cache_page(ALIGN_DOWN(addr, PAGE_SIZE), false);
	/* Another thread may have been first: then the guest may write, and the access only needs to be done again. */
	ours = p && dbt_host_mapping(addr, &m) == 0 && (m.prot & PROT_WRITE);
	if (ours) {
		p->writes++;
		p->aliased = false;
		kill_page(p);
		kill_aliases(p->page);
		unprotect(p);
	}
	cache_unlock();
	return ours;
}

bool dbt_has_protected(void)
{
	return cache.has_protected;
}

void dbt_unprotect(gva addr, u64 len)
{
	gva end = addr + MIN(len, WRITE_MAX);

	for (u64 page = ALIGN_DOWN(addr, PAGE_SIZE); page < end; page += PAGE_SIZE) {
		const struct code_page *p = cache_page(page, false);

		if (p && p->protected_)
			dbt_write_fault(page);
	}
}

bool dbt_is_alive(u64 host)
{
	bool alive;
	u32 frag;

	lock_acquire(&dbt_lock);
	frag = cache_frag_at(host);
	alive = frag >= cache.first_frag && frag < cache.nfrag && !cache.frag[frag].dead;
	cache_unlock();
	return alive;
}

bool dbt_unprotect_all(void)
{
	bool any = false;

	lock_acquire(&dbt_lock);
	for (u32 i = 1; i < cache.npage; i++) {
		struct code_page *p = &cache.page[i];

		if (!p->protected_)
			continue;
		any = true;
		p->aliased = false;
		kill_page(p);
		kill_aliases(p->page);
		unprotect(p);
	}
	cache_unlock();
	return any;
}

void invalidate_mend(void)
{
	for (u32 i = 1; i < cache.npage; i++) {
		struct code_page *p = &cache.page[i];

		p->protected_ = true;
		p->aliased = false;
		unprotect(p);
	}
}
