/* See touched.h. */
#include "perf/touched.h"

#define ROUNDS_MAX (1ul << 44) /* nobody has that much memory */

static u64 page_of(gva addr)
{
	return addr / PAGE_SIZE;
}

/* The first round whose bytes reach the page. */
static u64 first_round(const struct isa_access *a, u64 page)
{
	gva first = page * PAGE_SIZE, last = first + PAGE_SIZE - 1;
	u64 width = (u64)(a->step < 0 ? -a->step : a->step);

	if (a->step < 0)
		return a->addr <= last ? 0 : (a->addr - last + width - 1) / width;
	return first < a->addr + a->size ? 0 : (first - a->addr - a->size) / width + 1;
}

/* Page n of an access: strings go on from one page to its neighbour. */
static bool nth(const struct isa_access *a, u64 rounds, u64 n, struct touch *out)
{
	u64 count = MIN(MIN(a->count, rounds), ROUNDS_MAX), way, page;
	gva low = a->addr, high;

	if (!count)
		return false;
	way = (count - 1) * (u64)(a->step < 0 ? -a->step : a->step);
	low -= a->step < 0 ? way : 0;
	high = low + way + a->size - 1;
	if (n > page_of(high) - page_of(low))
		return false;
	page = a->step < 0 ? page_of(high) - n : page_of(low) + n;
	out->round = first_round(a, page);
	out->addr = MAX(a->addr + (u64)a->step * out->round, page * PAGE_SIZE);
	out->write = a->write;
	return true;
}

bool touches_next(struct touches *w, struct touch *out)
{
	struct touch t;
	int from = -1;

	for (int i = 0; i < w->accesses; i++) {
		if (!nth(&w->access[i], w->rounds, w->next[i], &t) || (from >= 0 && t.round >= out->round))
			continue;
		*out = t;
		from = i;
	}
	if (from >= 0)
		w->next[from]++;
	return from >= 0;
}
