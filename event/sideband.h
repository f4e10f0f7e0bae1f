/*
 * Side-band records: what happens to tasks, for whoever reads samples later. From os/ to the rings of the
 * task's events (its own contexts') and of per-CPU events on its CPU that ask for them in attr.
 *
 * Every function takes event_lock() if, and only if, an event wants the record. Addresses and files are the guest's.
 */
#ifndef EVENT_SIDEBAND_H
#define EVENT_SIDEBAND_H

#include "event/space.h"

/* What attrs ask for. */
#define SB_MMAP	      1u /* attr.mmap (executable mappings) */
#define SB_MMAP_DATA  2u /* attr.mmap_data (the others) */
#define SB_COMM	      4u
#define SB_TASK	      8u /* FORK and EXIT: attr.task, mmap, mmap_data or comm */
#define SB_SWITCH     16u
#define SB_NAMESPACES 32u
#define SB_CGROUP     64u
#define SB_BUILD_ID   128u /* attr.build_id, besides SB_MMAP */
#define SB_MUNMAP     256u /* these two of events of 2009 only: executable mappings that go, */
#define SB_BIRTH      512u /* and COMM when a task is made */

u32 sideband_of(const struct event *e);

static inline bool sideband_wanted(task_id task, u32 what)
{
	u32 any;

	if (likely(!__atomic_load_n(&event_space->opened, __ATOMIC_RELAXED)))
		return false;
	any = __atomic_load_n(&event_ctx(task)->sideband, __ATOMIC_RELAXED) |
	      __atomic_load_n(&event_space->sideband, __ATOMIC_RELAXED);
	return any & what;
}

struct sideband_mmap {
	u64 addr, len, pgoff; /* pgoff in bytes */
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;      /* PROT_*, MAP_* */
	bool misc_exec;	      /* false: PERF_RECORD_MISC_MMAP_DATA */
	const char *filename; /* as Linux names it: a path, "//anon", "[vdso]", "[heap]", ... */
	const u8 *build_id;   /* NULL: not known */
	u32 build_id_size;    /* at most 20 */
};

void sideband_mmap(task_id task, const struct sideband_mmap *m);
/* It was there, and is so no more: records of 2009. */
void sideband_munmap(task_id task, const struct sideband_mmap *m);
/* A new task has that name: likewise. */
void sideband_birth(task_id parent, task_id child, const char *comm);
/* of: whose name it is, as a rule the task's own. */
void sideband_comm(task_id task, task_id of, const char *comm, bool exec);

struct sideband_switch {
	bool out, preempted;
	u64 time; /* host_clock_perf() when it happened */
};
void sideband_switch(task_id task, const struct sideband_switch *s);

#define SIDEBAND_NAMESPACES 7 /* net, uts, ipc, pid, user, mnt, cgroup */
struct sideband_namespaces {
	task_id task; /* the one that is in them: the one that does it, or one that it has made */
	struct {
		u64 dev, ino;
	} ns[SIDEBAND_NAMESPACES];
};
void sideband_namespaces(task_id task, const struct sideband_namespaces *ns);
/* A cgroup was made. */
void sideband_cgroup(task_id task, u64 id, const char *path);

/* For the other files of event/, with event_lock(); sideband_throttle_locked() with the lock of e's context. */
void sideband_fork_locked(task_id parent, task_id child, const struct sideband_namespaces *ns); /* ns: or NULL */
void sideband_exit_locked(task_id task);
void sideband_read_locked(
	struct event *child); /* PERF_RECORD_READ of attr.inherit_stat, when an inherited event ends */
void sideband_throttle_locked(struct event *e, bool throttled);

/* What the events of a task (0: the per-CPU events) want, SB_*; and keeps it in ctx.sideband (space.sideband). */
u32 sideband_of_ctx(task_id task);
void sideband_sync_locked(task_id task);

#endif
