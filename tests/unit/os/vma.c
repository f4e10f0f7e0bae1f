/* The guest's memory map: random changes against a table of single pages, and placement. */
#include <stdlib.h>
#include <sys/mman.h>
#include "os/mm/vma.c"
#include "os/mm/vma_kept.c"
#include "os/mm/vma_place.c"
#include "os/mm/vma_reserved.c"
#include "tests/unit/unit.h"

#define PAGES  64
#define FIRST  0x700000000000ul
#define ROUNDS 20000

/* What threads know of pages is forgotten where they change. */
u32 perf_pages_watched = 1;
static gva told_start, told_end;

void perf_pages_changed_slowly(gva start, gva end)
{
	told_start = start;
	told_end = end;
}

struct page {
	bool mapped;
	u32 prot, flags, kind;
	u64 offset, id;
};

static struct page model[PAGES];

static gva address(unsigned page)
{
	return FIRST + page * PAGE_SIZE;
}

static void model_insert(const struct vma *v)
{
	for (gva at = v->start; at < v->end; at += PAGE_SIZE) {
		struct page *p = &model[(at - FIRST) / PAGE_SIZE];

		*p = (struct page){true, v->prot, v->flags, v->kind, 0, v->id};
		if (v->flags & VMA_FILE)
			p->offset = v->offset + (at - v->start);
	}
}

/* Entries in order and joined where they can be, no chunk empty, no gap forgotten. */
static void check_order(void)
{
	const struct vma *last = NULL;
	u32 entries = 0;

	for (u32 c = 0; c < vma_map.chunks; c++) {
		const struct vma_chunk *chunk = vma_chunk_at(c);

		expect(chunk->n > 0 && chunk->n <= VMA_CHUNK);
		for (u32 i = 0; i < chunk->n; i++) {
			const struct vma *v = &chunk->entry[i];

			expect(v->start < v->end);
			expect(!last || last->end <= v->start);
			expect(!last || !mergeable(last, v));
			expect(!c || chunk->gap == VMA_GAP_UNKNOWN || claim_start(v) <= last->end ||
			       claim_start(v) - last->end <= chunk->gap);
			last = v;
			entries++;
		}
	}
	expect_long(entries, vma_map.count);
}

static void compare(void)
{
	for (unsigned i = 0; i < PAGES; i++) {
		const struct page *p = &model[i];
		struct vma v;
		int ret = vma_lookup(address(i) + 17, &v);

		expect_long(ret, p->mapped && p->kind != VMA_HOST ? 0 : -EFAULT);
		if (ret)
			continue;
		expect(v.start <= address(i) && v.end > address(i));
		expect(v.prot == p->prot && v.flags == p->flags && v.kind == p->kind && v.id == p->id);
		if (v.flags & VMA_FILE)
			expect_long(v.offset + (address(i) - v.start), p->offset);
	}
	check_order();
}

static bool model_all(unsigned from, unsigned to, bool (*is)(const struct page *))
{
	for (; from < to; from++)
		if (!is(&model[from]))
			return false;
	return true;
}

static bool page_free(const struct page *p)
{
	return !p->mapped;
}

static bool page_guest(const struct page *p)
{
	return p->mapped && p->kind != VMA_HOST;
}

static bool page_no_exec(const struct page *p)
{
	return !p->mapped || !(p->prot & PROT_EXEC);
}

static void ask(unsigned from, unsigned to)
{
	expect_long(vma_free_locked(address(from), address(to)), model_all(from, to, page_free));
	expect_long(vma_covered_locked(address(from), address(to)), model_all(from, to, page_guest));
	expect_long(vma_exec_locked(address(from), address(to)), !model_all(from, to, page_no_exec));
}

