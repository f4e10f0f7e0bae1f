/* See map.h. The order of the checks is that of Linux 6.18; tests/abi/mmap.c sees it on the host's kernel. */
#include "event/map.h"

#include <asm-generic/errno.h>
#include "event/event.h"
#include "event/files.h"
#include "event/ring.h"
#include "event/userpage.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

/* The numbers of asm-generic/mman.h, whose names sys/mman.h has too. */
#define PROT_WRITE_ 2
#define PROT_EXEC_ 4
#define MAP_TYPE_ 0xfu
#define MAP_SHARED_ 1u
#define MAP_PRIVATE_ 2u
#define MAP_SHARED_VALIDATE_ 3u
#define MAP_HUGETLB_ 0x40000u
#define MAP_GROWSDOWN_ 0x100u
#define MAP_LEGACY 0x107ff3fu /* LEGACY_MAP_MASK of linux/mman.h: what MAP_SHARED_VALIDATE knows of every file */
#define PAGES_MAX 0x7fffffffu
#define KB_TO_PAGES 2

/* ---- what the kernel checks before it asks perf_mmap() ---- */

static int check_flags(const struct event_map_request *rq)
{
	u32 type = rq->flags & MAP_TYPE_;

	if (rq->offset % PAGE_SIZE)
		return refuse(EINVAL, "the offset is not a multiple of the page size");
	if (rq->flags & MAP_HUGETLB_)
		return refuse(EINVAL, "events are not mapped with huge pages");
	if (!rq->len)
		return refuse(EINVAL, "a mapping of length 0");
	if (ALIGN_UP(rq->len, PAGE_SIZE) < rq->len)
		return refuse(ENOMEM, "the length wraps around");
	if (type != MAP_SHARED_ && type != MAP_PRIVATE_ && type != MAP_SHARED_VALIDATE_)
		return refuse(EINVAL, "neither MAP_SHARED nor MAP_PRIVATE");
	if (type == MAP_SHARED_VALIDATE_ && (rq->flags & ~MAP_LEGACY))
		return refuse(EOPNOTSUPP, "a flag that MAP_SHARED_VALIDATE does not know");
	if (rq->prot & PROT_EXEC_)
		return refuse(EPERM, "event mappings are not executable");
	if (rq->flags & MAP_GROWSDOWN_)
		return refuse(EINVAL, "only anonymous memory grows down");
	return 0;
}

/* ---- whose locked memory ---- */

static u64 user_pages(u32 uid)
{
	u64 sum = 0;

	for (u32 nr = 1; nr < MIN(event_space->rings_high, EVENT_RINGS); nr++)
		if (ring_slot(nr)->slot == SLOT_LIVE && ring_slot(nr)->uid == uid)
			sum += ring_slot(nr)->user_pages;
	return sum;
}

static u64 pinned_pages(u32 mm)
{
	u64 sum = 0;

	for (u32 nr = 1; nr < MIN(event_space->rings_high, EVENT_RINGS); nr++)
		if (ring_slot(nr)->slot == SLOT_LIVE && ring_slot(nr)->mm == mm)
			sum += ring_slot(nr)->locked_pages;
	return sum;
}

static u32 online_cpus(void)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < host_nr_cpus(); cpu++)
		n += host_cpu_online(cpu);
	return n;
}

/*
 * The user has perf_event_mlock_kb for each CPU; what is above that counts against the process's RLIMIT_MEMLOCK.
 * *extra: how many of `pages` that is.
 */
static int charge(u32 mm, u32 uid, u64 pages, u64 *extra)
{
	/* Linux quirk: below 0 is no limit */
	u64 limit = (u64)((s64)event_sysctl()->mlock_kb >> KB_TO_PAGES) * online_cpus();
	u64 used = MIN(user_pages(uid), limit) + pages;

	*extra = used > limit ? used - limit : 0;
	if (!*extra || event_sysctl()->paranoid <= -1)
		return 0;
	if (pinned_pages(mm) + *extra <= host_memlock_pages() || host_may_lock())
		return 0;
	return refuse(EPERM, "above perf_event_mlock_kb and RLIMIT_MEMLOCK");
}

