/*
 * The event subsystem's part of the session's shared memory: every event, context and descriptor table of the session.
 *
 * Rules:
 * 1. One lock, event_lock(), guards all of it, except what is read without (fields marked [any]).
 * 2. A task that samples takes its own context's lock instead, ctx_lock(), and those of the rings that it writes to, so
 *    that tasks do not wait for each other. These guard: a context's list of events, and of its events tally, attr,
 *    group, period to tick_clock; a ring's fields but for maps and what is derived. Whoever changes that, or reads what
 *    may be torn, has event_lock() and these besides: event_hold(), ring_hold().
 * 3. What is done under a lock happens as a whole or not at all, wherever its thread is stopped or killed: it is a
 *    section (rt/section.h), whose stores are noted and put back by whoever needs the lock. What cannot be taken back
 *    is put off (after.h).
 * 4. No guest memory is touched and nothing blocks under a lock.
 *
 * Events are named by slot number 1 to EVENT_SLOTS - 1; 0 is none. Events that were opened are roots; inherited ones
 * are their children, however deep the family. A per-CPU event (task 0) counts through children on every task.
 */
#ifndef EVENT_SPACE_H
#define EVENT_SPACE_H

#include "abi/perf.h"
#include "event/cgroup.h"
#include "event/filter.h"
#include "event/host.h"
#include "event/list.h"
#include "event/pmu.h"
#include "event/probe.h"
#include "rt/section.h"

/*
 * The tables are sparse: what was never used costs addresses only. Sizes are such that memory is short before they are.
 */
#define EVENT_TASKS 16384 /* task slots; os/ checks that it is ARENA_TASKS */
#define EVENT_FILES 65536 /* descriptor tables */
#define EVENT_FDS (1u << 20) /* highest descriptor number of an event + 1 */
#define EVENT_FD_CHUNK 1024  /* descriptor numbers that a table gets at a time */
#define EVENT_FD_CHUNKS 131072
#define EVENT_RINGS 65536	 /* ring buffers */
#define EVENT_MAPS 262144	 /* mappings of events, in all processes */
#define EVENT_WATCHES (1u << 20) /* registrations of events with epoll instances */
#define EVENT_FILTER_NODES (4u << 20)
#define EVENT_LINEAGES 65536
#define EVENT_MM_BUCKETS 4096
#define EVENT_CPUS_MAX 8192 /* CPU numbers; os/ checks that it is ARENA_CPUS */
#define EVENT_CPUS 1024 /* children of events of CPUs above that are made at once; a multiple of 64 */

enum event_slot_state {
	SLOT_FREE,
	SLOT_NEW,     /* being filled in */
	SLOT_LIVE,
};

/* Bits of event.of_2009. */
#define EVENT_2009	  1u
#define EVENT_2009_MUNMAP 2u /* it wants records of executable mappings that go */

/* A filter's place in event_space.filter; n 0: there is none. */
struct event_filter {
	u32 at, n;
} __attribute__((aligned(8)));

/* The numbers of an event that change together. Times in ns of the context's clock, counts in the source's unit. */
struct event_tally {
	u64 count;	     /* counted while scheduled in, up to the last time it was scheduled out */
	u64 prev;	     /* the source's value when it was scheduled in; ACTIVE only */
	u64 enabled, running; /* up to stamp */
	u64 stamp;
	/* of children that are gone; child_running of a per-CPU event: less the time that tasks kept it out */
	u64 child_count, child_enabled, child_running;
	s64 state;	     /* PERF_STATE_* */
};

struct event {
	u32 slot;	     /* enum event_slot_state */
	u64 id;
	struct event_tally tally;

