/*
 * The guest's memory map; see vma.h.
 *
 * Mappings in order of address, without overlaps, in chunks of up to CHUNK; `order` lists the chunks. A chunk is never
 * empty. Neighbours that differ in nothing are one entry. Everything is at LAYOUT_MM, in memory that the kernel
 * provides as it is touched and that stays readable, so that a reader without the lock may follow what it finds. `seq`
 * is odd while something is being written.
 */
#include <errno.h>
#include <sys/mman.h>
#include "os/vma.h"
#include "rt/layout.h"
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/reserve.h"
#include "rt/string.h"
#include "rt/sys.h"

#define CAPACITY	0x20000 /* entries: twice the kernel's usual limit, vm.max_map_count */
#define CHUNK		72	/* so that a chunk is a page */
#define CHUNKS		0x2000
#define CHUNKS_MORE	16 /* that can be written besides those in use: pcl's own mappings ask nobody */
#define STACK_GUARD_GAP 0x100000ul /* the kernel's default: room it wants below a VMA_GROWSDOWN mapping */
#define LOWEST		0x10000ul  /* vm.mmap_min_addr */
#define HIGHEST		0x7ffffffff000ul
#define GAP_UNKNOWN	(~0ul)

struct chunk {
	u32 n;
	u32 next_free; /* while in the list of free chunks */
	u64 gap;       /* no free range before one of its entries is longer; GAP_UNKNOWN: not computed */
	struct vma entry[CHUNK];
} __attribute__((aligned(4096)));

static struct {
	struct lock lock;
	u32 seq;
	u64 last_id;
	u32 count;		      /* entries */
	u32 chunks;		      /* in use: order[0 .. chunks) */
	u32 touched;		      /* chunks ever used */
	u32 free;		      /* 1 + number of a free one among those, 0: none */
	gva near_base, near_top, top; /* bounds of placement */
	struct {
		gva end; /* between here and `top` every free range is shorter than */
		u64 len; /* that, so searches for so much or more begin here */
	} hint;
} mm WRITTEN_BY_FORK;

static struct chunk *const pool = (struct chunk *)LAYOUT_MM;
static u32 *const order = (u32 *)(LAYOUT_MM + CHUNKS * sizeof(struct chunk));

#define MAP_BYTES (CHUNKS * (sizeof(struct chunk) + sizeof(u32)))

static struct reserve chunks_memory, orders_memory;

/* A place in the map: entry `i` of the chunk order[c]. c == mm.chunks: the end. */
struct pos {
	u32 c, i;
};

static void forget_hint(void)
{
	mm.hint.end = mm.top;
	mm.hint.len = 0;
}

