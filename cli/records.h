/* Records of perf_event_open(2) as the command asks for them, and the reader of a ring buffer. */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "abi/perf.h"

struct record_comm {
	struct perf_event_header header;
	u32 pid, tid;
	char comm[];
};

struct record_fork {
	struct perf_event_header header;
	u32 pid, ppid, tid, ptid;
};

struct record_lost {
	struct perf_event_header header;
	u64 id, lost;
};

struct record_mmap2 {
	struct perf_event_header header;
	u32 pid, tid;
	u64 start, len, offset;
	u32 maj, min;
	u64 ino, generation;
	u32 prot, flags;
	char path[];
};

struct record_read {
	struct perf_event_header header;
	u32 pid, tid;
	u64 value, enabled, running, id;
};

struct record_sample {
	struct perf_event_header header;
	u64 id, ip;
	u32 pid, tid;
	u64 nr, chain[]; /* with `chains` */
};

/*
 * Each record that is in the ring: take(arg, record), then its room is free. size: of the data, behind the first page.
 * A record is good until take() returns.
 */
void records_drain(struct perf_event_mmap_page *page, u64 size, void (*take)(void *arg, void *record), void *arg);

#endif
