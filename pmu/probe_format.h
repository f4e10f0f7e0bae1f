/* The files of named probes in the session's tracefs, and the fields of their records. */
#ifndef PMU_PROBE_FORMAT_H
#define PMU_PROBE_FORMAT_H

#include "event/filter.h"
#include "pmu/probe_def.h"

/* Where a record's arguments begin, from its common fields on. */
static inline u32 probe_head(bool is_return)
{
	return is_return ? 24 : 16;
}

/* The first row of an event, or of any event of the group (event NULL); -1: there is none. */
int probe_by_name(const struct probe_part *group, const struct probe_part *event);

/* Contents of files: their length. size - 1: they may have been cut off. */
size_t probe_list(char *buf, size_t size);	      /* uprobe_events */
size_t probe_profile(char *buf, size_t size);	      /* uprobe_profile */
size_t probe_format(u32 row, char *buf, size_t size); /* events/GROUP/EVENT/format */

/* The index-th group, in the order of their definition, and the index-th event of a group: its row or -1. */
int probe_group(u32 index, struct probe_part *out);
int probe_event(const struct probe_part *group, u32 index, struct probe_part *out);

/* For filters: the fields behind the common ones. */
bool probe_field(u32 row, u32 index, struct filter_field *out);

#endif