/* ---- which ring ---- */

static int check_aux(const struct event *e, const struct event_map_request *rq)
{
	const struct ring *r = ring_of(e);
	u64 offset, size;

	if (!r)
		return refuse(EINVAL, "the event has no ring buffer whose AUX area this could be");
	offset = __atomic_load_n(&ring_page(r)->aux_offset, __ATOMIC_RELAXED);
	size = __atomic_load_n(&ring_page(r)->aux_size, __ATOMIC_RELAXED);
	if (offset < PAGE_SIZE + ring_size(r) || offset != rq->offset)
		return refuse(EINVAL, "the offset is not 0 and not the first page's aux_offset");
	if (size != rq->pages * PAGE_SIZE || (rq->pages & (rq->pages - 1)))
		return refuse(EINVAL, "the length is not the first page's aux_size, a power of 2");
	return refuse(EOPNOTSUPP, "there is no AUX PMU");
}

static int make_ring(task_id task, struct event *e, const struct event_map_request *rq, struct ring **out)
{
	u32 mm = event_ctx(task)->mm, uid = host_uid();
	struct ring *r;
	u64 extra;
	int err = charge(mm, uid, rq->pages, &extra);

	if (err)
		return err;
	r = e->of_2009 ? ring_new(rq->pages - 1, true, PAGE_SIZE)
		       : ring_new(rq->pages - 1, !(rq->prot & PROT_WRITE_),
				  e->attr.watermark ? e->attr.wakeup_watermark : 0);
	if (!r)
		return refuse(ENOMEM, "no ring memory of that size is left in the session");
	r->event = event_nr(e);
	r->event_id = e->id;
	r->of_2009 = e->of_2009;
	r->wakeup = r->of_2009 ? -1ul : 0; /* that wakes when a page is full, not by the first byte behind it */
	r->mm = mm;
	r->uid = uid;
	r->locked_pages = (u32)extra;
	r->user_pages = rq->pages - (u32)extra;
	*out = r;
	return 0;
}

/* perf_mmap(): *out is the event's ring, or NULL if one is to be made. */
static int find_ring(const struct event *e, struct event_map_request *rq, struct ring **out)
{
	u64 pages = ALIGN_UP(rq->len, PAGE_SIZE) / PAGE_SIZE;

	if (e->cpu == -1 && e->attr.inherit && !e->of_2009)
		return refuse(EINVAL, "inherited events of all CPUs have no ring buffer: they would all write to one");
	if ((rq->flags & MAP_TYPE_) == MAP_PRIVATE_)
		return refuse(EINVAL, "events are mapped MAP_SHARED only");
	if (pages > PAGES_MAX)
		return refuse(ENOMEM, "more pages than an int can count");
	rq->pages = (u32)pages;
	if (rq->offset)
		return check_aux(e, rq);
	if ((pages - 1) & (pages - 2) && pages > 1)
		return refuse(EINVAL, "the size is not 1 + 2^n pages");
	*out = ring_of(e);
	if (!*out)
		return 0;
	if ((*out)->pages != pages - 1)
		return refuse(EINVAL, "the event's ring buffer has another size");
	if (!ring_is_own(*out, e))
		return refuse(EBUSY, "the event's records go to another event's ring buffer");
	return 0;
}

/* ---- the mappings ---- */

static struct event_map *map_slot(u32 nr)
{
	return &event_space->map[EVENT_WITHIN(nr, map)];
}

#define for_each_map(m)                                                                                                \
	for (struct event_map *m = &event_space->map[1];                                                               \
	     m < &event_space->map[MIN(event_space->maps_high, EVENT_MAPS)]; m++)                                      \
		if (m->ring)

/* Under the lock: those of one address space. The present one may go. */
#define for_each_map_of(m, mm_)                                                                                        \
	for (u32 nr_m_ = bucket_of(mm_)->maps, next_m_, left_ = EVENT_MAPS;                                            \
	     nr_m_ && left_-- && (m = map_slot(nr_m_), next_m_ = m->next, true);                                       \
	     nr_m_ = next_m_)                                                                                          \
		if (m->mm == (mm_))

