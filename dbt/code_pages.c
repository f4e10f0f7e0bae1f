/* See dbt/code_pages.h. */
#include "dbt/code_pages.h"
#include "rt/log.h"

static u32 *chain_of(u64 page)
{
	return &cache.page_hash[(page / PAGE_SIZE ^ page >> 28) % PAGE_HASH_SIZE];
}

/* Its index, 0: it is not registered. */
static u32 find(u64 page)
{
	u32 i = *chain_of(page);

	while (i && cache.page[i].page != page)
		i = cache.page[i].next;
	return i;
}

static void put(u32 i, struct code_page p)
{
	u32 *chain = chain_of(p.page);

	p.next = *chain;
	cache.page[i] = p;
	*chain = i;
}

struct code_page *cache_page(u64 page, bool create)
{
	u32 i = find(page);

	if (!i && !create)
		return NULL;
	if (!i) {
		i = cache.npage++;
		put(i, (struct code_page){.page = page});
	}
	return &cache.page[i];
}

void cache_page_add(struct code_page *p, u32 frag)
{
	u32 n;

	check_slow(frag < cache.nfrag && frag >= cache.first_frag);
	if (p->frags && cache.node[p->frags].frag == frag)
		return;
	n = cache.nnode++;
	cache.node[n] = (struct page_node){.frag = frag, .next = p->frags};
	p->frags = n;
}

void cache_pages_forget(void)
{
	for (u32 i = 1; i < cache.npage; i++)
		cache.page[i].frags = 0;
}

void cache_pages_drop(void)
{
	u32 n = 1;

	memset(cache.page_hash, 0, PAGE_HASH_SIZE * sizeof(u32));
	for (u32 i = 1; i < cache.npage; i++) {
		struct code_page p = cache.page[i];

		/* One that is found has been put where it belongs by somebody who died behind that. */
		if ((p.protected_ || p.aliased || p.checked || p.writes) && !find(p.page))
			put(n++, p);
	}
	cache.npage = n;
}
