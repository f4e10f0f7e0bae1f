/* Which fragments are made from which page of the guest: who writes there or maps something else forgets them. */
#ifndef DBT_CODE_PAGES_H
#define DBT_CODE_PAGES_H

#include "dbt/cache.h"

/* One guest page with translated code. */
struct code_page {
	u64 page;	 /* its address */
	u64 content;	 /* in an image: warm_content(), of what its code was made from */
	u32 next;	 /* in its hash chain */
	u32 frags;	 /* first node of the list of fragments made from it */
	bool protected_; /* pcl took PROT_WRITE away */
	bool aliased;	 /* and from all other mappings of it */
	/* writes cannot be noticed, or are too many: blocks compare their bytes each time they are entered */
	bool checked;
	u32 writes;	 /* write faults so far */
};

struct page_node {
	u32 frag, next;
};

#define PAGE_HASH_SIZE 16384u

/* All with dbt_lock. NULL: not registered, and not to be created. */
struct code_page *cache_page(u64 page, bool create);
void cache_page_add(struct code_page *p, u32 frag);

/* No page has a fragment any more. */
void cache_pages_forget(void);

/*
 * No page has a fragment: those of which nothing else is to be known go. A process that has code at new addresses all
 * the time would use up the table. If the lock's holder dies meanwhile, the next one does it again; what he has half
 * written is put right by invalidate_mend().
 */
void cache_pages_drop(void);

#endif
