/*
 * A small world for the event subsystem: tasks with clocks and cells that tests advance by hand, two CPUs, two PMU
 * drivers. Included once by each test program.
 *
 * run(task, n): the task executes n instructions, n/2 branches, and n ns of its CPU time and of wall time pass.
 */
#ifndef TESTS_UNIT_EVENT_FAKE_H
#define TESTS_UNIT_EVENT_FAKE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include "event/after.h"
#include "event/control.h"
#include "event/event.h"
#include "event/files.h"
#include "event/open.h"
#include "event/pmu.h"
#include "event/read.h"
#include "event/space.h"
#include "event/task.h"
#include "rt/refuse.h"
#include "tests/unit/host_copy.h"
#include "tests/unit/unit.h"

#ifndef FAKE_TASKS
#define FAKE_TASKS 64
#endif
#ifndef FAKE_CPUS
#define FAKE_CPUS 3 /* the last one is offline */
#endif
#define FAKE_CELLS 3 /* units 0 to 2 */
#define FAKE_RING_PAGES 4096

static struct {
	u64 clock, cell[FAKE_CELLS], free_running;
	u32 want, generation, cpu, kicks;
	u64 limit[FAKE_CELLS]; /* values of the cells at which the task is to be stopped */
	bool alive, hidden;
} fake[FAKE_TASKS];
static u64 fake_mono;
static bool fake_capable = true;
static task_id fake_current = 1;
#define fake_rings host_rings.memory /* shared with forked children */
static u64 fake_memlock = ~0ul;
static bool fake_may_lock;
static u32 fake_uid;
static u64 fake_clock_limit = ~0ul;
static bool fake_no_timer;
static struct {
	u32 calls, root, kill; /* the last one */
	u64 ns;		       /* that the task spends on each, and another task thereafter */
} fake_wakes;

struct refusal *refuse_slot(void)
{
	static struct refusal r;
	return &r;
}

u64 host_clock_mono(void)
{
	return fake_mono;
}

u64 host_clock_perf(void)
{
	return fake_mono;
}

u64 host_clock_by_id(s32 clockid)
{
	return fake_mono + 1000000ul * (u64)clockid;
}

bool host_tsc(struct host_tsc *out)
{
	*out = (struct host_tsc){.mult = 1u << 31, .shift = 31, .zero = 0};
	return true;
}

struct host_rings host_rings = {.pages = FAKE_RING_PAGES};

void host_ring_free(u32 page, u32 pages)
{
	memset(host_ring_page(page), 0, pages * PAGE_SIZE);
}

u64 host_memlock_pages(void)
{
	return fake_memlock;
}

bool host_may_lock(void)
{
	return fake_may_lock;
}

u32 host_uid(void)
{
	return fake_uid;
}

void host_wake(u32 root, u32 pending_kill)
{
	fake_wakes.calls++;
	fake_wakes.root = root;
	fake_wakes.kill = pending_kill;
	fake[fake_current].clock += fake_wakes.ns;
	fake_mono += 2 * fake_wakes.ns;
}

bool host_clock_limit(u64 ns, bool coarse)
{
	fake_clock_limit = ns;
	return !fake_no_timer;
}

u64 host_task_clock(task_id task)
{
	return fake[task].clock;
}

u64 host_task_count(task_id task, enum host_count what)
{
	return fake[task].free_running * (what + 1);
}

task_id host_current(void)
{
	return fake_current;
}

task_id host_find_task(s32 pid)
{
	return pid > 1000 && pid < 1000 + FAKE_TASKS && fake[pid - 1000].alive ? (task_id)(pid - 1000) : 0;
}

s32 host_task_tgid(task_id task)
{
	return (s32)task + 1000;
}

s32 host_task_tid(task_id task)
{
	return (s32)task + 1000;
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
	return 1000;
}

u32 host_task_generation(task_id task)
{
	return fake[task].generation;
}

/* Descriptors of directories: 100 and above. */
static const char *const fake_cgroups[] = {"/", "/a", "/a/b", "/b"};

int host_cgroup(s32 fd, struct cgroup_path *out)
{
	if (fd < 100)
		return -EBADF;
	if (fd - 100 >= (s32)ARRAY_SIZE(fake_cgroups))
		return -ENOENT;
	cgroup_path_of(fake_cgroups[fd - 100], out);
	return 0;
}

bool host_may_observe(task_id task)
{
	return !fake[task].hidden;
}

bool host_perfmon_capable(void)
{
	return fake_capable;
}

u32 host_nr_cpus(void)
{
	return FAKE_CPUS;
}

bool host_cpu_online(u32 cpu)
{
	return cpu < FAKE_CPUS - 1;
}

u32 host_task_cpu(task_id task)
{
	return fake[task].cpu;
}

void host_kick(task_id task)
{
	fake[task].kicks++;
}

bool host_fd_open(s32 fd)
{
	return fd == 0;
}

/* The driver of PERF_TYPE_RAW: config n is cell n, in unit n; the last one counts in quarters. */
static int fake_hw_init(const struct perf_attr *attr, struct event_source *out)
{
	if (attr->config >= FAKE_CELLS)
		return -ENOENT;
	*out = (struct event_source){
		.source = (u32)attr->config,
		.units = 1u << attr->config,
		.rdpmc = 1 + (u32)attr->config,
	};
	out->shift = attr->config == FAKE_CELLS - 1 ? 2 : 0;
	out->sampling_units = 1u << FAKE_CELLS;
	return 0;
}