static void change(unsigned from, unsigned to)
{
	struct vma v = {.start = address(from), .end = address(to), .prot = rand() & 7};

	switch (rand() % 4) {
	case 0:
		if (rand() & 1) {
			v.flags = VMA_FILE;
			v.id = 1 + rand() % 2;
			v.offset = from * PAGE_SIZE; /* so that neighbours often join */
		}
		v.kind = rand() % 20 ? VMA_PLAIN : VMA_HOST;
		vma_insert_locked(&v);
		model_insert(&v);
		break;
	case 1:
		vma_remove_locked(v.start, v.end);
		for (unsigned i = from; i < to; i++)
			model[i] = (struct page){0};
		break;
	default:
		vma_protect_locked(v.start, v.end, v.prot);
		for (unsigned i = from; i < to; i++)
			if (model[i].kind != VMA_HOST)
				model[i].prot = model[i].mapped ? v.prot : 0;
	}
	expect(told_start == v.start && told_end == v.end);
}

static void test_random(void)
{
	expect_long(vma_init(), 0);
	srand(1);
	for (int i = 0; i < ROUNDS && !unit_failures; i++) {
		unsigned from = rand() % PAGES, to = from + 1 + rand() % (PAGES - from);

		change(from, to);
		ask(rand() % 32, 32 + rand() % 33);
		compare();
	}
}

static void occupy(gva start, u64 len, u32 flags)
{
	struct vma v = {.start = start, .end = start + len, .prot = PROT_READ, .flags = flags};

	vma_insert_locked(&v);
}

static void test_places(void)
{
	const gva top = LAYOUT_GUEST_MMAP_TOP;

	expect_long(vma_init(), 0);
	expect_long(vma_find_free_locked(PLACE_PROGRAM, 0x3000, PAGE_SIZE), LAYOUT_NEAR);
	occupy(LAYOUT_NEAR, 0x3000, 0);
	expect_long(vma_find_free_locked(PLACE_PROGRAM, 0x1000, PAGE_SIZE), LAYOUT_NEAR + 0x3000);
	expect_long(vma_find_free_locked(PLACE_PROGRAM, 0x1000, 0x200000), LAYOUT_NEAR + 0x200000);
	occupy(LAYOUT_NEAR + 0x4000, 0x1000, 0);
	expect_long(vma_find_free_locked(PLACE_PROGRAM, 0x2000, PAGE_SIZE), LAYOUT_NEAR + 0x5000);
	expect_long(vma_find_free_locked(PLACE_NEAR, 0x3000, PAGE_SIZE), LAYOUT_LIBRARIES_END - 0x3000);
	occupy(LAYOUT_LIBRARIES_END - 0x3000, 0x3000, 0);
	expect_long(vma_find_free_locked(PLACE_NEAR, 0x1000, PAGE_SIZE), LAYOUT_LIBRARIES_END - 0x4000);
	expect_long(vma_find_free_locked(PLACE_NEAR, 0x1000, 0x200000), LAYOUT_LIBRARIES_END - 0x200000);
	/* What does not fit near goes to the top. */
	expect_long(vma_find_free_locked(PLACE_NEAR, LAYOUT_NEAR_END - LAYOUT_NEAR, PAGE_SIZE),
		    top - (LAYOUT_NEAR_END - LAYOUT_NEAR));

	expect_long(vma_find_free_locked(PLACE_TOP, 0x5000, PAGE_SIZE), top - 0x5000);
	occupy(top - 0x5000, 0x5000, 0);
	expect_long(vma_find_free_locked(PLACE_TOP, 0x1000, PAGE_SIZE), top - 0x6000);
	occupy(top - 0x8000, 0x1000, 0);
	expect_long(vma_find_free_locked(PLACE_TOP, 0x2000, PAGE_SIZE), top - 0x7000);
	expect_long(vma_find_free_locked(PLACE_TOP, 0x3000, PAGE_SIZE), top - 0xb000);
	expect_long(vma_find_free_locked(PLACE_TOP, 0x1000, 0x200000), ALIGN_DOWN(top - 0x9000, 0x200000));
	/* A stack that grows down keeps its distance. */
	occupy(top - 0x10000000, 0x1000, VMA_GROWSDOWN);
	occupy(top - 0x10000000 + 0x1000, 0x10000000 - 0x1000, 0);
	expect_long(vma_find_free_locked(PLACE_TOP, 0x1000, PAGE_SIZE), top - 0x10000000 - STACK_GUARD_GAP - 0x1000);

	expect_long(vma_find_free_locked(PLACE_32BIT, 0x1000, PAGE_SIZE), LAYOUT_LOW_END);
	occupy(LAYOUT_LOW_END, 0x80000000 - LAYOUT_LOW_END, 0);
	expect_long(vma_find_free_locked(PLACE_32BIT, 0x1000, PAGE_SIZE), 0);
	expect_long(vma_find_free_locked(PLACE_TOP, 1ul << 47, PAGE_SIZE), 0);
	/* Too wide for what is above pcl's region, but not for what is below. */
	expect_long(vma_find_free_locked(PLACE_TOP, 0x400000000000, PAGE_SIZE), LAYOUT_BASE - 0x400000000000);
}