	/* Fixed while LIVE, unless it says otherwise. */
	u32 task, generation;	     /* task 0: a per-CPU event */
	u32 owner, owner_generation; /* the task that opened it; roots only */
	u32 pidns;		     /* host_pidns() of who opened it (its root): records have ids of that one */
	u32 parent;		     /* 0: a root */
	u64 parent_id;
	u32 leader;		     /* itself if it leads; changes when the leader is closed */
	u64 leader_id;
	u64 order;		     /* see order.h; changes when the leader is closed */
	/* leaders only: rises with each change of the group; an inherited group begins with that of its parent's */
	u32 group_generation;
	s32 cpu;		     /* -1: any */
	u32 pmu;
	struct event_source source;
	u64 inode;		     /* which file its descriptors are; roots only */
	u32 lineage, lineage_seq;    /* see lineage.h; 0: none. Roots only, changes by one store */
	u32 lineage_on;		     /* its pending children are enabled */
	struct event_cgroup cgroup;  /* per-CPU roots only */
	/* See counters.h. Of a per-CPU event's child: 1 + the task clock since when it is kept out, 0: it is not */
	u64 kept_out;
	u32 crowded_out;	     /* of a per-CPU leader, while one task's groups are placed */
	u32 of_2009;		     /* EVENT_2009, ...: opened through the interface of 2009, see records_2009.h */
	/* enable_on_exec is cleared by exec; sample_period and sample_freq by IOC_PERIOD */
	struct perf_attr attr;
	u64 hits;		     /* source of events with source.hits; [any], written by its task */

	/* Sampling; see overflow.h. */
	u64 period;		     /* the present one, in users' units */
	u64 last_period;	     /* what the next sample says that it was: a tick changes the present one at once */
	u64 next;		     /* the source's value at which it overflows next; ~0: never. ACTIVE only */
	u64 period_left;	     /* in the source's unit, while it is not ACTIVE */
	u64 freq_stamp;		     /* perf clock at the last overflow */
	u64 freq_spent;		     /* event_ctx.spent at that time */
	union {
		u64 freq_count;	     /* of a frequency: where the source stood at the last tick */
		/* of a fixed period: where the overflow behind `next` is; not above `next`: a period further */
		u64 after_next;
	};
	u32 interrupts;		     /* overflows in the tick that began at tick_stamp and tick_clock */
	u32 throttled;
	u64 tick_stamp, tick_clock;  /* perf clock, task clock */
	/* as the kernel's, for REFRESH: overflows until it is disabled; 0: any number. Roots: of the whole family */
	s32 event_limit;
	u32 pending_disable;	     /* that was the last one: disabled before the section ends. Roots */
	u32 ring, ring_check;	     /* where records go, 0: nowhere; must be ring_slot(ring)->id. Roots only */
	u64 lost;		     /* records that found no room: PERF_FORMAT_LOST */
	struct event_filter filter;  /* roots only; set once, by one store */

	/* Who waits on its descriptors, and whom its wakeups signal (perf/notify.c); roots only. [any, to look] */
	u32 waiters;		     /* blocked in poll(2) and the like, or registered with an epoll instance */
	u32 wakes;		     /* how often host_wake() had something to tell [atomic] */
	s32 async_pid;		     /* O_ASYNC: the process (host_task_tgid()) that set it, 0: off */
	s32 async_fd;		     /* by which descriptor: si_fd */
	u32 async_signo;	     /* F_SETSIG's number, 0: SIGIO */
	u32 async_type;		     /* F_SETOWN_EX: F_OWNER_TID, F_OWNER_PID, F_OWNER_PGRP, */
	s32 async_owner;	     /* and which; 0: nobody */
	u32 async_by;		     /* the task whose overflow signalled last */
	/* signals that are owed for POLL_IN, POLL_HUP, POLL_ERR (async_lock), and how many were not sent: async.h */
	u32 async_owed[3], async_unsent;

	/* Derived. */
	u32 refs;		     /* descriptors in all tables and in messages, and mappings; roots only */
	u32 in_messages;	     /* those that were sent to a process which has not received them yet */
	u32 left;		     /* some process has closed it, and another still has it; roots only */
	u32 watches;		     /* the first of its registrations; roots only */
	u32 nr_siblings;	     /* leaders only */
	struct elist siblings, children;
	struct elink in_ctx;	     /* also the free list (next) and the list of per-CPU events */
	struct elink in_group, in_family, in_ring, in_lineage;
};

