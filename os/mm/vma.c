/* The guest's memory map; see vma.h, and vma_chunks.h for what it is made of. */
#include <errno.h>
#include <sys/mman.h>
#include "os/mm/vma_chunks.h"
#include "os/session/clock.h"
#include "perf/perf.h"
#include "rt/log.h"
#include "rt/reserve.h"
#include "rt/string.h"
#include "rt/sys.h"

#define CAPACITY	0x20000 /* entries: twice the kernel's usual limit, vm.max_map_count */
#define MANY_LOOKS	0x10000 /* that a change takes: its writer may be dead */
#define CHUNKS_MORE	16 /* that can be written besides those in use: pcl's own mappings ask nobody */
#define MAP_BYTES	(VMA_CHUNKS * (sizeof(struct vma_chunk) + sizeof(u32)))

struct vma_map vma_map WRITTEN_BY_FORK;

static struct reserve chunks_memory, orders_memory;

static void forget_hint(void)
{
	vma_map.hint.end = vma_map.top;
	vma_map.hint.len = 0;
}

int vma_init(void)
{
	long ret = sys6(__NR_mmap, LAYOUT_MM, MAP_BYTES, reserve_prot(PROT_READ | PROT_WRITE),
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (sys_is_error(ret))
		return ret;
	chunks_memory = reserve_of(LAYOUT_MM, VMA_CHUNKS * sizeof(struct vma_chunk), PROT_READ | PROT_WRITE);
	orders_memory = reserve_of((u64)vma_order, VMA_CHUNKS * sizeof(u32), PROT_READ | PROT_WRITE);
	if (!reserve_ready(&orders_memory, orders_memory.end) || !reserve_ready(&chunks_memory, LAYOUT_MM + 1))
		return -ENOMEM;
	lock_init(&vma_map.lock, RANK_MM);
	vma_map.seq = 0;
	vma_map.shared = false;
	vma_map.kept = VMA_NOT_KEPT;
	vma_map.count = vma_map.chunks = vma_map.touched = vma_map.free = 0;
	vma_map.near_base = LAYOUT_NEAR;
	vma_map.near_top = LAYOUT_LIBRARIES_END;
	vma_set_top(LAYOUT_GUEST_MMAP_TOP);
	return 0;
}

void vma_set_random(u64 near, u64 top)
{
	vma_map.near_base = LAYOUT_NEAR + ALIGN_DOWN(near, PAGE_SIZE);
	vma_map.near_top = LAYOUT_LIBRARIES_END - ALIGN_DOWN(near, PAGE_SIZE);
	vma_set_top(vma_map.top - ALIGN_DOWN(top, PAGE_SIZE));
}

void vma_set_top(gva top)
{
	vma_map.top = top;
	forget_hint();
}

void vma_lock(void)
{
	lock_acquire(&vma_map.lock);
}

void vma_unlock(void)
{
	lock_release(&vma_map.lock);
}

void vma_before_fork(void)
{
	vma_lock();
}

void vma_after_fork(void)
{
	vma_unlock();
}

struct vma_pos vma_above(gva addr)
{
	u32 low = 0, high = MIN(vma_map.chunks, VMA_CHUNKS), c, n;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		const struct vma_chunk *chunk = vma_chunk_at(mid);

		n = MIN(chunk->n, VMA_CHUNK);
		if (n && chunk->entry[n - 1].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	c = low;
	if (c >= vma_map.chunks || c >= VMA_CHUNKS)
		return (struct vma_pos){VMA_CHUNKS, 0};
	low = 0;
	high = MIN(vma_chunk_at(c)->n, VMA_CHUNK);
	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (vma_chunk_at(c)->entry[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return (struct vma_pos){c, MIN(low, VMA_CHUNK - 1)};
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
static u32 read_begin(void)
{
	u32 looks = 0, seq;

	while ((seq = __atomic_load_n(&vma_map.seq, __ATOMIC_ACQUIRE)) & 1) {
		if (++looks % MANY_LOOKS == 0)
			lock_free_of_dead(&vma_map.lock);
		arch_pause();
	}
	return seq;
}

static bool read_was_disturbed(u32 seq)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&vma_map.seq, __ATOMIC_RELAXED) != seq;
}

int vma_lookup(gva addr, struct vma *out)
{
	struct vma_pos p;
	u32 seq;

	do {
		seq = read_begin();
		p = vma_above(addr);
		*out = p.c < VMA_CHUNKS ? *vma_entry_at(p) : (struct vma){.start = ~0ul};
	} while (read_was_disturbed(seq));
	return addr >= out->start && out->kind != VMA_HOST ? 0 : -EFAULT;
}

gva vma_alias(const struct vma *vma, gva addr, gva after)
{
	u64 offset = vma->offset + (addr - vma->start);
	gva found;
	u32 seq;

	do {
		seq = read_begin();
		found = 0;
		for (struct vma_pos p = vma_above(after); !vma_at_end(p) && !found; p = vma_next(p)) {
			struct vma v = *vma_entry_at(p);

			if (v.memory == vma->memory && offset >= v.offset && offset - v.offset < v.end - v.start &&
			    v.start + (offset - v.offset) > after)
				found = v.start + (offset - v.offset);
		}
	} while (read_was_disturbed(seq));
	return found;
}

bool clock_vdso_is_at(u64 base, u32 *seen)
{
	u32 seq = __atomic_load_n(&vma_map.seq, __ATOMIC_ACQUIRE);
	struct vma vma;

	if (!(seq & 1) && __atomic_load_n(seen, __ATOMIC_RELAXED) == seq + 1)
		return true;
	if (vma_lookup(base, &vma) || vma.kind != VMA_VDSO)
		return false;
	if (!(seq & 1))
		__atomic_store_n(seen, seq + 1, __ATOMIC_RELAXED);
	return true;
}

static void write_begin(void)
{
	if (unlikely(vma_map.shared))
		vma_keep();
	__atomic_store_n(&vma_map.seq, vma_map.seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void write_end(void)
{
	if (unlikely(vma_map.kept))
		__atomic_store_n(&vma_map.kept, VMA_KEPT_IN_VAIN, __ATOMIC_RELEASE);
	__atomic_store_n(&vma_map.seq, vma_map.seq + 1, __ATOMIC_RELEASE);
	if (unlikely(vma_map.kept))
		vma_keep_no_longer();
}

const struct vma *vma_next_locked(gva addr)
{
	struct vma_pos p = vma_above(addr);

	return vma_at_end(p) ? NULL : vma_entry_at(p);
}

bool vma_free_locked(gva start, gva end)
{
	const struct vma *v = vma_next_locked(start);

	return (!v || v->start >= end) && !vma_reserved(start, end);
}

bool vma_covered_locked(gva start, gva end)
{
	for (struct vma_pos p = vma_above(start); start < end && !vma_at_end(p); p = vma_next(p)) {
		const struct vma *v = vma_entry_at(p);

		if (v->start > start || v->kind == VMA_HOST)
			return false;
		start = v->end;
	}
	return start >= end;
}

bool vma_exec_locked(gva start, gva end)
{
	for (struct vma_pos p = vma_above(start); !vma_at_end(p) && vma_entry_at(p)->start < end; p = vma_next(p))
		if ((vma_entry_at(p)->prot & PROT_EXEC) || vma_entry_at(p)->memory)
			return true;
	return false;
}

bool vma_host_locked(gva start, gva end)
{
	for (struct vma_pos p = vma_above(start); !vma_at_end(p) && vma_entry_at(p)->start < end; p = vma_next(p))
		if (vma_entry_at(p)->kind == VMA_HOST)
			return true;
	return false;
}

u64 vma_new_id_locked(void)
{
	return ++vma_map.last_id;
}

bool vma_room_locked(void)
{
	return vma_map.count + 4 <= CAPACITY && vma_map.chunks + 4 <= VMA_CHUNKS &&
	       reserve_ready(&chunks_memory, (u64)&vma_pool[MIN(vma_map.touched + CHUNKS_MORE, VMA_CHUNKS)]);
}

/* The gaps before the entries of that chunk, and before the first of the next, may have changed. */
static void forget_gaps(u32 c)
{
	if (c < vma_map.chunks)
		vma_chunk_at(c)->gap = VMA_GAP_UNKNOWN;
	if (c + 1 < vma_map.chunks)
		vma_chunk_at(c + 1)->gap = VMA_GAP_UNKNOWN;
}

/* A new, empty chunk at place c of the order. */
static struct vma_chunk *chunk_insert(u32 c)
{
	u32 number = vma_map.free ? vma_map.free - 1 : vma_map.touched++;
	struct vma_chunk *chunk = &vma_pool[number];

	check(number < VMA_CHUNKS);
	if (vma_map.free)
		vma_map.free = chunk->next_free;
	memmove(&vma_order[c + 1], &vma_order[c], (vma_map.chunks - c) * sizeof(vma_order[0]));
	vma_order[c] = number;
	vma_map.chunks++;
	chunk->n = 0;
	chunk->gap = VMA_GAP_UNKNOWN;
	return chunk;
}

static void chunk_delete(u32 c)
{
	u32 number = vma_order[c];

	memmove(&vma_order[c], &vma_order[c + 1], (vma_map.chunks - c - 1) * sizeof(vma_order[0]));
	vma_map.chunks--;
	vma_pool[number].next_free = vma_map.free;
	vma_map.free = number + 1;
	forget_gaps(c);
}

/* Takes up the entries of chunk c + 1 if both are rather empty: the number of chunks follows that of entries. */
static void chunk_join(u32 c)
{
	struct vma_chunk *a, *b;

	if (c + 1 >= vma_map.chunks || vma_chunk_at(c)->n + vma_chunk_at(c + 1)->n > VMA_CHUNK / 2)
		return;
	a = vma_chunk_at(c);
	b = vma_chunk_at(c + 1);
	memcpy(&a->entry[a->n], b->entry, b->n * sizeof(struct vma));
	a->n += b->n;
	chunk_delete(c + 1);
	forget_gaps(c);
}

static void delete_entry(struct vma_pos p)
{
	struct vma_chunk *chunk = vma_chunk_at(p.c);

	memmove(&chunk->entry[p.i], &chunk->entry[p.i + 1], (chunk->n - p.i - 1) * sizeof(struct vma));
	chunk->n--;
	vma_map.count--;
	forget_gaps(p.c);
	if (!chunk->n)
		chunk_delete(p.c);
	else
		chunk_join(p.c);
}

/* Makes room for one more in a full chunk: its upper half becomes a chunk of its own. */
static struct vma_pos split_chunk(struct vma_pos p)
{
	struct vma_chunk *upper = chunk_insert(p.c + 1), *chunk = vma_chunk_at(p.c);
	u32 keep = VMA_CHUNK / 2;

	upper->n = chunk->n - keep;
	memcpy(upper->entry, &chunk->entry[keep], upper->n * sizeof(struct vma));
	chunk->n = keep;
	forget_gaps(p.c + 1);
	return p.i <= keep ? p : (struct vma_pos){p.c + 1, p.i - keep};
}

/* Puts an entry before the one at p. */
static void insert_entry(struct vma_pos p, const struct vma *vma)
{
	struct vma_chunk *chunk;

	check(vma_map.count < CAPACITY);
	if (vma_at_end(p)) {
		if (!vma_map.chunks)
			chunk_insert(0);
		p = (struct vma_pos){vma_map.chunks - 1, vma_chunk_at(vma_map.chunks - 1)->n};
	}
	if (vma_chunk_at(p.c)->n == VMA_CHUNK)
		p = split_chunk(p);
	chunk = vma_chunk_at(p.c);
	memmove(&chunk->entry[p.i + 1], &chunk->entry[p.i], (chunk->n - p.i) * sizeof(struct vma));
	chunk->entry[p.i] = *vma;
	chunk->n++;
	vma_map.count++;
	forget_gaps(p.c);
}

/* Cuts the entry around addr in two, so that addr is a boundary. */
static void split_at(gva addr)
{
	struct vma_pos p = vma_above(addr);
	struct vma lower;

	if (vma_at_end(p) || vma_entry_at(p)->start >= addr)
		return;
	lower = *vma_entry_at(p);
	vma_entry_at(p)->offset += addr - lower.start;
	vma_entry_at(p)->start = addr;
	lower.end = addr;
	insert_entry(p, &lower);
}

static void cut_out(gva start, gva end)
{
	struct vma_pos p;

	split_at(start);
	split_at(end);
	while (!vma_at_end(p = vma_above(start)) && vma_entry_at(p)->start < end)
		delete_entry(p);
}

static bool mergeable(const struct vma *a, const struct vma *b)
{
	if (a->end != b->start || a->prot != b->prot || a->flags != b->flags || a->kind != b->kind)
		return false;
	if (a->kind == VMA_SHM || a->kind == VMA_EVENT || (a->flags & VMA_GROWSDOWN) || a->memory != b->memory)
		return false;
	if (!(a->flags & VMA_FILE) && !a->memory)
		return true;
	return a->id == b->id && a->offset + (a->end - a->start) == b->offset;
}

/* Joins what can be joined where an entry ends at or after `from` and the next begins at or before `to`. */
static void merge(gva from, gva to)
{
	struct vma_pos p = vma_above(from ? from - 1 : 0);

	while (!vma_at_end(p) && !vma_at_end(vma_next(p)) && vma_entry_at(vma_next(p))->start <= to) {
		struct vma_pos after = vma_next(p);
		gva end = vma_entry_at(after)->end;

		if (!mergeable(vma_entry_at(p), vma_entry_at(after))) {
			p = after;
			continue;
		}
		vma_entry_at(p)->end = end;
		delete_entry(after);
		p = vma_above(end - 1); /* chunks may have moved */
	}
}

void vma_insert_locked(const struct vma *vma)
{
	check_slow(!((vma->start | vma->end) & (PAGE_SIZE - 1)) && vma->start < vma->end);
	write_begin();
	cut_out(vma->start, vma->end);
	insert_entry(vma_above(vma->start), vma);
	merge(vma->start, vma->end);
	write_end();
	perf_pages_changed(vma->start, vma->end);
}

void vma_remove_locked(gva start, gva end)
{
	const struct vma *after;

	write_begin();
	cut_out(start, end);
	write_end();
	perf_pages_changed(start, end);
	/* What has become free may be larger than the hint says, up to the next mapping. */
	after = vma_next_locked(end - 1);
	vma_map.hint.end = MAX(vma_map.hint.end, MIN(vma_map.top, after ? after->start : vma_map.top));
}

/* What has that protection already stays in one piece: an event's mapping has to (perf_denied_locked()). */
static void split_other(gva at, u32 prot)
{
	const struct vma *v = vma_next_locked(at);

	if (v && v->prot != prot)
		split_at(at);
}

void vma_protect_locked(gva start, gva end, u32 prot)
{
	write_begin();
	split_other(start, prot);
	split_other(end, prot);
	for (struct vma_pos p = vma_above(start); !vma_at_end(p) && vma_entry_at(p)->start < end; p = vma_next(p))
		if (vma_entry_at(p)->kind != VMA_HOST)
			vma_entry_at(p)->prot = prot;
	merge(start, end);
	write_end();
	perf_pages_changed(start, end);
}

void vma_seal_locked(gva start, gva end)
{
	write_begin();
	split_at(start);
	split_at(end);
	for (struct vma_pos p = vma_above(start); !vma_at_end(p) && vma_entry_at(p)->start < end; p = vma_next(p))
		vma_entry_at(p)->flags |= VMA_SEALED;
	merge(start, end);
	write_end();
}

int vma_host_prot(int prot)
{
	if ((prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_EXEC)
		prot |= PROT_READ;
	return prot & ~PROT_EXEC;
}
