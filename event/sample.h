/*
 * PERF_RECORD_SAMPLE: what a sample is made of, and its record.
 *
 * os/ looks at the guest (registers, stack, branches) before it takes any event lock and leaves what it found in a
 * struct snapshot; event_ctx.needs tells which parts anyone wants. Parts that were not asked for may be left zero.
 */
#ifndef EVENT_SAMPLE_H
#define EVENT_SAMPLE_H

#include "event/regs.h"
#include "event/ring.h"

/* Parts of a snapshot that cost something to find out. */
#define SNAPSHOT_REGS 1u	 /* regs */
#define SNAPSHOT_CHAIN 2u	 /* chain, by frame pointers */
#define SNAPSHOT_CALLS 4u	 /* chain from the translator's call stack instead */
#define SNAPSHOT_STACK 8u	 /* stack */
#define SNAPSHOT_BRANCHES 16u /* branches */
#define SNAPSHOT_ADDR 32u	 /* addr of the instruction's data access, and its data_src */
#define SNAPSHOT_PAGES 64u	 /* code_page_size, data_page_size */
#define SNAPSHOT_CGROUP 128u
#define SNAPSHOT_BRANCH_CALLS 256u /* branches as a call stack: PERF_SAMPLE_BRANCH_CALL_STACK */
#define SNAPSHOT_CPU 512u	 /* cpu */

#define SNAPSHOT_BRANCHES_MAX 256

/* One branch, newest first. kind: PERF_BR_*. */
struct snapshot_branch {
	u64 from, to;
	u32 kind;
	u32 cycles; /* 0: not known */
};

struct snapshot {
	task_id task;
	u64 ip;		     /* the instruction that reached the count, or before which the clock ran out */
	bool exact;	     /* PERF_RECORD_MISC_EXACT_IP, where precise_ip asks for it */
	bool kernel;	     /* it happened in a system call, seen when that returned */
	u32 cpu;
	u64 time;	     /* host_clock_perf(); 0: sample_write() asks for it */
	u64 addr;	     /* data address, 0: none */
	u64 data_src;	     /* union perf_mem_data_src; PERF_MEM_NA where nothing is known */
	u64 weight, txn;     /* 0: nothing models latency or follows transactions */
	u64 code_page_size, data_page_size;
	u64 cgroup;
	const struct snapshot_regs *regs; /* of the user; NULL: none (a kernel thread; never here) */
	const u64 *chain;    /* return addresses, innermost first, without the ip itself */
	u32 nr_chain;
	const void *stack;   /* bytes at regs' stack pointer that could be read */
	u32 stack_size;
	const struct snapshot_branch *branch; /* all kinds, unfiltered */
	u32 nr_branch;
	const struct snapshot_branch *call;	  /* the call stack as branches */
	u32 nr_call;
	const void *raw;     /* of a tracepoint: PERF_SAMPLE_RAW, the size word and what follows */
	u32 raw_size;	     /* of both; a multiple of 8 */
	const char *comm;    /* the same, for filters: the task's name */
	const char *const *ustring; /* and strings, as struct filter_subject has them */
};

/* SNAPSHOT_* that samples of this attr want to know. */
u32 sample_needs(const struct perf_attr *attr);

/*
 * The overflow passes without a trace: no record, no signal, nothing counted of IOC_REFRESH. Linux: a clock that runs
 * out in the mode that attr excludes is started again and that is all.
 */
READS bool sample_excluded(const struct perf_attr *attr, const struct snapshot *snap)
{
	return snap->kernel ? attr->exclude_kernel : attr->exclude_user;
}

/*
 * Writes one sample of e into its ring. period: that has been reached, in users' units; kill: POLL_IN or POLL_HUP for a
 * wakeup. True: it wakes, as ring_end().
 */
bool sample_write(struct event *e, const struct snapshot *snap, u64 period, u32 kill);

/*
 * The sample_id trailer of all other records (attr.sample_id_all), as the man page's struct sample_id. With the event
 * lock. sample_id_size() is 0 without sample_id_all.
 */
u32 sample_id_size(const struct event *e);
struct sample_id_of {
	s32 pid, tid; /* of the task that the record is about */
	u64 time;
	u32 cpu;
};
void sample_id_write(struct ring_out *o, const struct event *e, const struct sample_id_of *of);
/* The id that the session's user knows it by (the root's), and the clock that its records are stamped with. */
u64 sample_primary_id(const struct event *e);
u64 sample_clock(const struct event *e);

/* PERF_RECORD_LOST, in front of another record: for ring.c only. */
u32 sample_lost_size(const struct event *e);
void sample_lost_write(struct ring_out *o, const struct event *e, u64 lost);

/*
 * A LOST_SAMPLES record of any such size or more, in the place of records that cannot be had any more. With the event
 * lock.
 */
u32 sample_filler_size(const struct event *root);
void sample_filler_write(struct ring_out *o, const struct event *root, u32 size);

#endif