/* What the host counts, as it was read last: see event_source_now(). */
struct event_polled {
	u64 section, now;
	task_id task;
	u32 pmu, source;
};
#define EVENT_POLLED 4

/* One per task slot: the kernel's task context, and which descriptor table the task has. */
struct event_ctx {
	struct slock lock;
	/* What each sample looks at, together. */
	u32 rearm;	  /* [any] limits may have changed: the task calls event_arm() before it runs on */
	u32 needs;	  /* [any] derived: SNAPSHOT_* that those want to know, see sample.h */
	u32 timer_refused; /* the host has none: limits may not be passed, for nothing would notice */
	/* by the task itself, as what there is of timers, ticks and debts: drivers that have limits, a bit for each */
	u32 limited_pmus;
	struct elist events; /* derived: LIVE events of this task that have not exited */
	u64 timer;	  /* task clock at which host_clock_limit() interrupts it; 0: not at all */
	u64 spent;	  /* ns that samples of frequencies took, with the way to them: all, and at the last tick */
	u64 tick_spent;
	u32 freq_sampled; /* a frequency overflowed; how long that took is not in `spent` yet */
	u64 tick_stamp, tick_clock; /* perf clock and task clock at the last tick; 0: no event needs ticks */
	/* [any] 1 + the task clock at which it looks whether an interval is over, 0: not at all; see counters.h */
	u64 look;
	u64 rotate_at;	  /* task clock at which its own groups rotate; 0: none waits */
	u32 live;	  /* the task exists and has not exited */
	u32 generation;
	u32 files;	  /* [any, by its own task] number of its descriptor table */
	s32 cpu;	  /* where it was seen last */
	u32 cpu_bound;	  /* [any] derived: events here that count on one CPU only */
	u32 quiet;	  /* it begins or ends: derived words are brought up to date when that is done */
	u32 lineage;	  /* [any] whose CPU-bound events it inherits, 0: nobody's; see lineage.h */
	u32 lineage_seq;  /* of those, the ones that had joined before */
	u32 lineage_sideband; /* SB_* that those want to hear of */
	u32 own_lineage;  /* that of its own CPU-bound events */
	u32 next_heir, prev_heir; /* derived */
	u64 clock_read;	  /* the task clock as it was read last for those */
	u64 seen[EVENT_CPUS / 64]; /* CPUs whose events it has */
	struct cgroup_path cgroup; /* where it was seen last; nowhere before event_space.cgroups is set */
	u32 cgroup_moves; /* [any, to look] how often that has changed */
	u32 measured;	  /* [any] derived: events here that need more of the host than clocks */
	u32 mm;		  /* number of its address space, for event_map; see map.h */
	u32 next_mm, prev_mm; /* derived: live tasks of the same bucket */
	u32 unmapping;	  /* some of its mappings are leaving */
	u32 units;	  /* [any] derived: what the drivers were told */
	u32 sampling;	  /* [any] derived: ACTIVE events here that sample */
	u32 polling;	  /* [any] derived: those of them whose source is polled */
	u32 sideband;	  /* [any] derived: SB_* that events here want to hear of, see sideband.h */
	u32 forked_by;	  /* the task that made it, until its FORK record is written; see event_task_forked() */
	/*
	 * [any] its ACTIVE events with source.hits may have changed: perf/breakpoints.c looks before the task runs on
	 */
	u32 hits_changed;
	u32 timer_coarse; /* some milliseconds later */
	u64 timer_stamp;  /* perf clock before which that cannot be */
	/* ns that signals of its events took and it has not had for itself since, at that task clock; see throttle.h */
	u64 debt, debt_clock;
	u64 charged;	  /* [any] ns that they took of other tasks, on its way to debt */
	u32 handling;	  /* it is in a handler of such a signal */
	u32 unit_users[EVENT_UNITS]; /* derived: ACTIVE events on each unit */
	struct event_polled polled[EVENT_POLLED]; /* by the task itself, of any task */
	u32 polled_last;
} __attribute__((aligned(64)));

