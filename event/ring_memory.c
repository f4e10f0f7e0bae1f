/* See ring_memory.h. */
#include "event/ring_memory.h"

#include "rt/log.h"
#include "rt/string.h"

static u32 nr_of(const struct ring *r)
{
	return (u32)(r - event_space->ring);
}

static u32 *list_of(u32 pages)
{
	return &event_space->rings_free[pages ? MIN(1 + (u32)__builtin_ctz(pages), 31u) : 0];
}

static void push(u32 *list, struct ring *r)
{
	r->next_free = *list;
	*list = nr_of(r);
}

/* The first ring that uses some of [page, page + n). */
static struct ring *ring_at(u32 page, u32 n)
{
	for (u32 nr = 1; nr < MIN(event_space->rings_high, EVENT_RINGS); nr++) {
		struct ring *r = ring_slot(nr);

		if (r->slot != SLOT_FREE && r->page < page + n && page < r->page + 1 + r->pages)
			return r;
	}
	return NULL;
}

/* Room for n pages in the ring memory, first fit. False: there is none. */
static bool find_pages(u32 n, u32 *page)
{
	struct ring *r;

	if (n > host_rings.pages)
		return false;
	for (*page = 0; *page <= host_rings.pages - n; *page = r->page + 1 + r->pages) {
		r = ring_at(*page, n);
		if (!r)
			return true;
		if (r->page + 1 + r->pages <= *page)
			return false; /* somebody has written nonsense there */
	}
	return false;
}

/* Free slots lose their pages. */
static void rebuild(void)
{
	struct event_space *s = event_space;

	memset(s->rings_free, 0, sizeof(s->rings_free));
	s->rings_bare = s->rings = s->ring_pages_high = 0;
	for (u32 nr = MIN(s->rings_high, EVENT_RINGS) - 1; nr && nr < EVENT_RINGS; nr--) {
		struct ring *r = ring_slot(nr);

		if (r->slot == SLOT_FREE) {
			push(&s->rings_bare, r);
			continue;
		}
		s->rings++;
		s->ring_pages_high = MAX(s->ring_pages_high, r->page + 1 + r->pages);
	}
}

static struct ring *new_slot(void)
{
	struct event_space *s = event_space;

	if (s->rings_bare)
		return ring_slot(s->rings_bare);
	if (s->rings_high >= s->limits.rings)
		return NULL;
	ring_slot(s->rings_high)->slot = SLOT_FREE;
	push(&s->rings_bare, ring_slot(s->rings_high++));
	return ring_slot(s->rings_bare);
}

struct ring *ring_memory_find(u32 pages)
{
	struct event_space *s = event_space;
	struct ring *r = *list_of(pages) ? ring_slot(*list_of(pages)) : NULL;
	u32 page;

	check_slow(event_is_locked());
	if (r)
		return r;
	r = new_slot();
	page = s->ring_pages_high;
	if (!r || pages >= host_rings.pages || page > host_rings.pages - pages - 1) {
		rebuild();
		r = new_slot();
		if (!r || !find_pages(pages + 1, &page))
			return NULL;
	}
	r->page = page;
	return r;
}

void ring_memory_taken(struct ring *r)
{
	struct event_space *s = event_space;
	u32 *list = s->rings_bare == nr_of(r) ? &s->rings_bare : list_of(r->pages);

	*list = r->next_free;
	s->rings++;
	s->ring_pages_high = MAX(s->ring_pages_high, r->page + 1 + r->pages);
}

void ring_memory_give(struct ring *r)
{
	struct event_space *s = event_space;

	push(list_of(r->pages), r);
	if (--s->rings)
		return;
	s->rings_high = 1;
	rebuild();
}
