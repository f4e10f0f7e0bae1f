/* See ring.h. */
#include "event/ring.h"

#include <asm/siginfo.h>
#include <asm-generic/errno.h>
#include "event/after.h"
#include "event/async.h"
#include "event/attr.h"
#include "event/ready.h"
#include "event/records_2009.h"
#include "event/ring_memory.h"
#include "event/sample.h"
#include "event/userpage.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"

#define POLL_READABLE 0x41u /* EPOLLIN | EPOLLRDNORM */
#define FILLER_MAX 0xfff8u  /* perf_event_header.size has 16 bits */
#define WORDS_MAX  64	    /* bytes that are stored as words: less than a call */

/* ---- buffers ---- */

struct ring *ring_new(u32 pages, bool overwrite, u64 watermark)
{
	struct ring *r = ring_memory_find(pages);

	check(!(pages & (pages - 1)));
	check_slow(event_is_locked());
	if (!r)
		return NULL;
	ring_hold(r);
	*r = (struct ring){
		.lock = r->lock,
		.id = event_space->next_ring_id++,
		.page = r->page,
		.next_free = r->next_free,
		.pages = pages,
		.overwrite = overwrite,
		.paused = !pages,
		.watermark = MIN(watermark, pages * PAGE_SIZE),
	};
	if (!r->watermark)
		r->watermark = ring_size(r) / 2;
	ring_memory_taken(r);
	__atomic_store_n(&r->slot, SLOT_NEW, __ATOMIC_RELEASE);
	userpage_init(r);
	__atomic_store_n(&r->slot, SLOT_LIVE, __ATOMIC_RELEASE);
	return r;
}

void ring_put(struct ring *r)
{
	check_slow(event_is_locked());
	ring_hold(r);
	if (r->maps || r->feeders.first)
		return;
	section_after(AFTER_FREE, r->page, 1 + r->pages);
	__atomic_store_n(&r->slot, SLOT_FREE, __ATOMIC_RELEASE);
	ring_memory_give(r);
}

/* ---- who writes where ---- */

static bool is_awaited(const struct event *e)
{
	return __atomic_load_n(&e->waiters, __ATOMIC_RELAXED) || __atomic_load_n(&e->async_pid, __ATOMIC_RELAXED);
}

void ring_attach(struct event *root, struct ring *r)
{
	struct ring *old = ring_of(root);

	check_slow(event_is_locked());
	if (old == r)
		return;
	if (old) {
		ring_hold(old);
		elist_del(&old->feeders, event_nr(root), LINK_RING);
		__atomic_store_n(&root->ring, 0, __ATOMIC_RELEASE);
	}
	if (r) {
		ring_hold(r);
		root->ring_check = r->id;
		__atomic_store_n(&root->ring, (u32)(r - event_space->ring), __ATOMIC_RELEASE);
		elist_add(&r->feeders, event_nr(root), LINK_RING);
	}
	if (!old) {
		event_ready_settled(root);
		return;
	}
	ring_put(old);
	if (is_awaited(root))
		event_ready_changed(root, 0);
}

void ring_detach_all(struct ring *r)
{
	struct event *e;

	check_slow(event_is_locked());
	ring_hold(r);
	for_each_feeder(e, r) {
		elist_del(&r->feeders, event_nr(e), LINK_RING);
		__atomic_store_n(&e->ring, 0, __ATOMIC_RELEASE);
		if (is_awaited(e))
			event_ready_changed(e, 0);
	}
}

int ring_check_redirect(const struct event *root, const struct event *to)
{
	if (root == to)
		return refuse(EINVAL, "an event's output cannot go to itself");
	if (root->cpu != to->cpu)
		return refuse(EINVAL, "the output event is on another CPU");
	if (to->cpu == -1 && (root->task != to->task || root->generation != to->generation))
		return refuse(EINVAL, "the output event counts another task");
	if (!root->of_2009 != !to->of_2009)
		return refuse(EINVAL, "the output event has records of 2009, or this one has");
	if (attr_clock(&root->attr) != attr_clock(&to->attr))
		return refuse(EINVAL, "attr.clockid differs from the output event's");
	if (root->attr.write_backward != to->attr.write_backward)
		return refuse(EINVAL, "attr.write_backward differs from the output event's");
	return to->ring ? 0 : refuse(EINVAL, "the output event has no ring buffer");
}