/* Descriptor numbers of one process (of all that share them by CLONE_FILES) that are events; see event_space.fd. */
struct event_files {
	u32 users;	/* derived: live contexts with this table; 0: free */
	u32 high;	/* [any] no descriptor at or above this is an event */
	u32 next_free;	/* derived */
	u32 chunk[EVENT_FDS / EVENT_FD_CHUNK]; /* [any] where its entries are, 0: it has none there */
};

/* Events of descriptors, 0: none; all are when it is free. Chunk 0 stays so. */
struct event_fds {
	u32 fd[EVENT_FD_CHUNK];
};

/*
 * A ring buffer: the records of one event and of those that send their output there. 1 + pages pages of the session's
 * ring memory (LAYOUT_RINGS): struct perf_event_mmap_page, then the data. See ring.h.
 */
struct ring {
	struct slock lock;
	u32 slot;	   /* enum event_slot_state: FREE, NEW or LIVE */
	u32 id;		   /* unlike that of the slot's earlier rings */
	u32 page;	   /* where it begins in the ring memory, in pages */
	u32 pages;	   /* of data: 0 or a power of 2 */
	u32 overwrite;	   /* mapped without PROT_WRITE: nobody reads the tail */
	u32 paused;	   /* PERF_EVENT_IOC_PAUSE_OUTPUT, or no data pages */
	u32 of_2009;	   /* as its event: its first page is of that time */
	u32 event;	   /* the one that is mapped: the first page is its */
	u32 mm;		   /* the address space that mapped it first: where its rdpmc counters can be read */
	u64 event_id;
	u32 uid;	   /* whose locked memory it is, and how much: */
	u32 user_pages, locked_pages;

	u64 head;	   /* bytes ever written; data_head follows it */
	/* overwrite: the head with the record being written; there is none if they are equal. Never put back */
	u64 writing;
	u64 wakeup;	   /* bytes written at the last wakeup by watermark */
	u64 watermark;	   /* bytes between wakeups */
	u32 events;	   /* samples since the last wakeup by number */
	u64 lost;	   /* records since the last LOST record that found no room */
	u32 poll;	   /* [any] EPOLLIN | EPOLLRDNORM since the last poll(2), which takes it */

	/* Derived. */
	u32 next_free;
	u32 maps;	   /* mappings, in all processes */
	struct elist feeders; /* root events whose records go here */
} __attribute__((aligned(64))); /* tasks that sample write to theirs all the time */

/* One mapping of a ring in one address space. */
struct event_map {
	u32 ring;	/* 0: free */
	u32 ring_check;
	u32 mm;
	u32 event;	/* the one that was mapped */
	u64 event_id;
	gva addr;
	u32 pages;	/* with the first one */
	u32 leaving;	/* the task that is unmapping it, 0: none */
	u32 next, prev;	/* derived: of its address space's bucket; of the free ones (next) */
};

/* Derived: tasks and mappings by address space, mm % EVENT_MM_BUCKETS. */
struct event_mm_bucket {
	u32 tasks, maps; /* the first ones */
};

/* An event's registration with an epoll instance; see watch.h. */
struct event_watch {
	u32 event;	/* 0: free; so is one whose event is another now */
	u32 events;	/* EPOLL* bits as the guest gave them; 0: not registered yet */
	u32 seen;	/* event.wakes when it was last looked at; another number: it is listed, see watch.h */
	u64 event_id, data;
	u32 files;	/* the descriptor table of who registered it, and both descriptors there */
	s32 epfd, fd;
	u32 next, prev; /* derived: of its event, event.watches; of the free ones (next) */
};

struct event_sysctl {
	s32 paranoid, max_sample_rate, mlock_kb, max_stack, max_contexts_per_stack, cpu_time_max_percent, rdpmc;
	/* perf_event_mux_interval_ms of the PMUs; that of cpu is looked at, the others need no rotation */
	s32 mux_interval_ms, mux_software_ms, mux_breakpoint_ms, mux_tracepoint_ms, mux_uprobe_ms;
};

