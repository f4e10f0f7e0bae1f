/*
 * The interface of 2009 to performance counters, as the kernel's design.txt of October 2009 ("Performance Counters for
 * Linux") describes it. Programs that are written for it run under
 *
 *	pcl --abi=2009 ./program
 *
 * "design.txt" below is that text; "pcl" is what the text leaves open, decided in pcl's doc/abi-2009.md. Counts are in
 * events, clocks and times in nanoseconds, lengths in bytes. The header gives some names of linux/perf_event.h to other
 * things, so a source file includes one of the two.
 */
#ifndef PCL_PERF_2009_H
#define PCL_PERF_2009_H

#if defined(_LINUX_PERF_EVENT_H) || defined(_UAPI_LINUX_PERF_EVENT_H)
#error "pcl/perf_2009.h and linux/perf_event.h cannot be included together"
#endif

#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What is to be counted. 56 bytes. What is 0 asks for nothing. Reserved bits and fields are 0, else EINVAL (pcl).
 */
struct perf_event_hw_event {
	/* PERF_HW_EVENT_RAW and 63 bits, or a type and an event id: PERF_HW_EVENT_CONFIG(). (design.txt, "config") */
	__u64 config;

	/* A record every so many events; 0: it only counts. Bit 63 is 0, else EINVAL (pcl). (design.txt, "flavours") */
	__u64 irq_period;
	/* PERF_RECORD_IP, ...: what a record tells; another bit: EINVAL (pcl). */
	__u32 record_type;
	/* PERF_FORMAT_...: what a read() gives besides the count; another bit: EINVAL (pcl). */
	__u32 read_format;

	__u64 disabled : 1,    /* it counts when it is enabled by ioctl or prctl, not before */
		inherit : 1,   /* tasks that the task makes from now on are counted, too */
		pinned : 1,    /* a leader that must always count: else it is in error, and read() gives 0 bytes */
		exclusive : 1, /* a leader whose group counts alone */
		exclude_user : 1, exclude_kernel : 1, exclude_hv : 1, /* not in that mode */
		exclude_idle : 1,				      /* not when the CPU is idle */
		mmap : 1,					      /* records of executable mappings */
		munmap : 1,					      /* and of their end */
		comm : 1,					      /* records of the names of tasks */
		__reserved_1 : 52;

	__u32 extra_config_len; /* 0, else EINVAL: design.txt keeps it for the future */
	__u32 wakeup_events;	/* a notification every so many samples, besides one for each page; 0: none */

	__u64 __reserved_2;
	__u64 __reserved_3;
};

/* design.txt, "The 'config' field": raw_type, type, event_id. */
#define PERF_HW_EVENT_RAW	       0x8000000000000000ULL
#define PERF_HW_EVENT_TYPE_SHIFT       56
#define PERF_HW_EVENT_ID	       0x00ffffffffffffffULL
#define PERF_HW_EVENT_CONFIG(type, id) ((__u64)(type) << PERF_HW_EVENT_TYPE_SHIFT | (id))

/* Another type: EINVAL (pcl). */
enum perf_event_types {
	PERF_TYPE_HARDWARE = 0,
	PERF_TYPE_SOFTWARE = 1,
	PERF_TYPE_TRACEPOINT = 2, /* ids: /debug/tracing/events/SYSTEM/EVENT/id */
};

/* Another id, or one that the processor cannot count: EINVAL (design.txt). */
enum hw_event_ids {
	PERF_COUNT_HW_CPU_CYCLES = 0,
	PERF_COUNT_HW_INSTRUCTIONS = 1,
	PERF_COUNT_HW_CACHE_REFERENCES = 2,
	PERF_COUNT_HW_CACHE_MISSES = 3,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS = 4,
	PERF_COUNT_HW_BRANCH_MISSES = 5,
	PERF_COUNT_HW_BUS_CYCLES = 6,
};

/* Another id: EINVAL (pcl). */
enum sw_event_ids {
	PERF_COUNT_SW_CPU_CLOCK = 0,
	PERF_COUNT_SW_TASK_CLOCK = 1,
	PERF_COUNT_SW_PAGE_FAULTS = 2,
	PERF_COUNT_SW_CONTEXT_SWITCHES = 3,
	PERF_COUNT_SW_CPU_MIGRATIONS = 4,
	PERF_COUNT_SW_PAGE_FAULTS_MIN = 5,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ = 6,
	PERF_COUNT_SW_ALIGNMENT_FAULTS = 7,
	PERF_COUNT_SW_EMULATION_FAULTS = 8,
};

/*
 * read() gives u64 words: the count, then these, in the order of their bits. ENOSPC if the buffer is too small (pcl).
 * Times are in ns: since the counter was enabled, and of that the time in which it counted.
 */