int ring_redirect(struct event *root, struct event *to)
{
	int err = to ? ring_check_redirect(root, to) : 0;

	check_slow(event_is_locked());
	if (err)
		return err;
	if (root->ring && ring_is_own(ring_of(root), root))
		return refuse(EINVAL, "the event's own ring buffer is mapped");
	ring_attach(root, to ? ring_of(to) : NULL);
	return 0;
}

int ring_pause(struct event *root, bool pause)
{
	struct ring *r = ring_of(root);

	check_slow(event_is_locked());
	if (!r || !r->pages)
		return refuse(EINVAL, "the event has no ring buffer");
	ring_hold(r);
	r->paused = pause;
	return 0;
}

/* ---- records ---- */

/*
 * Where its data lie, as they are found once: within the ring memory, whatever others have written. A ring without data
 * has a size of 0.
 */
READS bool find_data(const struct ring *r, u32 *page, u64 *size)
{
	u64 pages = __atomic_load_n(&r->pages, __ATOMIC_RELAXED);

	*page = __atomic_load_n(&r->page, __ATOMIC_RELAXED);
	*size = pages * PAGE_SIZE;
	return *page + pages < host_rings.pages && !(pages & (pages - 1));
}

/* As Linux's CIRC_SPACE: one byte is always free, so that head == tail means empty. */
READS bool has_room(const struct ring *r, const struct perf_event_mmap_page *user, u64 size, u64 total, bool backward)
{
	u64 tail = __atomic_load_n(&user->data_tail, __ATOMIC_ACQUIRE); /* A */
	u64 used = backward ? tail - r->head : r->head - tail;

	if (total > size)
		return false;
	return r->overwrite || ((~used & (size - 1)) >= total);
}

/*
 * The ring of a root's records, with its lock. It may go where they went to when that was asked for, but not any more.
 */
READS struct ring *hold_ring_of(const struct event *root)
{
	for (;;) {
		u32 nr = __atomic_load_n(&root->ring, __ATOMIC_RELAXED);

		if (unlikely(!nr))
			return NULL;
		ring_hold(ring_slot(nr));
		if (likely(nr == __atomic_load_n(&root->ring, __ATOMIC_RELAXED)))
			return ring_slot(nr);
	}
}

static bool lose(struct ring *r, struct event *root)
{
	r->lost++;
	root->lost++;
	return false;
}

/* Of the session's memory it changes r->writing only, which is never put back. */
UNNOTED bool ring_begin(struct ring_out *o, struct event *e, u32 size)
{
	struct event *root = event_root(e);
	struct ring *r = hold_ring_of(root);
	bool backward = root->attr.write_backward, has_lost;
	u64 total = size, data;
	char *user;
	u32 page;

	if (!r || !find_data(r, &page, &data))
		return false;
	user = host_ring_page(page);
	if (unlikely(r->paused))
		return r->pages ? lose(r, root) : false;
	has_lost = r->lost && !root->of_2009;
	if (unlikely(has_lost))
		total += sample_lost_size(root);
	if (unlikely(!has_room(r, (struct perf_event_mmap_page *)user, data, total, backward)))
		return lose(r, root);
	*o = (struct ring_out){
		.ring = r,
		.event = e,
		.data = user + PAGE_SIZE,
		.mask = data - 1,
		.at = ALIGN_DOWN(backward ? r->head - total : r->head, 8ul),
		.head = backward ? r->head - total : r->head + total,
		.has_lost = has_lost,
	};
	section_after(AFTER_RING, (u32)(r - event_space->ring), 0);
	if (r->overwrite)
		section_store(&r->writing, o->head);
	if (unlikely(o->has_lost))
		sample_lost_write(o, root, r->lost);
	return true;
}