static struct event_mm_bucket *bucket_of(u32 mm)
{
	return &event_space->mm[mm % EVENT_MM_BUCKETS];
}

static u32 nr_of(const struct event_map *m)
{
	return (u32)(m - event_space->map);
}

static void link_map(struct event_map *m)
{
	u32 *first = &bucket_of(m->mm)->maps;

	m->prev = 0;
	m->next = *first;
	if (*first)
		map_slot(*first)->prev = nr_of(m);
	*first = nr_of(m);
	event_space->maps++;
}

static void unlink_map(struct event_map *m)
{
	if (m->prev)
		map_slot(m->prev)->next = m->next;
	else
		bucket_of(m->mm)->maps = m->next;
	if (m->next)
		map_slot(m->next)->prev = m->prev;
	event_space->maps--;
}

static void make_free(struct event_map *m)
{
	m->next = event_space->maps_free;
	event_space->maps_free = nr_of(m);
}

static u32 find_slot(void)
{
	u32 nr = EVENT_WITHIN(event_space->maps_free, map);

	return nr ? nr : event_space->maps_high < EVENT_MAPS ? event_space->maps_high : 0;
}

static void enter(u32 nr, task_id task, struct event *e, struct ring *r, u32 pages)
{
	struct event_map *m = map_slot(nr);

	if (nr == event_space->maps_high)
		event_space->maps_high++;
	else
		event_space->maps_free = m->next;
	*m = (struct event_map){
		.ring_check = r->id,
		.mm = event_ctx(task)->mm,
		.event = event_nr(e),
		.event_id = e->id,
		.pages = pages,
	};
	link_map(m);
	__atomic_store_n(&m->ring, (u32)(r - event_space->ring), __ATOMIC_RELEASE);
	r->maps++;
	e->refs++;
}

static void drop(struct event_map *m)
{
	struct ring *r = ring_slot(m->ring);
	struct event *e = event_slot(m->event);

	unlink_map(m);
	__atomic_store_n(&m->ring, 0, __ATOMIC_RELEASE);
	make_free(m);
	if (!--r->maps) {
		ring_detach_all(r);
		ring_put(r);
	}
	if (!--e->refs)
		event_release(e);
	if (event_space->maps)
		return;
	event_space->maps_high = 1;
	event_space->maps_free = 0;
}

static int begin_locked(task_id task, u64 fd, struct event_map_request *rq)
{
	struct event *e = event_files_get_locked(task, fd);
	struct ring *r = NULL;
	bool is_new;
	int err;

	check_slow(event_is_locked());
	if (!e)
		return refuse(EBADF, "the event was closed meanwhile");
	err = find_ring(e, rq, &r);
	if (err)
		return err;
	rq->map = find_slot();
	if (!rq->map)
		return refuse(ENOMEM, "more mappings of events than the session has room for");
	is_new = !r;
	if (is_new)
		err = make_ring(task, e, rq, &r);
	if (err)
		return err;
	rq->page = r->page;
	if (rq->page >= host_rings.pages || rq->pages > host_rings.pages - rq->page)
		return refuse(ENOMEM, "somebody has written into the session's tables");
	enter(rq->map, task, e, r, rq->pages);
	ring_attach(e, r);
	if (is_new)
		userpage_update(e);
	return 0;
}

int event_map_begin(task_id task, u64 fd, struct event_map_request *rq)
{
	int err = check_flags(rq);

	if (err)
		return err;
	event_lock();
	err = begin_locked(task, fd, rq);
	event_unlock();
	return err;
}

void event_map_commit(const struct event_map_request *rq)
{
	event_lock();
	__atomic_store_n(&map_slot(rq->map)->addr, rq->addr, __ATOMIC_RELEASE);
	event_unlock();
}

void event_map_undo(const struct event_map_request *rq)
{
	event_lock();
	drop(map_slot(rq->map));
	event_unlock();
}

static gva end_of(const struct event_map *m)
{
	return m->addr + m->pages * PAGE_SIZE;
}