enum perf_event_read_format {
	PERF_FORMAT_TOTAL_TIME_ENABLED = 1,
	PERF_FORMAT_TOTAL_TIME_RUNNING = 2,
};

/* What a record of an overflow tells, in this order. */
enum perf_event_record_format {
	PERF_RECORD_IP = 1U << 0,
	PERF_RECORD_TID = 1U << 1,
	PERF_RECORD_TIME = 1U << 2,
	PERF_RECORD_ADDR = 1U << 3,
	PERF_RECORD_GROUP = 1U << 4,
	PERF_RECORD_CALLCHAIN = 1U << 5,
};

/*
 * The first page of a mapping of 1 + 2^n pages, MAP_SHARED. (design.txt, "Structure of the page that can be mapped")
 * The other pages are a ring of records. Nobody tells the kernel what has been read, so new records overwrite the
 * oldest ones. Written to, the page is the reader's own loss (pcl).
 */
struct perf_event_mmap_page {
	__u32 version;	      /* 0 (pcl) */
	__u32 compat_version; /* 0 (pcl) */
	/* If index is not 0, the count is what rdpmc of index - 1 gives, plus offset; lock is odd while they change. */
	__u32 lock;
	__u32 index;
	__s64 offset;
	/* Bytes that were ever written to the ring, modulo 2^32 (pcl); an rmb() belongs behind reading it. */
	__u32 data_head;
};

#define PERF_RECORD_MISC_KERNEL	  (1 << 0)
#define PERF_RECORD_MISC_USER	  (1 << 1)
#define PERF_RECORD_MISC_OVERFLOW (1 << 2) /* a sample: `type` is its record_type */

struct perf_event_header {
	__u32 type; /* enum perf_event_type, or PERF_RECORD_IP and so on; 0: nothing, step over it (pcl) */
	__u16 misc;
	__u16 size; /* with this header; a multiple of 8 (pcl) */
};

/*
 *	MMAP, MUNMAP	u32 pid, tid; u64 addr, len, pgoff; char filename[];
 *	COMM		u32 pid, tid; char comm[];
 *	samples		u64 ip; u32 pid, tid; u64 time; u64 addr;
 *	 GROUP		u64 nr; { u64 event, val; } cnt[nr];
 *	 CALLCHAIN	u16 nr, hv, kernel, user; u64 ips[nr];
 *
 * pgoff is in bytes, filename as in Linux's records; strings end with a 0 and are filled up to 8 bytes. time is in ns
 * of the session's clock. GROUP has the leader first; event is its config. CALLCHAIN (pcl) has numbers of addresses,
 * then these, innermost first.
 */
enum perf_event_type {
	PERF_RECORD_MMAP = 1,
	PERF_RECORD_MUNMAP = 2,
	PERF_RECORD_COMM = 3,
};

/*
 * ENABLE and DISABLE take no argument. REFRESH: int nr, the counter is enabled for so many samples; EINVAL if it is
 * inherited or does not sample. Another request: ENOTTY. The text has no numbers: these are Linux's of today.
 */
#define PERF_EVENT_IOC_ENABLE  _IO('$', 0)
#define PERF_EVENT_IOC_DISABLE _IO('$', 1)
#define PERF_EVENT_IOC_REFRESH _IO('$', 2)

/* prctl(2): all leaders of groups that count the calling task, whoever opened them. Numbers as those of ioctl. */
#define PR_TASK_PERF_EVENTS_DISABLE 31
#define PR_TASK_PERF_EVENTS_ENABLE  32

/* What the versions of the text of 2010 and later call the same. */
#define perf_event_attr perf_event_hw_event
#define perf_type_id	perf_event_types
#define perf_hw_id	hw_event_ids
#define perf_sw_ids	sw_event_ids

/* On x86-64; the text has no number, Linux has had this one since the call is there. */
#define PERF_EVENT_OPEN_2009 298

/*
 * A descriptor, or -1 and errno. pid: 0 the caller, above a task, below all tasks of a CPU. cpu: -1 any. group_fd: -1,
 * or the leader's. flags: 0, else EINVAL. Besides what stands above: EFAULT the structure cannot be read; ESRCH no such
 * task; EACCES it is another user's, or all tasks without the capability; EBADF group_fd is no counter; EINVAL pid and
 * cpu both say "all", no such CPU, or the group is another task's or CPU's.
 */
static inline int sys_perf_event_open(struct perf_event_hw_event *hw_event_uptr, pid_t pid, int cpu, int group_fd,
				      unsigned long flags)
{
	return (int)syscall(PERF_EVENT_OPEN_2009, hw_event_uptr, pid, cpu, group_fd, flags);
}

#ifdef __cplusplus
}
#endif

#endif