/* See lineage.h; free: no roots. */
struct event_lineage {
	u32 owner;	/* the task whose events the roots are; it may have ended */
	u32 next_seq;
	u32 sideband;	/* SB_* that roots want, or wanted, to hear of */
	u32 next_free;	/* derived, as those that follow */
	struct elist roots;
	u32 heirs;	/* the first task; ctx.next_heir */
};

/* How much of a table is used, at most: all of it, but in tests of what happens then. */
struct event_limits {
	u32 slots, rings, watches;
};

struct event_space {
	struct slock lock; /* RANK_EVENT */
	struct slock async_lock; /* see async.h */
	u32 opened;	   /* [any] an event was opened in this session */
	u32 left;	   /* [any, to look] derived: events with event.left */
	u32 slots_high;	   /* event slots ever used + 1 */
	u32 ctx_high;	   /* task slots ever used + 1 */
	u32 files_high;	   /* descriptor tables ever used + 1 */
	u32 files_free;	   /* derived: the first free one; so is that of chunks, by their first entry */
	u32 fds_free, fds_high; /* chunks ever used + 1 */
	u32 rings_high, maps_high; /* the same of rings and mappings */
	u32 watches_high;  /* [any] registrations ever used + 1 */
	u32 lineages_high; /* lineages ever used + 1 */
	u32 lineage_free;  /* derived: the first one */
	u32 watches_free;  /* the same of registrations */
	struct event_limits limits; /* set once */
	u32 rings, rings_bare;	/* derived: rings there are; the first free slot without pages, */
	u32 rings_free[32];	/* those with pages, by how many: 0 and powers of 2 */
	u32 ring_pages_high;	/* pages of the ring memory that belong to slots */
	u32 maps, maps_free; /* derived: mappings there are; the first free one */
	u32 next_mm, next_ring_id;
	u32 sideband;	   /* [any] derived: SB_* that per-CPU events want to hear of */
	u32 call_stacks;   /* every call chain is an exact one; set before any event is opened */
	u32 abi_2009;	   /* the interface of 2009 is there; set likewise */
	u32 counters;	   /* hardware counters of each CPU, 0: as many as events; set likewise */
	u32 accepts_no_model; /* events that no driver can count are opened all the same; set likewise */
	u32 cgroups;	   /* [any] an event of a cgroup was opened: tasks are looked for there (perf/cgroup.h) */
	u64 cgroup_ns;	   /* as it is named in this cgroup namespace: its inode number */
	/* [any] groups may have to wait: event_space.counters is not 0, or an exclusive event was opened */
	u32 counters_scarce;
	u32 processor;	   /* enum pmu_processor (pmu/vendor.h), for the hardware driver; set likewise */
	u32 ustrings;	   /* [any] there was a filter that looks at strings in the task's memory */
	u32 faults;	   /* [any] page faults were asked for: which are the guest's is to be known */
	u32 rate_set;	   /* sysctl.max_sample_rate was set by someone: every overflow counts against it */
	u64 next_id, next_order;
	struct elist free;	/* derived */
	struct elist system;	/* derived: per-CPU events */
	struct elist roots;	/* derived: all of them, by their in_family */
	struct event_sysctl sysctl; /* [any] */
	u64 cpu_rotate_at[EVENT_CPUS_MAX]; /* CLOCK_MONOTONIC at which groups of a CPU rotate; 0: none waits */
	struct event_ctx ctx[EVENT_TASKS];
	struct event_lineage lineage[EVENT_LINEAGES];
	struct event event[EVENT_SLOTS];
	struct ring ring[EVENT_RINGS];
	struct event_map map[EVENT_MAPS];
	struct event_mm_bucket mm[EVENT_MM_BUCKETS];
	struct event_watch watch[EVENT_WATCHES];
	struct filter_node filter[EVENT_FILTER_NODES]; /* of live events' filters; what none of them names is free */
	struct probe_table probes;
	struct event_files files[EVENT_FILES];
	struct event_fds fds[EVENT_FD_CHUNKS]; /* [any, to look; the lock to be sure] */
};