/* A record means nothing until it is published: its bytes are not noted. */
static __attribute__((noinline)) void write_around(const struct ring_out *o, const void *p, u64 n)
{
	u64 at = o->at & o->mask, first;

	n = MIN(n, o->mask + 1); /* it is more only if somebody else has changed the event meanwhile */
	first = MIN(n, o->mask + 1 - at);
	(memcpy)(o->data + at, p, first);
	(memcpy)(o->data, (const char *)p + first, n - first);
}

struct word {
	u64 value;
} __attribute__((packed)); /* at any address */

UNNOTED void ring_write(struct ring_out *o, const void *p, u32 n)
{
	u64 at = o->at & o->mask;
	char *to = o->data + at;

	if (likely(n <= WORDS_MAX && !(n & 7) && at + n <= o->mask))
		for (u32 i = 0; i < n; i += 8)
			section_store((u64 *)(to + i), ((const struct word *)((const char *)p + i))->value);
	else
		write_around(o, p, n);
	o->at += n;
}

/* True if the record passed the watermark, or is the last of wakeup_events samples. */
static bool is_wakeup(struct ring *r, const struct event *root, bool sample)
{
	u64 written = root->attr.write_backward ? -r->head : r->head;
	bool wake = false;

	if (written - r->wakeup > r->watermark) {
		r->wakeup += r->watermark;
		wake = true;
	}
	/* Linux quirk: the numbers are compared with their signs, so 1 << 31 and above wake each time */
	if (!sample || root->attr.watermark || !root->attr.wakeup_events ||
	    (s32)++r->events < (s32)root->attr.wakeup_events)
		return wake;
	r->events -= root->attr.wakeup_events;
	r->wakeup += !r->of_2009; /* Linux quirk: that is how it remembers; the next watermark is a byte later */
	return true;
}

static void wake_feeders(struct ring *r, struct event *killer, u32 pending_kill)
{
	struct event *e;

	for_each_feeder(e, r)
		if (is_awaited(e))
			async_wake(e, !killer || killer == e ? pending_kill : 0);
}

bool ring_end(struct ring_out *o, u32 kill)
{
	struct event *root = event_root(o->event);
	struct ring *r = o->ring;

	check_slow(ctx_is_locked());
	r->head = o->head;
	if (unlikely(o->has_lost))
		r->lost = 0;
	if (likely(!is_wakeup(r, root, kill)))
		return false;
	__atomic_store_n(&r->poll, POLL_READABLE, __ATOMIC_RELEASE);
	wake_feeders(r, root, kill ? kill : POLL_IN);
	return true;
}

void ring_wake(struct ring *r, u32 pending_kill)
{
	wake_feeders(r, NULL, pending_kill);
}

/* In the place of a record whose writer died: the oldest records there are destroyed. */
static void fill_unfinished(struct ring *r)
{
	const struct event *root = event_slot(r->event);
	bool backward = root->attr.write_backward;
	u64 total = backward ? r->head - r->writing : r->writing - r->head;
	struct ring_out o = {0};
	u64 size;
	u32 page;

	if (!find_data(r, &page, &size) || !size)
		return;
	o.data = host_ring_page(page + 1);
	o.mask = size - 1;
	total = MIN(MAX(total, (u64)sample_filler_size(root)), (u64)FILLER_MAX);
	o.at = ALIGN_DOWN(backward ? r->head - total : r->head, 8ul);
	o.head = backward ? o.at : o.at + total;
	sample_filler_write(&o, root, (u32)total);
	r->head = o.head;
}

UNNOTED void ring_show(struct ring *r, bool committed)
{
	if (unlikely(!committed) && r->slot == SLOT_LIVE && r->overwrite && r->writing != r->head)
		fill_unfinished(r);
	if (r->overwrite)
		r->writing = r->head;
	__atomic_store_n(&ring_page(r)->data_head, r->head, __ATOMIC_RELEASE); /* B */
	if (unlikely(r->of_2009))
		records_2009_show(r);
}
