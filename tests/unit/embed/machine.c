/*
 * event/ in another system: a machine with a clock and no counters of its own, as design.txt's "Architectures without
 * hardware metrics". This is all that such a system needs: the functions of event/host.h, one PMU driver, and five
 * calls from its scheduler and its timer interrupt. It is linked with event/, abi/ and rt/ only (tools/test.mk).
 *
 * The machine's programs are numbers of functions that each take a known time, so every count and every sample is
 * known.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "event/after.h"
#include "event/control.h"
#include "event/event.h"
#include "event/files.h"
#include "event/map.h"
#include "event/open.h"
#include "event/overflow.h"
#include "event/read.h"
#include "event/task.h"
#include "rt/refuse.h"
#include "tests/unit/unit.h"

#define TASKS 4
#define RING_PAGES 64
#define NEVER (~0ul)

/* ---- the machine ---- */

static struct {
	bool alive;
	u32 generation, switches;
	u64 clock;	/* ns */
} tasks[TASKS];
static u64 now;		     /* ns since it was switched on */
static task_id current = 1;
static u64 alarm_at = NEVER; /* of the current task's clock: when the timer interrupts it */

struct host_rings host_rings = {.pages = RING_PAGES};

u64 host_clock_mono(void) { return now; }
u64 host_clock_perf(void) { return now; }
u64 host_clock_by_id(s32 clockid) { return now; }
bool host_tsc(struct host_tsc *out) { return false; }
u64 host_task_clock(task_id task) { return tasks[task].clock; }
u64 host_task_count(task_id task, enum host_count what) { return what == HOST_SWITCHES ? tasks[task].switches : 0; }

task_id host_current(void) { return current; }
task_id host_find_task(s32 pid) { return pid > 0 && pid < TASKS && tasks[pid].alive ? (task_id)pid : 0; }
s32 host_task_tgid(task_id task) { return (s32)task; }
s32 host_task_tid(task_id task) { return (s32)task; }
u32 host_task_generation(task_id task) { return tasks[task].generation; }
void host_task_ids(task_id task, u32 pidns, s32 *tgid, s32 *tid) { *tgid = *tid = (s32)task; }
s32 host_task_ppid(task_id task, u32 pidns) { return task > 1; }
u32 host_pidns(void) { return 0; }
bool host_may_observe(task_id task) { return true; }
int host_cgroup(s32 fd, struct cgroup_path *out) { return -9; /* EBADF */ }
bool host_perfmon_capable(void) { return true; }

u32 host_nr_cpus(void) { return 1; }
bool host_cpu_online(u32 cpu) { return cpu == 0; }
u32 host_task_cpu(task_id task) { return 0; }

void host_ring_free(u32 page, u32 pages) { memset(host_ring_page(page), 0, pages * PAGE_SIZE); }
u64 host_memlock_pages(void) { return ~0ul; }
bool host_may_lock(void) { return true; }
u32 host_uid(void) { return 0; }
bool host_fd_open(s32 fd) { return false; }
void host_wake(u32 root, u32 pending_kill) {}
void host_kick(task_id task) {}

bool host_clock_limit(u64 ns, bool coarse)
{
	alarm_at = ns == NEVER ? NEVER : tasks[current].clock + ns;
	return true;
}

int host_copy_in(void *to, gva from, size_t n)
{
	memcpy(to, (const void *)from, n);
	return 0;
}

int host_copy_out(gva to, const void *from, size_t n)
{
	memcpy((void *)to, from, n);
	return 0;
}

long host_copy_string(char *to, gva from, size_t size)
{
	return -EFAULT;
}

struct refusal *refuse_slot(void)
{
	static struct refusal r;

	return &r;
}

/* ---- the driver: clocks and context switches ---- */

static int clocks_init(const struct perf_attr *attr, struct event_source *out)
{
	switch (attr->config) {
	case PERF_COUNT_SW_CPU_CLOCK:
	case PERF_COUNT_SW_TASK_CLOCK:
		*out = (struct event_source){.source = HOST_COUNTS, .clock = 1, .per_cpu = 1};
		return 0;
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		*out = (struct event_source){.source = HOST_SWITCHES, .polled = 1};
		return 0;
	default:
		return -ENOENT;
	}
}

static u64 clocks_read(task_id task, u32 source)
{
	if (source != HOST_COUNTS)
		return host_task_count(task, source);
	return task ? host_task_clock(task) : host_clock_mono();
}

static const struct pmu clocks = {
	.name = "software",
	.type = PERF_TYPE_SOFTWARE,
	.capabilities = PMU_SOFTWARE | PMU_ANY_CLOCK,
	.event_init = clocks_init,
	.read = clocks_read,
};

void sw_pmu_init(void)
{
	pmu_register(&clocks);
}

/* ---- the scheduler and the timer interrupt ---- */

static void timer_interrupt(u64 ip)
{
	struct snapshot snap = {.task = current, .ip = ip};
	struct overflow_result result;

	alarm_at = NEVER;
	event_overflow(current, &snap, &result);
}

