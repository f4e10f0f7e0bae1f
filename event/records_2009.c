/* See records_2009.h. */
#include "event/records_2009.h"

#include "abi/perf_2009.h"
#include "event/event.h"
#include "event/sample_parts.h"
#include "event/sideband.h"

UNNOTED struct perf_event_header records_2009_header(const struct event *e, const struct snapshot *snap, u32 size)
{
	u32 misc = snap->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;

	return (struct perf_event_header){(u32)e->attr.sample_type, (u16)(misc | RECORD_2009_MISC_OVERFLOW), (u16)size};
}

/* The word that attr was made from. */
static u64 config_of(const struct perf_attr *attr)
{
	if (attr->type == PERF_TYPE_RAW)
		return HW_EVENT_RAW | attr->config;
	return (u64)attr->type << HW_EVENT_TYPE_SHIFT | (attr->config & HW_EVENT_ID);
}

static void write_member(struct ring_out *o, struct event *e)
{
	struct event_total total;

	sample_read_values(e, false, &total);
	ring_u64(o, config_of(&e->attr));
	ring_u64(o, total.count);
}

void records_2009_write_group(struct ring_out *o, struct event *sampled)
{
	struct event *leader = event_leader(event_slot(sample_stands_for(sampled))), *s;

	ring_u64(o, leader->nr_siblings + 1);
	write_member(o, leader);
	for_each_sibling(s, leader)
		write_member(o, s);
}

u32 records_2009_group_len(const struct event *sampled)
{
	return 1 + 2 * (1 + event_leader(event_slot(sample_stands_for(sampled)))->nr_siblings);
}

u32 records_2009_sideband(const struct event *e)
{
	u32 what = e->of_2009 & EVENT_2009_MUNMAP ? SB_MUNMAP : 0;

	if (e->attr.mmap)
		what |= SB_MMAP;
	if (e->attr.comm)
		what |= SB_COMM | SB_BIRTH;
	return what;
}

void records_2009_show(const struct ring *r)
{
	struct perf_mmap_page_2009 *page = host_ring_page(r->page);

	__atomic_store_n(&page->data_head, (u32)r->head, __ATOMIC_RELEASE);
}
