/*
 * The guest's memory map; see vma.h.
 *
 * A sorted array without overlaps, at LAYOUT_MM in memory that the kernel provides as it is touched. Neighbours that differ in
 * nothing are one entry. `seq` is odd while the array is being written.
 */
#include <errno.h>
#include <sys/mman.h>
#include "os/vma.h"
#include "rt/layout.h"
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/string.h"
#include "rt/sys.h"

#define CAPACITY 0x20000 /* twice the kernel's usual limit, vm.max_map_count */
#define STACK_GUARD_GAP 0x100000ul /* the kernel's default: room it wants below a VMA_GROWSDOWN mapping */
#define LOWEST 0x10000ul	   /* vm.mmap_min_addr */
#define HIGHEST 0x7ffffffff000ul

static struct {
	struct lock lock;
	u32 seq;
	u32 count;
	gva near_base, near_top, top; /* bounds of placement */
} mm;

static struct vma *const table = (struct vma *)LAYOUT_MM;

int vma_init(void)
{
	long ret = sys6(__NR_mmap, LAYOUT_MM, CAPACITY * sizeof(struct vma), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (sys_is_error(ret))
		return ret;
	lock_init(&mm.lock, RANK_MM);
	mm.seq = 0;
	mm.count = 0;
	mm.near_base = LAYOUT_NEAR;
	mm.near_top = LAYOUT_NEAR_END;
	mm.top = LAYOUT_GUEST_MMAP_TOP;
	return 0;
}

void vma_set_random(u64 near, u64 top)
{
	mm.near_base = LAYOUT_NEAR + ALIGN_DOWN(near, PAGE_SIZE);
	mm.near_top = LAYOUT_NEAR_END - ALIGN_DOWN(near, PAGE_SIZE);
	mm.top -= ALIGN_DOWN(top, PAGE_SIZE);
}

void vma_set_top(gva top)
{
	mm.top = top;
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

static const struct {
	gva start, end;
} reserved[] = {
	{LAYOUT_CACHE, LAYOUT_CACHE + LAYOUT_CACHE_SIZE},
	{LAYOUT_BASE, LAYOUT_END},
};

bool vma_reserved(gva start, gva end)
{
	for (unsigned i = 0; i < ARRAY_SIZE(reserved); i++)
		if (start < reserved[i].end && end > reserved[i].start)
			return true;
	return false;
}

gva vma_piece(gva *at, gva end)
{
	for (unsigned i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (*at >= reserved[i].start && *at < reserved[i].end)
			*at = reserved[i].end;
		if (*at < reserved[i].start && end > reserved[i].start)
			end = reserved[i].start;
	}
	return *at < end ? end : 0;
}

/* Index of the first entry that ends above addr. A reader without the lock may see any count of entries up to `count`. */
static u32 index_above(gva addr, u32 count)
{
	u32 low = 0, high = count;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (table[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static u32 above(gva addr)
{
	return index_above(addr, mm.count);
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
		u32 count = mm.count, i;

		if (seq & 1) {
			__builtin_ia32_pause();
			continue;
		}
		i = index_above(addr, count);
		*out = i < count ? table[i] : (struct vma){.start = ~0ul};
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
	u32 i = above(addr);

	return i < mm.count ? &table[i] : NULL;
}

bool vma_free_locked(gva start, gva end)
{
	u32 i = above(start);

	return (i == mm.count || table[i].start >= end) && !vma_reserved(start, end);
}

bool vma_covered_locked(gva start, gva end)
{
	for (u32 i = above(start); i < mm.count && table[i].start <= start && table[i].kind != VMA_HOST; i++) {
		start = table[i].end;
		if (start >= end)
			return true;
	}
	return start >= end;
}

bool vma_exec_locked(gva start, gva end)
{
	for (u32 i = above(start); i < mm.count && table[i].start < end; i++)
		if (table[i].prot & PROT_EXEC)
			return true;
	return false;
}

bool vma_host_locked(gva start, gva end)
{
	for (u32 i = above(start); i < mm.count && table[i].start < end; i++)
		if (table[i].kind == VMA_HOST)
			return true;
	return false;
}

bool vma_room_locked(void)
{
	return mm.count + 4 <= CAPACITY;
}

static void delete_entries(u32 at, u32 n)
{
	memmove(&table[at], &table[at + n], (mm.count - at - n) * sizeof(struct vma));
	mm.count -= n;
}

static void insert_entry(u32 at, const struct vma *vma)
{
	check(mm.count < CAPACITY);
	memmove(&table[at + 1], &table[at], (mm.count - at) * sizeof(struct vma));
	table[at] = *vma;
	mm.count++;
}

/* Cuts the entry around addr in two, so that addr is a boundary. */
static void split_at(gva addr)
{
	u32 i = above(addr);
	struct vma upper;

	if (i == mm.count || table[i].start >= addr)
		return;
	upper = table[i];
	upper.offset += addr - upper.start;
	upper.start = addr;
	table[i].end = addr;
	insert_entry(i + 1, &upper);
}

static void cut_out(gva start, gva end)
{
	u32 first, last;

	split_at(start);
	split_at(end);
	first = last = above(start);
	while (last < mm.count && table[last].start < end)
		last++;
	delete_entries(first, last - first);
}

static bool mergeable(const struct vma *a, const struct vma *b)
{
	if (a->end != b->start || a->prot != b->prot || a->flags != b->flags || a->kind != b->kind)
		return false;
	if (a->kind == VMA_SHM || a->kind == VMA_EVENT || (a->flags & VMA_GROWSDOWN))
		return false;
	if (!(a->flags & VMA_FILE))
		return true;
	return a->dev == b->dev && a->ino == b->ino && a->offset + (a->end - a->start) == b->offset;
}

/* Joins what can be joined among the entries from one before `from` to one after `to`. */
static void merge(u32 from, u32 to)
{
	for (u32 i = MIN(to, mm.count - 1) + 1; i-- > (from ? from - 1 : 0);) {
		if (i + 1 >= mm.count || !mergeable(&table[i], &table[i + 1]))
			continue;
		table[i].end = table[i + 1].end;
		delete_entries(i + 1, 1);
	}
}

void vma_insert_locked(const struct vma *vma)
{
	u32 at;

	check_slow(!((vma->start | vma->end) & (PAGE_SIZE - 1)) && vma->start < vma->end);
	write_begin();
	cut_out(vma->start, vma->end);
	at = above(vma->start);
	insert_entry(at, vma);
	merge(at, at);
	write_end();
}

void vma_remove_locked(gva start, gva end)
{
	write_begin();
	cut_out(start, end);
	write_end();
}

void vma_protect_locked(gva start, gva end, u32 prot)
{
	u32 first, i;

	write_begin();
	split_at(start);
	split_at(end);
	first = above(start);
	for (i = first; i < mm.count && table[i].start < end; i++)
		if (table[i].kind != VMA_HOST)
			table[i].prot = prot;
	if (mm.count)
		merge(first, i);
	write_end();
}

/* Where the room that entry i claims begins: below a growing stack nothing is placed. */
static gva claim_start(u32 i)
{
	gva start = table[i].start;

	if (!(table[i].flags & VMA_GROWSDOWN))
		return start;
	return start > STACK_GUARD_GAP + LOWEST ? start - STACK_GUARD_GAP : LOWEST;
}

static gva find_upwards(gva low, gva high, u64 len, u64 align)
{
	gva at = ALIGN_UP(low, align);

	for (u32 i = above(low); at + len <= high; i++) {
		if (i == mm.count || at + len <= claim_start(i))
			return at;
		at = MAX(at, ALIGN_UP(table[i].end, align));
	}
	return 0;
}

static gva find_downwards(gva low, gva high, u64 len, u64 align)
{
	u32 i = above(high - 1);
	gva end = high;

	if (i < mm.count)
		end = MIN(end, claim_start(i));
	for (;; i--) {
		gva floor = i ? MAX(table[i - 1].end, low) : low;

		if (end >= len && ALIGN_DOWN(end - len, align) >= floor)
			return ALIGN_DOWN(end - len, align);
		if (!i || floor == low)
			return 0;
		end = claim_start(i - 1);
	}
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
		at = find_downwards(LAYOUT_END, mm.top, len, align);
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
