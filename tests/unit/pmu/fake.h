/*
 * The drivers' world: one task with a counter bank and counts that the test sets. Included once by each test program.
 */
#ifndef TESTS_UNIT_PMU_FAKE_H
#define TESTS_UNIT_PMU_FAKE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cpu/cpu.h"
#include "event/after.h"
#include "event/pmu.h"
#include "event/space.h"
#include "pmu/events.h"
#include "pmu/host.h"
#include "rt/refuse.h"
#include "tests/unit/host_copy.h"
#include "tests/unit/unit.h"

static struct {
	struct cpu cpu;
	struct bank bank;
} fake;
static u64 fake_counts[HOST_COUNTS], fake_clock, fake_mono;
static u32 fake_kicks;

struct refusal *refuse_slot(void)
{
	static struct refusal r;
	return &r;
}

u64 host_clock_mono(void)
{
	return fake_mono;
}

u64 host_task_clock(task_id task)
{
	return fake_clock;
}

u64 host_task_count(task_id task, enum host_count what)
{
	return fake_counts[what];
}

task_id host_current(void)
{
	return 1;
}

task_id host_find_task(s32 pid)
{
	return 0;
}

s32 host_task_tgid(task_id task)
{
	return 1;
}

s32 host_task_tid(task_id task)
{
	return 1;
}

u32 host_task_generation(task_id task)
{
	return 1;
}

int host_cgroup(s32 fd, struct cgroup_path *out)
{
	return -EBADF;
}

bool host_may_observe(task_id task)
{
	return true;
}

bool host_perfmon_capable(void)
{
	return true;
}

u32 host_nr_cpus(void)
{
	return 1;
}

bool host_cpu_online(u32 cpu)
{
	return cpu == 0;
}

u32 host_task_cpu(task_id task)
{
	return 0;
}

struct bank *host_task_bank(task_id task)
{
	return &fake.bank;
}

struct cpu *host_own_cpu(void)
{
	return &fake.cpu;
}

bool host_fd_open(s32 fd)
{
	return false;
}

void host_kick(task_id task)
{
	fake_kicks++;
}

/* The drivers have no records: what follows is only there to be linked. */
u64 host_clock_perf(void)
{
	return fake_mono;
}

u64 host_clock_by_id(s32 clockid)
{
	return fake_mono;
}

bool host_tsc(struct host_tsc *out)
{
	return false;
}

u32 host_pidns(void)
{
	return 0;
}

void host_task_ids(task_id task, u32 pidns, s32 *tgid, s32 *tid)
{
	*tgid = host_task_tgid(task);
	*tid = host_task_tid(task);
}

s32 host_task_ppid(task_id task, u32 pidns)
{
	return 0;
}

struct host_rings host_rings;

void host_ring_free(u32 page, u32 pages)
{
}

u64 host_memlock_pages(void)
{
	return 0;
}

bool host_may_lock(void)
{
	return false;
}

u32 host_uid(void)
{
	return 0;
}

void host_wake(u32 root, u32 pending_kill)
{
}

bool host_clock_limit(u64 ns, bool coarse)
{
	return true;
}

static inline void fake_session(void)
{
	void *mem = mmap(NULL, event_space_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);

	if (mem == MAP_FAILED)
		abort();
	event_space_attach(mem);
	section_host.after = event_after;
}

/* event/ refers to the drivers weakly, which does not link them from an archive: this does. */
static void (*const drivers[])(void) __attribute__((used)) = {hw_pmu_init, sw_pmu_init};

#endif
