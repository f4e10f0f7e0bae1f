/*
 * What is otherwise in the rings of events that were opened through the interface of 2009 (doc/abi-2009.md): layouts,
 * and which records there are. Such events are made by perf/abi_2009.c and marked in event.of_2009; others never come
 * here.
 *
 * Their rings have the records that the text of 2009 knows, and no others: of what Linux has told since (LOST, EXIT,
 * THROTTLE and so on) their readers know nothing. They give no tail, so these rings are always overwritten.
 */
#ifndef EVENT_RECORDS_2009_H
#define EVENT_RECORDS_2009_H

#include "event/ring.h"
#include "event/sample.h"

/* Of a sample: its type is what hw_event.record_type was, which is attr.sample_type. size: of the whole record. */
struct perf_event_header records_2009_header(const struct event *e, const struct snapshot *snap, u32 size);

/* PERF_RECORD_GROUP: all counters of the group, leader first; its length in words. */
void records_2009_write_group(struct ring_out *o, struct event *sampled);
u32 records_2009_group_len(const struct event *sampled);

/* PERF_RECORD_CALLCHAIN: its first word, with the numbers of addresses. All of them are the user's. */
READS u64 records_2009_chain(u64 nr)
{
	return nr | nr << 48;
}

/* SB_* that the event wants to hear of. */
u32 records_2009_sideband(const struct event *e);

/* data_head of the first page: it lies where today's page has time_enabled. */
void records_2009_show(const struct ring *r);

#endif
