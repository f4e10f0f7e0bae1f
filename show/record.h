/* One record of a perf ring buffer as text. */
#ifndef SHOW_RECORD_H
#define SHOW_RECORD_H

#include "abi/perf.h"

/*
 * Appends one line without a newline, in the order of the bytes: the type, misc if it is not 0, what it holds, and
 * behind " |" the sample_id trailer. E.g.
 *
 *   SAMPLE USER EXACT_IP ip=0x401136 pid=7 tid=8 time=1000
 *   COMM EXEC pid=7 tid=8 comm="ls" | pid=7 tid=8 time=990
 *
 * record: a whole record, which is trusted for header.size only: fields that it has no room for are shown as "(cut)",
 * bytes that are left over as "(+8 bytes)". attr: of the event that it belongs to. Returns the new end, as rt_append.
 */
size_t show_record(char *buf, size_t size, size_t at, const struct perf_event_header *record,
		   const struct perf_attr *attr);

#endif
