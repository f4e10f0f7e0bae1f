/*
 * The session's shared memory: one memfd, mapped MAP_SHARED at LAYOUT_ARENA in every member and in the launcher.
 *
 * Fixed-size slot tables are the truth. A task slot is one guest thread, in any process of the session. Slot numbers
 * are small integers (the first is 1; 0 means none) that event/ uses as task identities together with the slot's
 * generation.
 *
 * Locks: `lock` (RANK_SESSION) guards slot allocation and membership. Fields marked [owner] are written by the slot's
 * own thread only (or by its creator before it runs); everyone may read them.
 */
#ifndef OS_ARENA_H
#define OS_ARENA_H

#include "abi/types.h"
#include "cpu/cpu.h"
#include "dbt/siblings.h"
#include "os/session/clock.h"
#include "os/session/pin.h"
#include "os/session/refusals.h"
#include "rt/layout.h"
#include "rt/lock.h"
#include "rt/section.h"
#include "rt/stats.h"

#define ARENA_MAGIC 0x306c6370u /* "pcl0" */
#define ARENA_TASKS 16384
#define ARENA_PATH 4096
#define PIDNS_DEPTH 32u /* MAX_PID_NS_LEVEL of Linux */

enum task_state {
	TASK_FREE,
	TASK_NEW,    /* allocated by its creator, not running yet */
	TASK_ALIVE,
	TASK_DEAD,   /* exited or found dead; its cells are final; freed when nobody needs them */
};

/* Kernel ids in a pid namespace below the launcher's; see os/session/pidns.h. */
struct pidns_ids {
	u32 ns; /* 0: which one is not known */
	s32 pid, tid;
};

struct task {
	u32 state;	     /* enum task_state, under arena->lock to change to or from FREE */
	u32 generation;	     /* rises each time the slot is allocated */
	u32 next_slot, is_left; /* of those that are free, or left behind: derived */
	/* kernel ids (thread group, thread) in the pid namespace of the session's launcher [owner] */
	s32 pid, tid;
	u32 depth;	     /* pid namespaces from the launcher's, 0, down to its own [owner] */
	/* its ids in each of them; the last of `depth` is its own namespace [owner] */
	struct pidns_ids inner[PIDNS_DEPTH];
	u32 children_apart;  /* unshare() or setns(): its children are in another pid namespace than it is [owner] */
	u32 made_apart;	     /* while TASK_NEW: it may be in another one than its creator */
	u32 made;	     /* while TASK_NEW: those are its own already, not its creator's */
	s32 ppid;	     /* its parent process when it was made, or last called execve [owner] */
	/* CLOCK_BOOTTIME in ns when it began: a later thread with the same tid started after it [owner] */
	u64 start_time;
	/*
	 * its process has, or had, another thread, so the process's clock is not this one's. Never taken back [owner]
	 */
	u32 threaded;
	u32 fences;	     /* signals that os/session/fence.c has sent, not taken yet; atomic, by everyone */
	/*
	 * the first of pcl's own descriptors: of its process, and once it has left that's table (os/session/apart.h)
	 * [owner]
	 */
	s32 fds, own_fd;
	u32 exit_traced;	     /* sched_process_exit was: atomic, by whoever ends it */
	u32 in_cache;	     /* it is in dbt_run(): host_kick() must interrupt it [owner] */
	char comm[16];	     /* [owner] */
	u64 cputime_at_exit; /* task-clock in ns, valid when TASK_DEAD by exit [owner] */
	u64 faults_at_exit[2]; /* minor, major [owner] */
	u64 switches_at_exit, migrations_at_exit; /* [owner] */
	/*
	 * Page faults, minor and major: of pcl's own work, and of the guest's when the last such work began
	 * (os/session/own_faults.h) [owner]
	 */
	u64 own_faults[2], guest_faults[2];
	u32 own_work;	     /* rises when such work begins and ends [owner] */
	/* the thread group that the new image will find itself in; 0: no execve under way [owner] */
	s32 exec_tgid;
	u32 images;	     /* programs that it has executed [owner] */
} __attribute__((aligned(4096)));

