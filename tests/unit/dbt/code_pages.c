/* Pages with code: what stays of them when a half of the cache is left, also where somebody died while he left it. */
#include "dbt/cache_memory.h"
#include "dbt/code_pages.h"
#include "tests/unit/dbt/guest.h"

#define PAGES 3000u
#define PAGE_AT(i) (0x10000000ul + (i) * (u64)PAGE_SIZE * 7)

/* Of each five pages four have something that is to be known. */
static bool stays(u32 i)
{
	return i % 5;
}

static void fill(void)
{
	cache.npage = 1;
	memset(cache.page_hash, 0, PAGE_HASH_SIZE * sizeof(u32));
	for (u32 i = 0; i < PAGES; i++) {
		struct code_page *p = cache_page(PAGE_AT(i), true);

		p->protected_ = i % 5 == 1;
		p->aliased = i % 5 == 2;
		p->checked = i % 5 == 3;
		p->writes = i % 5 == 4 ? i : 0;
	}
}

static void expect_dropped(void)
{
	u32 wrong = 0;

	for (u32 i = 0; i < PAGES; i++) {
		const struct code_page *p = cache_page(PAGE_AT(i), false);

		wrong += !p != !stays(i);
		if (p)
			wrong += p->page != PAGE_AT(i) || p->protected_ != (i % 5 == 1) || p->aliased != (i % 5 == 2) ||
				 p->checked != (i % 5 == 3) || p->writes != (i % 5 == 4 ? i : 0);
	}
	expect_long(wrong, 0);
	expect_long(cache.npage, 1 + PAGES / 5 * 4);
}

static void test_drop(void)
{
	fill();
	expect_long(cache.npage, 1 + PAGES);
	cache_pages_drop();
	expect_dropped();
	cache_pages_drop();
	expect_dropped();
}

/* The first `n` pages that stay are where they belong, and behind them is what was there. */
static void test_dies_after(u32 n)
{
	u32 to = 1;

	fill();
	for (u32 from = 1; to <= n; from++)
		if (stays(from - 1))
			cache.page[to++] = cache.page[from];
	cache_pages_drop();
	expect_dropped();
}

/* More of them, one after the other, than the table has room for. */
static void test_many(void)
{
	u32 most = 0;

	cache.npage = 1;
	for (u32 i = 0; i < 3 * MAX_PAGES; i++) {
		cache_page(0x200000000000 + i * (u64)PAGE_SIZE, true);
		if (cache.npage > 10000)
			cache_pages_drop();
		if (cache.npage > most)
			most = cache.npage;
	}
	expect(most <= 10001);
}

int main(void)
{
	if (!guest_begin()) {
		printf("the addresses of the cache are taken here\n");
		return 77;
	}
	lock_acquire(&dbt_lock);
	test_drop();
	test_dies_after(1);
	test_dies_after(PAGES / 2);
	test_dies_after(PAGES / 5 * 4);
	test_many();
	return unit_result();
}