static u64 fake_hw_read(task_id task, u32 source)
{
	return fake[task].cell[source];
}

static void fake_hw_want(task_id task, u32 units)
{
	fake[task].want = units;
}

static void fake_hw_limit(task_id task, const struct pmu_limit *limit, u32 n)
{
	memset(fake[task].limit, 0xff, sizeof(fake[task].limit));
	while (n--)
		fake[task].limit[limit[n].source] = fake[task].cell[limit[n].source] + pmu_limit_left(&limit[n]);
}

static const struct pmu fake_hw = {
	.name = "cpu",
	.type = PERF_TYPE_RAW,
	.capabilities = PMU_USER_ONLY,
	.event_init = fake_hw_init,
	.read = fake_hw_read,
	.want = fake_hw_want,
	.limit = fake_hw_limit,
};

/* PERF_TYPE_SOFTWARE: config 0 is the clock, 1 something free-running. */
static int fake_sw_init(const struct perf_attr *attr, struct event_source *out)
{
	if (attr->config > 1)
		return -ENOENT;
	*out = (struct event_source){.source = (u32)attr->config, .per_cpu = !attr->config};
	out->clock = !attr->config;
	out->polled = !out->clock;
	return 0;
}

static u64 fake_sw_read(task_id task, u32 source)
{
	if (!task)
		return fake_mono;
	return source ? fake[task].free_running : fake[task].clock;
}

static const struct pmu fake_sw = {
	.name = "software",
	.type = PERF_TYPE_SOFTWARE,
	.capabilities = PMU_SOFTWARE | PMU_ANY_CLOCK,
	.event_init = fake_sw_init,
	.read = fake_sw_read,
};

void hw_pmu_init(void)
{
	pmu_register(&fake_hw);
}

void sw_pmu_init(void)
{
	pmu_register(&fake_sw);
}

/* Cells advance only while they are wanted, as in translated code. */
static inline void run(task_id task, u64 n)
{
	fake[task].clock += n;
	fake_mono += n;
	fake[task].free_running += n;
	for (u32 c = 0; c < FAKE_CELLS; c++)
		if (fake[task].want >> c & 1)
			fake[task].cell[c] += c == 1 ? n / 2 : n;
}

static inline void *fake_map(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		abort();
	return mem;
}

static inline struct event_space *fake_space_map(void)
{
	return fake_map(event_space_size());
}

/* A new session with task 1. */
static inline void fake_session(void)
{
	if (event_space)
		munmap(event_space, event_space_size());
	if (fake_rings)
		munmap(fake_rings, FAKE_RING_PAGES * PAGE_SIZE);
	fake_rings = fake_map(FAKE_RING_PAGES * PAGE_SIZE);
	fake_memlock = ~0ul;
	fake_may_lock = false;
	fake_uid = 0;
	memset(&fake_wakes, 0, sizeof(fake_wakes));
	memset(fake, 0, sizeof(fake));
	fake[1].alive = true;
	fake_current = 1;
	fake_capable = true;
	event_space_attach(fake_space_map());
	section_host.after = event_after;
}

static inline int fake_fork(task_id parent, task_id child, u64 flags)
{
	u32 generation = fake[child].generation + 1;
	int err;

	memset(&fake[child], 0, sizeof(fake[child]));
	fake[child].generation = generation;
	fake[child].cpu = fake[parent].cpu;
	err = event_task_fork(parent, child, flags);
	fake[child].alive = !err;
	if (!err)
		event_task_moved(child); /* as its first step */
	return err;
}

static inline void fake_exit(task_id task)
{
	event_task_exit(task);
	fake[task].alive = false;
}

static inline struct perf_attr attr_of(u32 type, u64 config)
{
	return (struct perf_attr){
		.type = type, .size = sizeof(struct perf_attr), .config = config, .exclude_kernel = 1};
}

/* perf_event_open with the lowest free descriptor number; the descriptor or -errno. */
static inline long fake_open(struct perf_attr *attr, s32 pid, s32 cpu, s32 group_fd, u64 flags)
{
	static u64 inode = 100;
	struct event_request rq;
	int err = event_open_begin((gva)attr, pid, cpu, group_fd, flags, &rq);
	u64 fd = 3;

	if (err)
		return err;
	while (event_files_lookup(fake_current, fd))
		fd++;
	err = event_open_commit(&rq, fd, inode++);
	return err ? err : (long)fd;
}

static inline long open_simple(u32 type, u64 config, s32 group_fd)
{
	struct perf_attr attr = attr_of(type, config);

	return fake_open(&attr, 0, -1, group_fd, 0);
}

static inline long value_of(long fd)
{
	u64 v[8];
	long n = event_read(fake_current, (u64)fd, v, sizeof(v));

	return n < 0 ? n : (long)v[0];
}

static inline int control(long fd, u32 cmd, u64 arg)
{
	return event_ioctl(fake_current, (u64)fd, cmd, arg);
}

/* The subsystem's own consistency, after anything. */
static inline void expect_valid(const char *where)
{
	const char *why;

	event_lock();
	why = event_validate();
	event_unlock();
	unit_checks++;
	if (why) {
		unit_failures++;
		fprintf(stderr, "%s: %s\n", where, why);
	}
}

/* Closes everything that the task has; nothing may be left of it. */
static inline void expect_empty(void)
{
	event_files_close_range(fake_current, 0, ~0ul);
	expect_valid("at the end");
	expect_long(event_count(), 0);
}

#endif