/* The current task calls the function at ip, which takes so long. */
static void call(u64 ip, u64 ns)
{
	while (ns) {
		u64 until;

		if (event_ctx(current)->rearm)
			event_arm(current);
		until = alarm_at - tasks[current].clock;
		until = MIN(ns, until);
		tasks[current].clock += until;
		now += until;
		ns -= until;
		if (tasks[current].clock == alarm_at)
			timer_interrupt(ip);
	}
}

static void switch_to(task_id task)
{
	tasks[current].switches++;
	current = task;
	alarm_at = NEVER;
	event_task_moved(task);
	event_ctx(task)->rearm = 1; /* the timer was another task's */
}

static void fork_task(task_id child)
{
	tasks[child].generation++;
	expect_long(event_task_fork(current, child, 0), 0);
	tasks[child].alive = true;
}

static void exit_task(task_id next)
{
	event_task_exit(current);
	tasks[current].alive = false;
	switch_to(next);
}

static void *map_memory(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem == MAP_FAILED)
		abort();
	return mem;
}

static void switch_on(void)
{
	host_rings.memory = map_memory(RING_PAGES * PAGE_SIZE);
	tasks[1].alive = true;
	event_space_attach(map_memory(event_space_size()));
	section_host.after = event_after;
}

/* ---- what its programs do ---- */

static long open_event(struct perf_attr *attr, s32 pid, s32 cpu)
{
	static u64 descriptors = 3;
	struct event_request rq;
	int err = event_open_begin((gva)attr, pid, cpu, -1, 0, &rq);

	if (err)
		return err;
	err = event_open_commit(&rq, descriptors, 100 + descriptors);
	return err ? err : (long)descriptors++;
}

static u64 value_of(long fd)
{
	u64 value[4];

	return event_read(current, (u64)fd, value, sizeof(value)) > 0 ? value[0] : NEVER;
}

static struct perf_attr attr_of(u64 config)
{
	return (struct perf_attr){.type = PERF_TYPE_SOFTWARE, .size = sizeof(struct perf_attr), .config = config};
}

static void test_counting(void)
{
	struct perf_attr clock = attr_of(PERF_COUNT_SW_TASK_CLOCK), switches = attr_of(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct perf_attr unknown = attr_of(PERF_COUNT_SW_EMULATION_FAULTS), hardware = {.size = sizeof(hardware)};
	struct perf_attr cpu = attr_of(PERF_COUNT_SW_CPU_CLOCK);
	long own, all, switched;

	expect_long(open_event(&unknown, 0, -1), -ENOENT);
	expect_long(open_event(&hardware, 0, -1), -ENOENT);
	clock.inherit = switches.inherit = 1;
	own = open_event(&clock, 0, -1);
	switched = open_event(&switches, 0, -1);
	all = open_event(&cpu, -1, 0);
	call(0x1000, 700);
	expect_long(value_of(own), 700);
	fork_task(2);
	switch_to(2);
	call(0x2000, 300);
	switch_to(1);
	call(0x1000, 50);
	expect_long(value_of(own), 1050);
	expect_long(value_of(switched), 2);
	expect_long(event_ioctl(1, (u64)own, PERF_EVENT_IOC_DISABLE, 0), 0);
	switch_to(2);
	call(0x2000, 400);
	exit_task(1);
	expect_long(value_of(own), 1050);
	expect_long(value_of(all), 1450);
	event_files_close_range(1, 0, ~0ul);
	expect_long(event_count(), 0);
}

/* Every 100 us of CPU time, wherever that is spent. */
static void test_sampling(void)
{
	struct perf_attr attr = attr_of(PERF_COUNT_SW_CPU_CLOCK);
	struct event_map_request map = {.len = 9 * PAGE_SIZE, .prot = 3, .flags = 1, .addr = 0x10000};
	struct perf_event_mmap_page *page;
	struct sample {
		struct perf_event_header header;
		u64 ip, time;
	} *s;
	u32 in[3] = {0, 0, 0};
	u64 last = 0;
	long fd;

	attr.sample_period = 100000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
	fd = open_event(&attr, 0, -1);
	expect_long(event_map_begin(1, (u64)fd, &map), 0);
	event_map_commit(&map);
	page = host_ring_page(map.page);
	for (u32 round = 0; round < 20; round++) {
		call(0x1000, 230000);
		fork_task(2);
		switch_to(2);
		call(0x3000, 1000000); /* is not inherited */
		exit_task(1);
		call(0x2000, 70000);
	}
	for (u64 at = 0; at < page->data_head; at += s->header.size) {
		s = host_ring_page(map.page + 1) + at;
		expect_long(s->header.type, PERF_RECORD_SAMPLE);
		expect_long(s->header.size, sizeof(*s));
		expect(s->time > last && s->ip >> 12 < ARRAY_SIZE(in));
		last = s->time;
		in[s->ip >> 12 & 3]++;
	}
	expect_long(in[0] + in[1] + in[2], value_of(fd) / 100000);
	expect_long(in[1], 40);
	expect_long(in[2], 20);
	event_files_close_range(1, 0, ~0ul);
	event_map_remove_begin(1, map.addr, map.addr + map.len);
	event_map_remove_end(1, map.addr, map.addr + map.len, true);
	expect_long(event_count(), 0);
}

int main(void)
{
	switch_on();
	test_counting();
	test_sampling();
	return unit_result();
}
