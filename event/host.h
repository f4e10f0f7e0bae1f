/*
 * What the event subsystem needs from the system that it is built into: the "Arch requirements" of design.txt. os/
 * implements it for pcl, tests/unit/event implements it with a fake clock and fake tasks.
 *
 * Tasks are named by slot number (1..); 0 is no task. All functions may be called with event locks held and take
 * no event locks themselves.
 */
#ifndef EVENT_HOST_H
#define EVENT_HOST_H

#include "abi/types.h"

typedef u32 task_id;

/* Clocks, in nanoseconds. */
u64 host_clock_mono(void);		      /* CLOCK_MONOTONIC: wall time of the subsystem */
u64 host_clock_perf(void);		      /* of records' TIME without attr.use_clockid; see host_tsc() */
u64 host_clock_by_id(s32 clockid);	      /* CLOCK_MONOTONIC, _RAW, REALTIME, BOOTTIME, TAI */
/* CPU time that the task has used; 0 until it runs, final once it is dead */
u64 host_task_clock(task_id task);

/* Counts that the host keeps for a task since it began; 0 until it runs, final once it is dead. */
enum host_count { HOST_FAULTS_MIN, HOST_FAULTS_MAJ, HOST_SWITCHES, HOST_MIGRATIONS, HOST_COUNTS };
u64 host_task_count(task_id task, enum host_count what);

/*
 * How a time-stamp counter becomes host_clock_perf(): ns = zero + (tsc * mult >> shift) as in the mmap page. False: it
 * does not.
 */
struct host_tsc {
	u32 mult;
	u16 shift;
	u64 zero;
};
bool host_tsc(struct host_tsc *out);

/*
 * The task that called, and others by kernel thread id as its process sees them; 0: no such task in the session. Ids
 * are those of the session's own pid namespace, number 0, or of one below it; ids of a task that is not visible there
 * are 0.
 */
task_id host_current(void);
task_id host_find_task(s32 pid);
s32 host_task_tgid(task_id task);
s32 host_task_tid(task_id task);
u32 host_pidns(void); /* the caller's pid namespace */
void host_task_ids(task_id task, u32 pidns, s32 *tgid, s32 *tid);
s32 host_task_ppid(task_id task, u32 pidns); /* the process that is its parent now, or was last known to be */
u32 host_task_generation(task_id task);
bool host_may_observe(task_id task); /* the kernel's ptrace_may_access(PTRACE_MODE_READ_REALCREDS) for the caller */

/*
 * Without event locks: the cgroup that a descriptor of the caller's is the directory of; where all tasks are is known
 * from now on (event_cgroup_moved()). 0, -EBADF: it is none, -ENOENT: it is gone, or of another hierarchy, -ENOMEM.
 */
struct cgroup_path;
int host_cgroup(s32 fd, struct cgroup_path *out);

/* Privilege of the caller inside the session: uid 0 or CAP_PERFMON. */
bool host_perfmon_capable(void);

/* CPUs as the guest sees them. */
u32 host_nr_cpus(void);
bool host_cpu_online(u32 cpu);
u32 host_task_cpu(task_id task);

/*
 * The caller's memory, which may be anything. Each returns 0 or -EFAULT; a part may have been copied then. Called
 * without event locks. host_copy_string(): at most size - 1 bytes, terminated. Its length, -EFAULT or -ENAMETOOLONG.
 */
int host_copy_in(void *to, gva from, size_t n);
int host_copy_out(gva to, const void *from, size_t n);
long host_copy_string(char *to, gva from, size_t size);

/*
 * Memory of ring buffers: where it is, page n of it (of n modulo how many there are); what the kernel may take back
 * once it is free.
 */
extern struct host_rings {
	char *memory;
	u32 pages; /* a power of 2 */
} host_rings;
static inline __attribute__((always_inline)) void *host_ring_page(u32 page)
{
	return host_rings.memory + (u64)(page & (host_rings.pages - 1)) * PAGE_SIZE;
}
void host_ring_free(u32 page, u32 pages);	/* reads as zeroes from now on */

/* What the caller's user may lock: RLIMIT_MEMLOCK in pages (~0: no limit), CAP_IPC_LOCK, and who that is. */
u64 host_memlock_pages(void);
bool host_may_lock(void);
u32 host_uid(void);

/*
 * An event's descriptors have news: those who wait on them look again (event.waiters), and with a pending_kill
 * (POLL_IN, POLL_HUP, POLL_ERR) whoever asked for signals gets one (event.async_*). Never blocks. root: number of a
 * root event.
 */
void host_wake(u32 root, u32 pending_kill);

/*
 * A clock source of a task reaches its limit: interrupt the calling task in ns of its CPU time; ~0: not at all. coarse:
 * some milliseconds later will do, which is cheaper. False: the host has no timer for that.
 */
bool host_clock_limit(u64 ns, bool coarse);

/* The caller has such a descriptor open, of whatever kind. */
bool host_fd_open(s32 fd);

/* The task's instrumentation needs changed (struct pmu, want()): make it leave translated code soon. Never blocks. */
void host_kick(task_id task);

#endif