static bool pages_free(gva start, u64 len)
{
	for (gva at = start; at < start + len; at += PAGE_SIZE)
		if (!vma_free_locked(at, at + PAGE_SIZE))
			return false;
	return true;
}

/* The highest place, found by trying every one. */
static gva find_slowly(gva low, gva high, u64 len)
{
	for (gva at = high - len; at >= low; at -= PAGE_SIZE)
		if (pages_free(at, len))
			return at;
	return 0;
}

bool thread_any_of_other_group(const struct thread *own)
{
	return own;
}

static u32 list_all(struct vma *to)
{
	u32 n = 0;

	for (struct vma_pos p = {0, 0}; !vma_at_end(p); p = vma_next(p))
		to[n++] = *vma_entry_at(p);
	return n;
}

/* Somebody dies over a change, or when it is complete: the map is as it was, or as it was to be. */
static void die_over_change(gva from, gva to)
{
	static struct vma before[4096], after[4096];
	const struct vma whole = {.start = from, .end = to};
	bool complete = rand() & 1;
	u32 n = list_all(before);

	write_begin();
	cut_out(from + PAGE_SIZE, to);
	cut_out(from, to);
	if (rand() & 1)
		insert_entry(vma_above(from), &whole);
	if (complete) {
		n = list_all(before);
		vma_map.kept = VMA_KEPT_IN_VAIN;
	}
	vma_mend();
	expect(!(vma_map.seq & 1) && vma_map.kept == VMA_NOT_KEPT && vma_map.shared);
	expect_long(list_all(after), n);
	expect(!memcmp(before, after, n * sizeof(before[0])));
}

static void test_mended(void)
{
	const gva low = 0x600000000000, high = low + 2048 * PAGE_SIZE;

	expect_long(vma_init(), 0);
	vma_set_top(high);
	vma_sharers_changed((struct thread *)low);
	for (int i = 0; i < 3000 && !unit_failures; i++) {
		gva at = low + (u64)(rand() % 2000) * PAGE_SIZE;
		struct vma v = {.start = at, .end = at + PAGE_SIZE, .prot = rand() & 7};

		vma_insert_locked(&v);
		if (i % 10 == 0)
			die_over_change(at, at + (u64)(2 + rand() % 40) * PAGE_SIZE);
	}
	expect(vma_map.chunks > 1);
	vma_sharers_changed(NULL);
	vma_remove_locked(low, high);
	expect_long(vma_map.chunks, 0);
}

/* Many mappings: chunks divide and join, and places are found across them. */
static void test_many(void)
{
	const gva low = 0x600000000000, high = low + 2048 * PAGE_SIZE;

	expect_long(vma_init(), 0);
	vma_set_top(high);
	srand(2);
	for (int i = 0; i < 20000 && !unit_failures; i++) {
		gva at = low + (u64)(rand() % 2000) * PAGE_SIZE;
		u64 len = (u64)(1 + rand() % 3) * PAGE_SIZE, want = (u64)(1 + rand() % 8) * PAGE_SIZE;
		struct vma v = {.start = at, .end = at + len, .prot = rand() & 7};

		/* At first mostly full, later mostly empty. */
		if (rand() % 20000 > i)
			vma_insert_locked(&v);
		else
			vma_remove_locked(at, at + len);
		if (i % 50)
			continue;
		check_order();
		expect_long(find_downwards(low, high, want, PAGE_SIZE), find_slowly(low, high, want));
		at = find_slowly(low, high, want);
		expect(!at || vma_find_free_locked(PLACE_TOP, want, PAGE_SIZE) == at);
		at = find_upwards(low, high, want, PAGE_SIZE);
		expect(!at || pages_free(at, want));
		expect(at ? at <= find_slowly(low, high, want) : !find_slowly(low, high, want));
	}
	expect(vma_map.chunks > 1);
	vma_remove_locked(low, high);
	expect_long(vma_map.chunks, 0);
}