extern struct event_space *event_space;

size_t event_space_size(void);
/* In zeroed memory, by the launcher: task slot 1 exists, with an empty descriptor table. 0. */
int event_space_init(void *mem);
/* In every member, before anything else here is called. Does what event_space_init() does if nobody has. */
void event_space_attach(void *mem);

void event_lock(void);
void event_unlock(void);
/* By the task itself: see rule 2. */
void ctx_lock(task_id task);
void ctx_unlock(task_id task);

/*
 * For check_slow(): event_lock() is held; the calling thread is in a section, with that lock or its context's. By what
 * the thread knows itself: the locks are where others may write.
 */
static inline bool event_is_locked(void)
{
	return section_is_open() && lock_held(RANK_EVENT);
}
static inline bool ctx_is_locked(void)
{
	return section_is_open();
}

/* NULL if everything derived agrees with the slot tables, else what does not. With the lock held; slow. */
const char *event_validate(void);

/*
 * A flag that its task sets outside of sections, too: without a note, for it may not be put back then (rt/section.h,
 * rule 7). Once too often does no harm.
 */
void event_flag_set(u32 *flag);

/* Slots in use; for tests and statistics. */
u32 event_count(void);

/*
 * Any member may have written any number: whatever it is, what it leads to is in these tables, never in memory that is
 * somebody's own. The sizes of tables are powers of 2 for that.
 */
#define EVENT_WITHIN(nr, table) ((nr) & (u32)(sizeof(event_space->table) / sizeof(event_space->table[0]) - 1))

/* An address that is computed once, not again at each use as GCC has it: five instructions. */
READS void *once(void *p)
{
	__asm__("" : "+r"(p));
	return p;
}

READS struct event *event_slot(u32 nr)
{
	return once(&event_space->event[EVENT_WITHIN(nr, event)]);
}

/* The event that was opened: its parent, or itself. */
READS struct event *event_root(const struct event *e)
{
	return e->parent ? event_slot(e->parent) : (struct event *)e;
}

READS struct event_files *event_files_slot(u32 nr)
{
	return &event_space->files[EVENT_WITHIN(nr, files)];
}

READS u32 event_nr(const struct event *e)
{
	return (u32)(e - event_space->event);
}

/* The entry of a descriptor below EVENT_FDS; not to be written where the table has no chunk. */
static inline u32 *event_fd_entry(u32 files, u64 fd)
{
	u32 chunk = __atomic_load_n(&event_files_slot(files)->chunk[fd / EVENT_FD_CHUNK % (EVENT_FDS / EVENT_FD_CHUNK)],
				    __ATOMIC_RELAXED);

	return &event_space->fds[EVENT_WITHIN(chunk, fds)].fd[fd % EVENT_FD_CHUNK];
}

READS struct ring *ring_slot(u32 nr)
{
	return once(&event_space->ring[EVENT_WITHIN(nr, ring)]);
}

READS struct event_ctx *event_ctx(task_id task)
{
	return once(&event_space->ctx[EVENT_WITHIN(task, ctx)]);
}

/* With event_lock(): its context's lock too, to the end. */
static inline void ctx_hold(task_id task)
{
	slock_hold(&event_ctx(task)->lock);
}
static inline void event_hold(const struct event *e)
{
	if (e->task)
		ctx_hold(e->task);
}
/* The same of a ring; by a task that samples, too. */
READS void ring_hold(struct ring *r)
{
	slock_hold(&r->lock);
}

static inline struct event_sysctl *event_sysctl(void)
{
	return &event_space->sysctl;
}

#define LINK_CTX offsetof(struct event, in_ctx)
#define LINK_GROUP offsetof(struct event, in_group)
#define LINK_FAMILY offsetof(struct event, in_family)
#define LINK_RING offsetof(struct event, in_ring)
#define LINK_LINEAGE offsetof(struct event, in_lineage)

#endif