/* It begins where a page begins: the task's thread has it mapped behind its struct cpu, too. */
struct task_bank {
	struct bank bank;
} __attribute__((aligned(4096)));
_Static_assert(sizeof(struct task_bank) == CPU_BANK_SIZE, "whole pages");

/*
 * Descriptors that every member inherits and no guest sees, neighbours: the runtime's own image, the arena, an
 * unconnected datagram socket to send from (perf/notify.h), the directory /proc of the launcher (os/session/proc.h), an
 * empty memfd that can take the runtime's place (os/files/sys_landlock.c), the cache directory (os/mm/warm.h), or
 * something else if there is none, and the process's program (os/files/vfile.h), which no launcher but each image puts
 * there.
 */
enum { RUNTIME_FD, ARENA_FD, WAKER_FD, PROC_FD, SPARE_FD, CACHE_FD, EXE_FD, SESSION_FDS };

/* The words of --abi. */
enum session_abi { SESSION_ABI_TODAY, SESSION_ABI_2009 };

/*
 * The words of --users. own: nobody gets other ids than the first member has; see os/task/sys_users.c and
 * os/task/split.h.
 */
enum session_users { USERS_SPLIT, USERS_ANY, USERS_OWN };

/*
 * A resource limit that the launcher has raised to make room, as it was; the first image of the session puts it in
 * force for the guest.
 */
struct session_limit {
	u64 cur, max;
	u32 lifted;
};

/*
 * What the launcher was told. Not in the arena: each image has a copy, and hands it to the next one
 * (os/session/handover.h), so that no member can change another's.
 */
struct session_config {
	u64 size_of_arena; /* this and magic must match the program's own */
	u32 magic;
	u32 strace;	   /* 0 off, 1 all calls, 2 with reasons */
	u32 stats;	   /* print statistics at exit */
	u32 why;	   /* keep refusals for the launcher */
	u32 aslr;
	s32 paranoid;	   /* virtual perf_event_paranoid at the start */
	s32 max_sample_rate; /* virtual perf_event_max_sample_rate, 0: the default */
	u32 abi;	   /* enum session_abi */
	u32 regions;	   /* events count in regions only (include/pcl/session.h) */
	u32 call_stacks;   /* call chains come from the translator's call stack */
	u32 processor;	   /* enum pmu_processor (pmu/vendor.h) */
	u32 counters;	   /* of the virtual PMU, 0: as many as events */
	u32 accepts_no_model; /* events that the PMU cannot count are opened */
	u32 no_traces, no_links, no_ibl; /* mechanisms of dbt/ turned off */
	u32 no_spans, no_unroll, no_liveness, no_approach, no_polls, no_siblings, no_bias;
	u32 prefetch; /* enum prefetch_returns */
	u32 one_insn_blocks, small_cache, dual_map;
	u32 dump, dump_at; /* DUMP_*, dbt/dump.h; an address below 4 GiB */
	u32 stress;	   /* STRESS_*, rt/stress.h */
	u32 strict_overcommit; /* rt/reserve.h */
	u32 log_level;
	u32 users;	   /* enum session_users */
	s32 runtime_fd; /* the first of SESSION_FDS descriptor numbers hidden from guests */
	s32 log_fd;
	struct session_limit limit_as, limit_data;
	u64 own_as, own_data; /* bytes of pcl's own that they count: os/mm/sys_rlimit.c. The first image asks */
	u64 session_id;	   /* random */
	u64 served_key;	   /* random, see os/session/served.h */
	/* What the first image has found of the processor, so that the others need not ask. */
	u64 vector_features; /* states in signal frames */
	u32 vector_size;   /* their bytes, 0: not known yet */
	u32 landing;	   /* 1 + enum landing_form, 0: not chosen yet */
	u32 bswap;	   /* 1 + dbt_options.bswap_is_fast, likewise */
	u64 warm_settings; /* hash of what changes translations; 0: there is no cache directory (os/mm/warm.h) */
	u32 cache_mib;	   /* that directory's size, at most */
	u32 user_namespace; /* inode number of the launcher's, 0: not known */
	/* a process may have to leave the session when it executes the next program, see os/task/split.h */
	u32 split_later;
	u32 pin;	   /* bit per enum pin_item (os/session/pin.h) */
	u32 cpu_level;	   /* enum isa_level (isa/level.h) */
	u32 pin_cpu;	   /* with PIN_CPUS: the one */
	struct pin_state pin_state;
	u32 filtered;	   /* this process has asked for a seccomp filter, or one that made it has */
};

