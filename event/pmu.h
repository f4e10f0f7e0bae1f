/*
 * PMU drivers: where events of one attr.type come from.
 *
 * A driver offers free-running 64-bit sources: numbers per task that only grow. An event's value is the sum of what its
 * source advanced by while the event was scheduled in, so any number of events may use one source and no event ever
 * waits for a counter. What costs something while it is needed is a unit (0 to EVENT_UNITS - 1, one meaning for all
 * drivers); the core counts the events on each unit of each task and tells the drivers which are needed.
 *
 * Drivers register once per process, always in the same order: an event in the session's memory names its driver
 * by number. hw_pmu_init(), sw_pmu_init(), bp_pmu_init(), tp_pmu_init() and uprobe_pmu_init() are weak: an architecture
 * or a test that has none leaves them out.
 *
 * Context: event_init() may be called without locks, the others are with event_lock() or the lock of the task's
 * context. None of them may block.
 */
#ifndef EVENT_PMU_H
#define EVENT_PMU_H

#include "abi/perf.h"
#include "event/filter.h"
#include "event/host.h"

#define PMU_MAX 8
#define EVENT_UNITS 32
/*
 * Tracepoints, a unit for each enum tracepoint_kind (pmu/tracepoint.h): os/ looks at event_ctx.units at every system
 * call and whenever one of the others happens.
 */
#define EVENT_UNIT_TRACE (1u << 27)
#define EVENT_UNITS_TRACE (31u << 27)
#define EVENT_UNITS_CALLS (15u << 27) /* those at system calls */
#define EVENT_UNIT_TASKS (16u << 27)  /* what happens to tasks */

/* What the driver makes of an attr. */
struct event_source {
	u32 source;  /* the driver's own name for it, passed to read() */
	u32 units;   /* bit per unit that it needs; 0: costs nothing */
	u8 shift;    /* values given to users are divided by 2^shift */
	u8 per_cpu;  /* read(0, source) is meaningful: a per-CPU event needs no per-task children */
	u8 hits;     /* not read(): the event's own event.hits, which event_hit() advances */
	u8 clock;    /* a task's clock: what limits it is not the driver but host_clock_limit() */
	u8 polled;   /* overflows are only noticed by event_poll(): nothing stops the task where its limit is reached */
	u8 never_runs; /* nothing counts it: it stays 0, and its time_running, too */
	u32 sampling_units; /* needed besides, by an event that samples */
	u32 rdpmc;   /* 1 + the number of the counter that rdpmc reads, see event/userpage.h; 0: there is none */
};

/* Where a source stands, and where the next event overflows, in the source's own unit; ~0: none does. */
struct pmu_limit {
	u32 pmu, source;
	u64 now, next;
	bool adaptive; /* for frequencies only: their periods follow the task's pace */
};

/* How far that is. */
static inline __attribute__((always_inline)) u64 pmu_limit_left(const struct pmu_limit *l)
{
	return l->next > l->now ? l->next - l->now : 1;
}

/* Capabilities. */
#define PMU_USER_ONLY 1u  /* cannot see kernel mode: needs exclude_kernel at perf_event_paranoid 2, whoever asks */
#define PMU_SOFTWARE 2u	  /* may be in a group with events of any driver */
#define PMU_ANY_CLOCK 4u  /* takes every attr.clockid; others only the clocks that are safe in NMIs */

struct pmu {
	const char *name; /* in /sys/bus/event_source/devices */
	u32 type;	  /* attr.type */
	u32 capabilities;

	/*
	 * Decides whether the driver counts this. 0: yes, *out is filled in. -ENOENT: not an event of mine, others are
	 * asked. Any other error ends the open. No effects.
	 */
	int (*event_init)(const struct perf_attr *attr, struct event_source *out);

	/* The source's present value for a task; final once the task is dead. */
	u64 (*read)(task_id task, u32 source);

	/* Which units (bit mask) the task must advance from now on. NULL if the driver has no units. */
	void (*want)(task_id task, u32 units);

	/*
	 * In the task itself: stop it where a source reaches its limit, at exactly that instruction; os/ then calls
	 * event_overflow(). Replaces all limits given before; sources that are not named have none.
	 * NULL: the driver has no sources but clocks and those that are polled or hit.
	 */
	void (*limit)(task_id task, const struct pmu_limit *limit, u32 n);

	/*
	 * The fields of the records that events with a source write: what their filters may name. NULL: they take no
	 * filters.
	 */
	filter_fields *field;
};

/* The read() of a driver that is never asked: its events are hit. */
u64 pmu_no_count(task_id task, u32 source);

int pmu_register(const struct pmu *pmu); /* its number, or -ENOSPC */
const struct pmu *pmu_by_number(u32 nr); /* any: one that counts nothing has the other numbers */
const struct pmu *pmu_or_null(u32 nr);

/* True if events of this attr.type would be counted by a driver with PMU_USER_ONLY. */
bool pmu_type_user_only(u32 type);

/*
 * The kernel's perf_init_event(): finds the driver for an attr. 0, with the driver's number and its source; or
 * -ENOENT, or what the driver said. PERF_TYPE_HARDWARE and PERF_TYPE_HW_CACHE belong to the driver of PERF_TYPE_RAW.
 */
int pmu_find(const struct perf_attr *attr, u32 *nr, struct event_source *out);

void pmu_init(void); /* calls those below, once */
void hw_pmu_init(void);
void sw_pmu_init(void);
void bp_pmu_init(void);
void tp_pmu_init(void);
void uprobe_pmu_init(void);

#endif