int vma_init(void)
{
	long ret = sys6(__NR_mmap, LAYOUT_MM, MAP_BYTES, reserve_prot(PROT_READ | PROT_WRITE),
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (sys_is_error(ret))
		return ret;
	chunks_memory = reserve_of(LAYOUT_MM, CHUNKS * sizeof(struct chunk), PROT_READ | PROT_WRITE);
	orders_memory = reserve_of((u64)order, CHUNKS * sizeof(u32), PROT_READ | PROT_WRITE);
	if (!reserve_ready(&orders_memory, orders_memory.end) || !reserve_ready(&chunks_memory, LAYOUT_MM + 1))
		return -ENOMEM;
	lock_init(&mm.lock, RANK_MM);
	mm.seq = 0;
	mm.count = mm.chunks = mm.touched = mm.free = 0;
	mm.near_base = LAYOUT_NEAR;
	mm.near_top = LAYOUT_NEAR_END;
	vma_set_top(LAYOUT_GUEST_MMAP_TOP);
	return 0;
}

void vma_set_random(u64 near, u64 top)
{
	mm.near_base = LAYOUT_NEAR + ALIGN_DOWN(near, PAGE_SIZE);
	mm.near_top = LAYOUT_NEAR_END - ALIGN_DOWN(near, PAGE_SIZE);
	vma_set_top(mm.top - ALIGN_DOWN(top, PAGE_SIZE));
}

void vma_set_top(gva top)
{
	mm.top = top;
	forget_hint();
}

void vma_lock(void)
{
	lock_acquire(&mm.lock);
}

void vma_unlock(void)
{
	lock_release(&mm.lock);
}

void vma_before_fork(void)
{
	vma_lock();
}

void vma_after_fork(void)
{
	vma_unlock();
}

static struct chunk *chunk_at(u32 c)
{
	return &pool[order[c]];
}

static struct vma *entry_at(struct pos p)
{
	return &chunk_at(p.c)->entry[p.i];
}

static bool at_end(struct pos p)
{
	return p.c >= mm.chunks;
}

static struct pos next(struct pos p)
{
	return p.i + 1 < chunk_at(p.c)->n ? (struct pos){p.c, p.i + 1} : (struct pos){p.c + 1, 0};
}

/* False if p is the first. */
static bool previous(struct pos p, struct pos *out)
{
	if (p.i)
		*out = (struct pos){p.c, p.i - 1};
	else if (p.c)
		*out = (struct pos){p.c - 1, chunk_at(p.c - 1)->n - 1};
	return p.i || p.c;
}

/* The first entry that ends above addr. What a reader without the lock finds may be anything, but it is readable. */
static struct pos above(gva addr)
{
	u32 low = 0, high = MIN(mm.chunks, CHUNKS), c, n;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		const struct chunk *chunk = chunk_at(mid);

		n = MIN(chunk->n, CHUNK);
		if (n && chunk->entry[n - 1].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	c = low;
	if (c >= mm.chunks || c >= CHUNKS)
		return (struct pos){CHUNKS, 0};
	low = 0;
	high = MIN(chunk_at(c)->n, CHUNK);
	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (chunk_at(c)->entry[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return (struct pos){c, MIN(low, CHUNK - 1)};
}

/*
 * The reader's side of `seq`. Barriers pair with write_begin() and write_end():
 *
 *   writer                                reader
 *   seq = odd                             s = seq (acquire, B)
 *   release fence (A)                     copy the entry
 *   entries                               acquire fence (A)
 *   seq = even (release, B)               seq == s?
 */
int vma_lookup(gva addr, struct vma *out)
{
	for (;;) {
		u32 seq = __atomic_load_n(&mm.seq, __ATOMIC_ACQUIRE);
		struct pos p;

		if (seq & 1) {
			__builtin_ia32_pause();
			continue;
		}
		p = above(addr);
		*out = p.c < CHUNKS ? *entry_at(p) : (struct vma){.start = ~0ul};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&mm.seq, __ATOMIC_RELAXED) == seq)
			break;
	}
	return addr >= out->start && out->kind != VMA_HOST ? 0 : -EFAULT;
}

static void write_begin(void)
{
	__atomic_store_n(&mm.seq, mm.seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void write_end(void)
{
	__atomic_store_n(&mm.seq, mm.seq + 1, __ATOMIC_RELEASE);
}

const struct vma *vma_next_locked(gva addr)
{
	struct pos p = above(addr);

	return at_end(p) ? NULL : entry_at(p);
}

bool vma_free_locked(gva start, gva end)
{
	const struct vma *v = vma_next_locked(start);

	return (!v || v->start >= end) && !vma_reserved(start, end);
}

bool vma_covered_locked(gva start, gva end)
{
	for (struct pos p = above(start); start < end && !at_end(p); p = next(p)) {
		const struct vma *v = entry_at(p);

		if (v->start > start || v->kind == VMA_HOST)
			return false;
		start = v->end;
	}
	return start >= end;
}

bool vma_exec_locked(gva start, gva end)
{
	for (struct pos p = above(start); !at_end(p) && entry_at(p)->start < end; p = next(p))
		if (entry_at(p)->prot & PROT_EXEC)
			return true;
	return false;
}

bool vma_host_locked(gva start, gva end)
{
	for (struct pos p = above(start); !at_end(p) && entry_at(p)->start < end; p = next(p))
		if (entry_at(p)->kind == VMA_HOST)
			return true;
	return false;
}

u64 vma_new_id_locked(void)
{
	return ++mm.last_id;
}

bool vma_room_locked(void)
{
	return mm.count + 4 <= CAPACITY && mm.chunks + 4 <= CHUNKS &&
	       reserve_ready(&chunks_memory, (u64)&pool[MIN(mm.touched + CHUNKS_MORE, CHUNKS)]);
}

/* The gaps before the entries of that chunk, and before the first of the next, may have changed. */
static void forget_gaps(u32 c)
{
	if (c < mm.chunks)
		chunk_at(c)->gap = GAP_UNKNOWN;
	if (c + 1 < mm.chunks)
		chunk_at(c + 1)->gap = GAP_UNKNOWN;
}

/* A new, empty chunk at place c of the order. */
static struct chunk *chunk_insert(u32 c)
{
	u32 number = mm.free ? mm.free - 1 : mm.touched++;
	struct chunk *chunk = &pool[number];

	check(number < CHUNKS);
	if (mm.free)
		mm.free = chunk->next_free;
	memmove(&order[c + 1], &order[c], (mm.chunks - c) * sizeof(order[0]));
	order[c] = number;
	mm.chunks++;
	chunk->n = 0;
	chunk->gap = GAP_UNKNOWN;
	return chunk;
}

static void chunk_delete(u32 c)
{
	u32 number = order[c];

	memmove(&order[c], &order[c + 1], (mm.chunks - c - 1) * sizeof(order[0]));
	mm.chunks--;
	pool[number].next_free = mm.free;
	mm.free = number + 1;
	forget_gaps(c);
}

/* Takes up the entries of chunk c + 1 if both are rather empty: the number of chunks follows that of entries. */
static void chunk_join(u32 c)
{
	struct chunk *a, *b;

	if (c + 1 >= mm.chunks || chunk_at(c)->n + chunk_at(c + 1)->n > CHUNK / 2)
		return;
	a = chunk_at(c);
	b = chunk_at(c + 1);
	memcpy(&a->entry[a->n], b->entry, b->n * sizeof(struct vma));
	a->n += b->n;
	chunk_delete(c + 1);
	forget_gaps(c);
}

static void delete_entry(struct pos p)
{
	struct chunk *chunk = chunk_at(p.c);

	memmove(&chunk->entry[p.i], &chunk->entry[p.i + 1], (chunk->n - p.i - 1) * sizeof(struct vma));
	chunk->n--;
	mm.count--;
	forget_gaps(p.c);
	if (!chunk->n)
		chunk_delete(p.c);
	else
		chunk_join(p.c);
}

/* Makes room for one more in a full chunk: its upper half becomes a chunk of its own. */
static struct pos split_chunk(struct pos p)
{
	struct chunk *upper = chunk_insert(p.c + 1), *chunk = chunk_at(p.c);
	u32 keep = CHUNK / 2;

	upper->n = chunk->n - keep;
	memcpy(upper->entry, &chunk->entry[keep], upper->n * sizeof(struct vma));
	chunk->n = keep;
	forget_gaps(p.c + 1);
	return p.i <= keep ? p : (struct pos){p.c + 1, p.i - keep};
}

/* Puts an entry before the one at p. */
static void insert_entry(struct pos p, const struct vma *vma)
{
	struct chunk *chunk;

	check(mm.count < CAPACITY);
	if (at_end(p)) {
		if (!mm.chunks)
			chunk_insert(0);
		p = (struct pos){mm.chunks - 1, chunk_at(mm.chunks - 1)->n};
	}
	if (chunk_at(p.c)->n == CHUNK)
		p = split_chunk(p);
	chunk = chunk_at(p.c);
	memmove(&chunk->entry[p.i + 1], &chunk->entry[p.i], (chunk->n - p.i) * sizeof(struct vma));
	chunk->entry[p.i] = *vma;
	chunk->n++;
	mm.count++;
	forget_gaps(p.c);
}

/* Cuts the entry around addr in two, so that addr is a boundary. */
static void split_at(gva addr)
{
	struct pos p = above(addr);
	struct vma lower;

	if (at_end(p) || entry_at(p)->start >= addr)
		return;
	lower = *entry_at(p);
	entry_at(p)->offset += addr - lower.start;
	entry_at(p)->start = addr;
	lower.end = addr;
	insert_entry(p, &lower);
}

static void cut_out(gva start, gva end)
{
	struct pos p;

	split_at(start);
	split_at(end);
	while (!at_end(p = above(start)) && entry_at(p)->start < end)
		delete_entry(p);
}

static bool mergeable(const struct vma *a, const struct vma *b)
{
	if (a->end != b->start || a->prot != b->prot || a->flags != b->flags || a->kind != b->kind)
		return false;
	if (a->kind == VMA_SHM || a->kind == VMA_EVENT || (a->flags & VMA_GROWSDOWN))
		return false;
	if (!(a->flags & VMA_FILE))
		return true;
	return a->id == b->id && a->offset + (a->end - a->start) == b->offset;
}

/* Joins what can be joined where an entry ends at or after `from` and the next begins at or before `to`. */
static void merge(gva from, gva to)
{
	struct pos p = above(from ? from - 1 : 0);

	while (!at_end(p) && !at_end(next(p)) && entry_at(next(p))->start <= to) {
		struct pos after = next(p);
		gva end = entry_at(after)->end;

		if (!mergeable(entry_at(p), entry_at(after))) {
			p = after;
			continue;
		}
		entry_at(p)->end = end;
		delete_entry(after);
		p = above(end - 1); /* chunks may have moved */
	}
}

void vma_insert_locked(const struct vma *vma)
{
	check_slow(!((vma->start | vma->end) & (PAGE_SIZE - 1)) && vma->start < vma->end);
	write_begin();
	cut_out(vma->start, vma->end);
	insert_entry(above(vma->start), vma);
	merge(vma->start, vma->end);
	write_end();
}

void vma_remove_locked(gva start, gva end)
{
	const struct vma *after;

	write_begin();
	cut_out(start, end);
	write_end();
	/* What has become free may be larger than the hint says, up to the next mapping. */
	after = vma_next_locked(end - 1);
	mm.hint.end = MAX(mm.hint.end, MIN(mm.top, after ? after->start : mm.top));
}

void vma_protect_locked(gva start, gva end, u32 prot)
{
	write_begin();
	split_at(start);
	split_at(end);
	for (struct pos p = above(start); !at_end(p) && entry_at(p)->start < end; p = next(p))
		if (entry_at(p)->kind != VMA_HOST)
			entry_at(p)->prot = prot;
	merge(start, end);
	write_end();
}

void vma_seal_locked(gva start, gva end)
{
	write_begin();
	split_at(start);
	split_at(end);
	for (struct pos p = above(start); !at_end(p) && entry_at(p)->start < end; p = next(p))
		entry_at(p)->flags |= VMA_SEALED;
	merge(start, end);
	write_end();
}

/* Where the room that an entry claims begins: below a growing stack nothing is placed. */
static gva claim_start(const struct vma *v)
{
	if (!(v->flags & VMA_GROWSDOWN))
		return v->start;
	return v->start > STACK_GUARD_GAP + LOWEST ? v->start - STACK_GUARD_GAP : LOWEST;
}

/* True if nothing of that length fits before any entry of the chunk. */
static bool chunk_too_tight(u32 c, u64 len)
{
	struct chunk *chunk = chunk_at(c);
	gva before = 0;

	if (!c)
		return false;
	if (chunk->gap == GAP_UNKNOWN) {
		before = chunk_at(c - 1)->entry[chunk_at(c - 1)->n - 1].end;
		chunk->gap = 0;
		for (u32 i = 0; i < chunk->n; i++) {
			gva claim = claim_start(&chunk->entry[i]);

			if (claim > before)
				chunk->gap = MAX(chunk->gap, claim - before);
			before = chunk->entry[i].end;
		}
	}
	return chunk->gap < len;
}

static gva find_upwards(gva low, gva high, u64 len, u64 align)
{
	gva at = ALIGN_UP(low, align);
	struct pos p = above(low);

	while (at + len <= high) {
		if (at_end(p) || at + len <= claim_start(entry_at(p)))
			return at;
		if (!p.i && chunk_too_tight(p.c, len))
			p.i = chunk_at(p.c)->n - 1;
		at = MAX(at, ALIGN_UP(entry_at(p)->end, align));
		p = next(p);
	}
	return 0;
}

static gva find_downwards(gva low, gva high, u64 len, u64 align)
{
	struct pos p = above(high - 1), before = {0};
	gva end = at_end(p) ? high : MIN(high, claim_start(entry_at(p)));

	if (at_end(p))
		p = (struct pos){mm.chunks, 0};
	for (;;) {
		bool any = previous(p, &before);
		gva floor = any ? MAX(entry_at(before)->end, low) : low;

		if (end >= len && end - len >= floor && ALIGN_DOWN(end - len, align) >= floor)
			return ALIGN_DOWN(end - len, align);
		if (!any || floor == low)
			return 0;
		p = before;
		/* The whole chunk in one step, if it is above `low`. */
		if (p.i + 1 == chunk_at(p.c)->n && chunk_at(p.c)->entry[0].start > low && chunk_too_tight(p.c, len))
			previous((struct pos){p.c, 0}, &p);
		end = claim_start(entry_at(p));
	}
}

static gva find_at_top(u64 len, u64 align)
{
	bool plain = align == PAGE_SIZE;
	gva high = len >= mm.hint.len ? mm.hint.end : mm.top;
	gva at = find_downwards(LAYOUT_END, high, len, align);

	if (at && plain) {
		mm.hint.end = at + len;
		mm.hint.len = len;
	}
	return at;
}

gva vma_find_free_locked(enum vma_place place, u64 len, u64 align)
{
	gva at = 0;

	if (len > HIGHEST)
		return 0;
	if (place == PLACE_32BIT)
		return find_upwards(LAYOUT_LOW_END, 0x80000000ul, len, align);
	if (place == PLACE_PROGRAM)
		at = find_upwards(mm.near_base, mm.near_top, len, align);
	if (place == PLACE_NEAR)
		at = find_downwards(mm.near_base, mm.near_top, len, align);
	if (!at)
		at = find_at_top(len, align);
	if (!at)
		at = find_downwards(LAYOUT_LOW_END, LAYOUT_BASE, len, align);
	return at;
}

int vma_host_prot(int prot)
{
	if ((prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_EXEC)
		prot |= PROT_READ;
	return prot & ~PROT_EXEC;
}
