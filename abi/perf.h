/*
 * perf_event_open(2) as data, beyond what an installed linux/perf_event.h may hold.
 *
 * struct perf_attr is struct perf_event_attr of Linux 6.18 under a name of its own, so that it neither depends on nor
 * collides with the installed header, which is compared with it below. PERF_ATTR_VERn are the sizes of its published
 * versions.
 */
#ifndef ABI_PERF_H
#define ABI_PERF_H

#include <linux/perf_event.h>
#include "abi/types.h"

struct perf_attr {
	u32 type; /* PERF_TYPE_* or the type number of a PMU */
	u32 size; /* of this structure as the caller knows it */
	u64 config;
	union {
		u64 sample_period;
		u64 sample_freq;
	};
	u64 sample_type; /* PERF_SAMPLE_* */
	u64 read_format; /* PERF_FORMAT_* */
	union {
		u64 flags;
		struct {
			u64 disabled : 1, inherit : 1, pinned : 1, exclusive : 1;
			u64 exclude_user : 1, exclude_kernel : 1, exclude_hv : 1, exclude_idle : 1;
			u64 mmap : 1, comm : 1, freq : 1, inherit_stat : 1;
			u64 enable_on_exec : 1, task : 1, watermark : 1, precise_ip : 2;
			u64 mmap_data : 1, sample_id_all : 1, exclude_host : 1, exclude_guest : 1;
			u64 exclude_callchain_kernel : 1, exclude_callchain_user : 1, mmap2 : 1, comm_exec : 1;
			u64 use_clockid : 1, context_switch : 1, write_backward : 1, namespaces : 1;
			u64 ksymbol : 1, bpf_event : 1, aux_output : 1, cgroup : 1;
			u64 text_poke : 1, build_id : 1, inherit_thread : 1, remove_on_exec : 1;
			u64 sigtrap : 1, reserved_1 : 26;
		};
	};
	union {
		u32 wakeup_events;
		u32 wakeup_watermark;
	};
	u32 bp_type;
	union {
		u64 bp_addr;
		u64 config1;
	};
	union {
		u64 bp_len;
		u64 config2;
	};
	u64 branch_sample_type;
	u64 sample_regs_user;
	u32 sample_stack_user;
	s32 clockid;
	u64 sample_regs_intr;
	u32 aux_watermark;
	u16 sample_max_stack;
	u16 reserved_2;
	u32 aux_sample_size;
	union {
		u32 aux_action; /* Linux 6.13: bits 0 to 2 */
		u32 reserved_3;
	};
	u64 sig_data;
	u64 config3;
};

#define PERF_ATTR_VER0 64  /* Linux 2.6.31 */
#define PERF_ATTR_VER1 72  /* 2.6.33: config2 (bp_len) */
#define PERF_ATTR_VER2 80  /* 3.4: branch_sample_type */
#define PERF_ATTR_VER3 96  /* 3.7: sample_regs_user, sample_stack_user, clockid */
#define PERF_ATTR_VER4 104 /* 3.19: sample_regs_intr */
#define PERF_ATTR_VER5 112 /* 4.1: aux_watermark, sample_max_stack */
#define PERF_ATTR_VER6 120 /* 5.5: aux_sample_size */
#define PERF_ATTR_VER7 128 /* 5.13: sig_data */
#define PERF_ATTR_VER8 136 /* 6.3: config3 */

_Static_assert(sizeof(struct perf_attr) == PERF_ATTR_VER8, "newest version known here");
_Static_assert(offsetof(struct perf_attr, config2) == PERF_ATTR_VER1 - 8, "version 1");
_Static_assert(offsetof(struct perf_attr, branch_sample_type) == PERF_ATTR_VER1, "version 2 begins");
_Static_assert(offsetof(struct perf_attr, sample_regs_user) == PERF_ATTR_VER2, "version 3 begins");
_Static_assert(offsetof(struct perf_attr, sample_regs_intr) == PERF_ATTR_VER3, "version 4 begins");
_Static_assert(offsetof(struct perf_attr, aux_watermark) == PERF_ATTR_VER4, "version 5 begins");
_Static_assert(offsetof(struct perf_attr, aux_sample_size) == PERF_ATTR_VER5, "version 6 begins");
_Static_assert(offsetof(struct perf_attr, sig_data) == PERF_ATTR_VER6, "version 7 begins");
_Static_assert(offsetof(struct perf_attr, config3) == PERF_ATTR_VER7, "version 8 begins");
_Static_assert(offsetof(struct perf_attr, wakeup_events) == offsetof(struct perf_event_attr, wakeup_events),
	       "flags are 64 bits");
_Static_assert(sizeof(struct perf_event_attr) >= PERF_ATTR_VER5, "the installed header is older than Linux 4.1");

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4) /* Linux 6.0 */
#endif
#define PERF_FORMAT_KNOWN 0x1fu	       /* all PERF_FORMAT_* of Linux 6.18 */
#define PERF_SAMPLE_KNOWN 0x1ffffffu   /* all PERF_SAMPLE_* */
#define PERF_SAMPLE_BRANCH_KNOWN 0xfffffu /* all PERF_SAMPLE_BRANCH_*: up to COUNTERS of Linux 6.8 */
#define PERF_FLAG_KNOWN (PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)

/* Event states: the kernel's enum perf_event_state. */
enum {
	PERF_STATE_EXIT = -3, /* the task is gone */
	PERF_STATE_ERROR = -2, /* a pinned event that found no counter */
	PERF_STATE_OFF = -1,
	PERF_STATE_INACTIVE = 0, /* enabled, not counting just now */
	PERF_STATE_ACTIVE = 1,
};

#endif