/* Libraries keep away from 2 GiB, but rather than from there from where the heap may grow. */
static void test_near_end(void)
{
	expect_long(vma_init(), 0);
	occupy(LAYOUT_LOW_END, LAYOUT_LIBRARIES_END - LAYOUT_LOW_END, 0);
	expect_long(vma_find_free_locked(PLACE_NEAR, 0x1000, PAGE_SIZE), LAYOUT_NEAR_END - 0x1000);
	occupy(LAYOUT_LIBRARIES_END, LAYOUT_NEAR_END - LAYOUT_LIBRARIES_END - 0x1000, 0);
	expect_long(vma_find_free_locked(PLACE_NEAR, 0x2000, PAGE_SIZE), LAYOUT_LOW_END - 0x2000);
	occupy(LAYOUT_NEAR, LAYOUT_LOW_END - LAYOUT_NEAR, 0);
	expect_long(vma_find_free_locked(PLACE_PROGRAM, 0x1000, PAGE_SIZE), LAYOUT_NEAR_END - 0x1000);
	expect_long(vma_find_free_locked(PLACE_NEAR, 0x2000, PAGE_SIZE), LAYOUT_GUEST_MMAP_TOP - 0x2000);
}

static void test_reserved(void)
{
	const struct vma cache = {.start = LAYOUT_CACHE, .end = LAYOUT_LOW_END, .kind = VMA_HOST};
	gva at = 0x20000000, end = 0x70000000;

	expect_long(vma_init(), 0);
	vma_insert_locked(&cache);
	occupy(0x28000000, 0x1000, 0);
	expect(vma_reserved(0, ~0ul) && vma_reserved(LAYOUT_BASE, LAYOUT_BASE + 1));
	expect(!vma_reserved(LAYOUT_END, LAYOUT_END + PAGE_SIZE));
	expect_long(vma_piece_locked(&at, end), LAYOUT_CACHE);
	at = LAYOUT_CACHE;
	expect_long(vma_piece_locked(&at, end), end);
	expect_long(at, LAYOUT_LOW_END);
	at = end;
	expect_long(vma_piece_locked(&at, end), 0);
	expect_long(vma_piece_locked(&at, LAYOUT_END), LAYOUT_BASE);
	at = LAYOUT_BASE;
	expect_long(vma_piece_locked(&at, LAYOUT_END), 0);
	/* What is placed near goes around it. */
	expect_long(vma_find_free_locked(PLACE_PROGRAM, 0x18001000, PAGE_SIZE), LAYOUT_LOW_END);
	expect_long(vma_find_between_locked(0x29000000, LAYOUT_NEAR_END, 0x1000, PAGE_SIZE), LAYOUT_NEAR_END - 0x1000);
	expect_long(vma_find_between_locked(0x29000000, LAYOUT_LOW_END, 0x1000, PAGE_SIZE), LAYOUT_CACHE - 0x1000);
	expect_long(vma_find_between_locked(0x29000000, LAYOUT_LOW_END, LAYOUT_CACHE, PAGE_SIZE), 0);
}

static void test_protection(void)
{
	expect_long(vma_host_prot(PROT_READ | PROT_EXEC), PROT_READ);
	expect_long(vma_host_prot(PROT_EXEC), PROT_READ);
	expect_long(vma_host_prot(PROT_NONE), PROT_NONE);
	expect_long(vma_host_prot(PROT_WRITE | PROT_EXEC), PROT_WRITE);
}

int main(void)
{
	test_random();
	test_places();
	test_many();
	test_mended();
	test_near_end();
	test_reserved();
	test_protection();
	return unit_result();
}