/* Those that are online when the session begins, by host_find_cpus(). */
#define ARENA_CPUS 8192u
struct session_cpus {
	u32 n; /* the highest number + 1 */
	u64 online[ARENA_CPUS / 64];
};

#define ARENA_IMAGES 256u
/* See warm_wants_save(). Atomic, by everyone. */
struct images_missed {
	u32 tag;     /* a hash of the image's key, which also says where in the table it is; 0: of none yet */
	u32 blocks;  /* translated since one was written, by processes that then ended or executed another program */
	u32 written; /* how often one was */
};

#define ARENA_SIBLINGS 256u /* several parents may have one together */

struct arena {
	u32 images_off; /* somebody can write to code without a trace: no image is used any more; atomic, by everyone */
	u32 leavers;	   /* see REGIONS_LEAVERS (os/session/regions.h); atomic, by each of them */
	u32 memory_spread; /* memory that was lent has come to others, see os/mm/own_memory.h; atomic, by everyone */
	u64 images_checked[ARENA_IMAGES]; /* see os/mm/warm_file.c; atomic, by everyone */
	struct images_missed images_missed[ARENA_IMAGES];
	struct siblings siblings[ARENA_SIBLINGS]; /* by the slot of the parent's thread that has forked first */
	struct stats stats;	  /* of threads without a slot, and with task_stats what the launcher prints */
	struct session_clock clock;
	struct session_cpus cpus;
	struct refusals refusals;
	struct slock lock;	  /* what follows changes in sections (rt/section.h) */
	u32 tasks_high;		  /* slots ever used + 1 */
	u32 tasks_free;		  /* the first free slot, 0: those from tasks_high on; derived */
	u32 tasks_left, tasks_left_last; /* DEAD slots whose threads may still run, first and last; derived */
	u32 pid_namespace;	  /* inode number of the launcher's */
	struct stats task_stats[ARENA_TASKS]; /* of each slot's threads, one after the other [owner] */
	struct pin_end pin_ends[PIN_ENDS];
	struct task tasks[ARENA_TASKS] __attribute__((aligned(4096)));
	struct task_bank banks[ARENA_TASKS]; /* of each slot's task */
	/* event/'s own tables follow, at arena_event_space() */
};

#define ARENA_JOURNALS_SIZE (ARENA_TASKS * LAYOUT_JOURNAL_SIZE + LAYOUT_LONG_SIZE)
_Static_assert(ARENA_TASKS == SECTION_JOURNALS, "each task slot has a journal");

/* The file: the tables, and at the distances of rt/layout.h the ring buffers and the journals. */
#define ARENA_FILE_SIZE (LAYOUT_JOURNALS + ARENA_JOURNALS_SIZE - LAYOUT_ARENA)

static inline struct arena *arena(void)
{
	return (struct arena *)LAYOUT_ARENA;
}

/* Any member may have written anything there. */
static inline u32 arena_tasks_high(void)
{
	return MIN(__atomic_load_n(&arena()->tasks_high, __ATOMIC_RELAXED), (u32)ARENA_TASKS);
}

static inline struct task *arena_task(u32 slot)
{
	return &arena()->tasks[slot % ARENA_TASKS];
}

static inline u32 task_slot(const struct task *task)
{
	return (u32)(task - arena()->tasks);
}

static inline struct bank *arena_bank(u32 slot)
{
	return &arena()->banks[slot % ARENA_TASKS].bank;
}

static inline void *arena_event_space(void)
{
	return (void *)(LAYOUT_ARENA + ALIGN_UP(sizeof(struct arena), PAGE_SIZE));
}

#endif