static bool is_in(const struct event_map *m, u32 mm, gva start, gva end)
{
	return m->mm == mm && m->addr && !m->leaving && m->addr < end && end_of(m) > start;
}

bool event_map_any(task_id task, gva start, gva end)
{
	u32 mm = event_ctx(task)->mm;

	if (likely(!__atomic_load_n(&event_space->opened, __ATOMIC_RELAXED)))
		return false;
	for_each_map(m)
		if (is_in(m, mm, start, end))
			return true;
	return false;
}

bool event_map_rdpmc(task_id task)
{
	u32 mm = event_ctx(task)->mm;

	for_each_map(m)
		if (m->mm == mm && event_slot(m->event)->source.rdpmc)
			return true;
	return false;
}

struct event *event_map_find_locked(task_id task, u32 nr)
{
	struct event_map *m;

	for_each_map_of(m, event_ctx(task)->mm)
		if (m->event == nr && m->event_id == event_slot(nr)->id)
			return event_slot(nr);
	return NULL;
}

void event_map_remove_begin(task_id task, gva start, gva end)
{
	u32 mm = event_ctx(task)->mm;
	struct event_map *m;

	event_lock();
	event_ctx(task)->unmapping = 1;
	for_each_map_of(m, mm)
		if (is_in(m, mm, start, end))
			__atomic_store_n(&m->leaving, task, __ATOMIC_RELAXED);
	event_unlock();
}

void event_map_remove_end(task_id task, gva start, gva end, bool done)
{
	struct event_map *m;

	event_lock();
	for_each_map_of(m, event_ctx(task)->mm) {
		if (m->leaving != task || m->addr >= end || end_of(m) <= start)
			continue;
		__atomic_store_n(&m->leaving, 0, __ATOMIC_RELAXED);
		if (done)
			drop(m);
	}
	event_ctx(task)->unmapping = 0;
	event_unlock();
}

void event_map_moved(task_id task, gva from, gva to)
{
	struct event_map *m;

	event_lock();
	for_each_map_of(m, event_ctx(task)->mm)
		if (m->addr == from)
			__atomic_store_n(&m->addr, to, __ATOMIC_RELEASE);
	event_unlock();
}

/* ---- address spaces ---- */

static void link_task(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);
	u32 *first = &bucket_of(ctx->mm)->tasks;

	ctx->prev_mm = 0;
	ctx->next_mm = *first;
	if (*first)
		event_ctx(*first)->prev_mm = task;
	*first = task;
}

static void unlink_task(task_id task)
{
	struct event_ctx *ctx = event_ctx(task);

	if (ctx->prev_mm)
		event_ctx(ctx->prev_mm)->next_mm = ctx->next_mm;
	else
		bucket_of(ctx->mm)->tasks = ctx->next_mm;
	if (ctx->next_mm)
		event_ctx(ctx->next_mm)->prev_mm = ctx->prev_mm;
	ctx->next_mm = ctx->prev_mm = 0;
}

static bool is_alive(u32 mm)
{
	for (u32 task = bucket_of(mm)->tasks, left = EVENT_TASKS; task && left--; task = event_ctx(task)->next_mm)
		if (event_ctx(task)->mm == mm)
			return true;
	return false;
}

void event_mm_join_locked(task_id task, u32 mm)
{
	check_slow(event_is_locked());
	event_ctx(task)->mm = mm ? mm : event_space->next_mm++;
	link_task(task);
}

static void stop_unmapping(task_id task)
{
	struct event_map *m;

	for_each_map_of(m, event_ctx(task)->mm)
		if (m->leaving == task)
			__atomic_store_n(&m->leaving, 0, __ATOMIC_RELAXED);
	event_ctx(task)->unmapping = 0;
}

void event_mm_leave_locked(task_id task)
{
	u32 mm = event_ctx(task)->mm;
	struct event_map *m;

	check_slow(event_is_locked());
	if (event_ctx(task)->unmapping)
		stop_unmapping(task);
	unlink_task(task);
	if (!event_space->maps || is_alive(mm))
		return;
	for_each_map_of(m, mm)
		drop(m);
}
