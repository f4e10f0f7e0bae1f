/* See order.h. */
#include "event/order.h"

#include "event/event.h"

/* The upper bits of event.order; below them is its root's age, a number that each root and new group gets. */
#define INHERITED	 0ul
#define INHERITED_ON_CPU (1ul << 62)
#define OWN		 (2ul << 62)

/* Of the clocks, which have PMUs of their own on Linux, behind those with fixed numbers. */
#define TYPE_CLOCKS PERF_TYPE_MAX

static u64 new_age(void)
{
	return event_space->next_order++;
}

void order_new(struct event *e)
{
	const struct event *root = event_root(e);

	if (root == e)
		e->order = OWN | new_age();
	else if (!root->task)
		e->order = root->order;
	else
		e->order = (e->cpu < 0 ? INHERITED : INHERITED_ON_CPU) | (root->order & ~OWN);
}

void order_new_group(struct event *e)
{
	if (!event_follows_cpu(e))
		e->order = OWN | new_age();
}

/* Children of per-CPU events have no groups of their own. */
READS const struct event *grouped(const struct event *e)
{
	return event_follows_cpu(e) ? event_root(e) : e;
}

READS u32 type_of(const struct event *leader)
{
	const struct perf_attr *attr = &leader->attr;

	if (attr->type == PERF_TYPE_SOFTWARE && attr->config <= PERF_COUNT_SW_TASK_CLOCK)
		return TYPE_CLOCKS + (u32)attr->config;
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ? PERF_TYPE_RAW : attr->type;
}

/* a is scheduled in before b. */
READS bool is_before(const struct event *a, const struct event *b)
{
	const struct event *first = event_leader(grouped(a)), *second = event_leader(grouped(b));

	if (first->attr.pinned != second->attr.pinned)
		return first->attr.pinned;
	if (!event_root(first)->task != !event_root(second)->task)
		return !event_root(first)->task;
	if (type_of(first) != type_of(second))
		return type_of(first) < type_of(second);
	if (first->order != second->order)
		return first->order < second->order;
	return grouped(b) != first && (grouped(a) == first || a->order < b->order);
}

READS bool is_hit_before(const struct event *a, const struct event *b)
{
	if (a->attr.type == PERF_TYPE_BREAKPOINT)
		return is_before(a, b);
	if (a->attr.type >= PERF_TYPE_MAX)
		return event_root(a)->id > event_root(b)->id;
	return is_before(b, a);
}

UNNOTED void order_begin(struct order_batch *b)
{
	b->n = b->rounds = 0;
	b->last = NULL;
}

UNNOTED void order_add(struct order_batch *b, struct event *e)
{
	u32 at = b->n;

	if (b->last && !is_hit_before(b->last, e))
		return;
	while (at && is_hit_before(e, b->event[at - 1]))
		at--;
	if (at == ARRAY_SIZE(b->event))
		return;
	b->n = MIN(b->n + 1, (u32)ARRAY_SIZE(b->event));
	for (u32 i = b->n - 1; i > at; i--)
		b->event[i] = b->event[i - 1];
	b->event[at] = e;
}

UNNOTED bool order_goes_on(struct order_batch *b)
{
	if (b->n < ARRAY_SIZE(b->event) || ++b->rounds > EVENT_SLOTS) /* whatever others write there */
		return false;
	b->last = b->event[b->n - 1];
	b->n = 0;
	return true;
}
