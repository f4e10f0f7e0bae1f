/* See list.h. */
#include "event/list.h"

#include "event/space.h"
#include "rt/log.h"

static struct elink *link_of(u32 nr, size_t link)
{
	return (struct elink *)((char *)event_slot(nr) + link);
}

static void insert_after(struct elist *list, u32 prev, u32 nr, size_t link)
{
	u32 next = prev ? link_of(prev, link)->next : list->first;

	*link_of(nr, link) = (struct elink){.next = next, .prev = prev};
	if (next)
		link_of(next, link)->prev = nr;
	else
		list->last = nr;
	if (prev)
		link_of(prev, link)->next = nr;
	else
		list->first = nr;
}

void elist_add(struct elist *list, u32 nr, size_t link)
{
	check_slow(ctx_is_locked());
	insert_after(list, list->last, nr, link);
}

void elist_del(struct elist *list, u32 nr, size_t link)
{
	struct elink *l = link_of(nr, link);

	check_slow(ctx_is_locked());
	if (l->prev)
		link_of(l->prev, link)->next = l->next;
	else
		list->first = l->next;
	if (l->next)
		link_of(l->next, link)->prev = l->prev;
	else
		list->last = l->prev;
	*l = (struct elink){0, 0};
}
