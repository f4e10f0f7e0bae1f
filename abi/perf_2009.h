/*
 * The interface of 2009 as data: what include/pcl/perf_2009.h says to programs, under names of its own, since that
 * header and linux/perf_event.h give the same names to different things.
 */
#ifndef ABI_PERF_2009_H
#define ABI_PERF_2009_H

#include "abi/types.h"

/* struct perf_event_hw_event. */
struct perf_hw_event_2009 {
	u64 config;	 /* HW_EVENT_RAW and 63 bits, or a type of 7 bits and an id of 56 */
	u64 irq_period;	 /* 0: it does not sample */
	u32 record_type; /* RECORD_2009_*, which are the bits of PERF_SAMPLE_* */
	u32 read_format; /* PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING */
	u64 flags;	 /* HW_EVENT_* */
	u32 extra_config_len;
	u32 wakeup_events;
	u64 reserved_2, reserved_3;
};

#define HW_EVENT_RAW	    (1ul << 63)
#define HW_EVENT_TYPE_SHIFT 56
#define HW_EVENT_TYPE	    0x7ful
#define HW_EVENT_ID	    0x00fffffffffffffful

/* A first word that is struct perf_event_attr's of today: type, and size, which is 64 to a page. */
#define HW_EVENT_IS_TODAYS(word) ((word) >> 32 >= 64 && (word) >> 32 <= 4096)

/* The ids of 2009 that are there: those up to these. */
#define HW_EVENT_HARDWARE_LAST 6 /* PERF_COUNT_HW_BUS_CYCLES */
#define HW_EVENT_SOFTWARE_LAST 8 /* PERF_COUNT_SW_EMULATION_FAULTS */

enum hw_event_flags {
	HW_EVENT_DISABLED = 1u << 0,
	HW_EVENT_INHERIT = 1u << 1,
	HW_EVENT_PINNED = 1u << 2,
	HW_EVENT_EXCLUSIVE = 1u << 3,
	HW_EVENT_EXCLUDE_USER = 1u << 4,
	HW_EVENT_EXCLUDE_KERNEL = 1u << 5,
	HW_EVENT_EXCLUDE_HV = 1u << 6,
	HW_EVENT_EXCLUDE_IDLE = 1u << 7,
	HW_EVENT_MMAP = 1u << 8,
	HW_EVENT_MUNMAP = 1u << 9,
	HW_EVENT_COMM = 1u << 10,
	HW_EVENT_FLAGS = (1u << 11) - 1,
};

#define RECORD_2009_KNOWN 0x3fu /* IP, TID, TIME, ADDR, GROUP, CALLCHAIN */
#define FORMAT_2009_KNOWN 0x3u

/* struct perf_event_header: type and misc of a record. */
#define RECORD_2009_MUNMAP	  2
#define RECORD_2009_MISC	  3u /* KERNEL and USER, which are today's */
#define RECORD_2009_MISC_OVERFLOW 4u /* a sample: the type is its record_type */

/* struct perf_event_mmap_page. */
struct perf_mmap_page_2009 {
	u32 version, compat_version;
	u32 lock, index;
	s64 offset;
	u32 data_head; /* bytes ever written, modulo 2^32 */
};

_Static_assert(sizeof(struct perf_hw_event_2009) == 56, "as its fields lie side by side");
_Static_assert(offsetof(struct perf_mmap_page_2009, data_head) == 24, "likewise");

#endif
