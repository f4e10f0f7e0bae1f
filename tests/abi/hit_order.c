/*
 * Several events of one tracepoint, breakpoint or page fault: in which order they are hit (event/order.h), which is
 * that of their records in one ring. Random sets of them: some are pinned, some in groups, also of leaders of other
 * PMUs, some per-CPU, some enabled later; a leader may be closed. The task sleeps before the hit, since Linux puts
 * right only then what comes of a member in another PMU's group, or of a leader's end.
 * covers: PERF_TYPE_BREAKPOINT, PERF_TYPE_TRACEPOINT, attr.pinned
 */
#include <sched.h>
#include <linux/hw_breakpoint.h>
#include "tests/abi/tracepoint.h"

#define EVENTS	7
#define SEEDS	40
#define OTHERS	3 /* leaders of other PMUs than that which is tested */
#define DATA	(TRACE_RING - 4096)

enum kind { TRACEPOINT, BREAKPOINT, FAULT };

struct opened {
	int fd;	 /* -1: closed */
	int leader; /* itself if it leads */
	int pinned, per_cpu, age;
	int hit;  /* it is of what is tested */
	u32 pmu;  /* Linux's number */
	u64 id;	  /* or what it counts, where records do not name it */
};

static struct opened event[EVENTS];
static int events, ages, cpu, sees_kernel;
static enum kind kind;
static struct perf_event_mmap_page *page;
static char *fault_at;
static unsigned variable;
static u64 seed;

static u32 pick(u32 n)
{
	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return (u32)(seed >> 33) % n;
}

__attribute__((noinline, noclone)) static void target(void)
{
	__asm__ volatile("" ::: "memory");
}

static struct perf_attr attr_of(u32 type, u64 config)
{
	return (struct perf_attr){
		.type = type, .size = sizeof(struct perf_attr), .config = config, .exclude_kernel = 1};
}

static struct perf_attr attr_hit(void)
{
	struct perf_attr a;

	if (kind == TRACEPOINT)
		return trace_attr("syscalls/sys_enter_getppid");
	if (kind == FAULT) {
		a = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
		if (sees_kernel && pick(2))
			a.exclude_kernel = 0;
		return a;
	}
	a = attr_of(PERF_TYPE_BREAKPOINT, 0);
	a.bp_type = HW_BREAKPOINT_X;
	a.bp_addr = (u64)target;
	a.bp_len = sizeof(long);
	return a;
}

static struct perf_attr attr_other(u32 which)
{
	struct perf_attr a = attr_of(PERF_TYPE_BREAKPOINT, 0);

	if (which == 0)
		return attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	if (which == 1)
		return attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (u64)&variable;
	a.bp_len = sizeof(variable);
	return a;
}

static u32 pmu_of(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_TASK_CLOCK ? 7 : a->type;
}

static void happen(void)
{
	if (kind == TRACEPOINT)
		call_getppid(1);
	else if (kind == BREAKPOINT)
		target();
	else if (!madvise(fault_at, 4096, MADV_DONTNEED))
		*(volatile char *)fault_at = 1;
}

/* ---- the events ---- */

static void share_ring(const struct opened *o)
{
	for (int i = 0; i < events; i++)
		if (event[i].hit) {
			expect(perf_ioctl(o->fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)event[i].fd), 0);
			return;
		}
	page = mmap(NULL, TRACE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
	expect(page != MAP_FAILED, 1);
	if (page == MAP_FAILED)
		exit(1);
	page->data_tail = 0; /* a page fault, which is not to be another one's */
}

static void open_one(struct perf_attr a, int hit, int system)
{
	struct opened *o = &event[events];
	int leads = !events || pick(3);

	*o = (struct opened){.leader = events, .age = ages++, .hit = hit, .pmu = pmu_of(&a)};
	if (leads) {
		o->pinned = !pick(3);
		o->per_cpu = system && pick(2);
	} else {
		o->leader = event[pick((u32)events)].leader;
		o->per_cpu = event[o->leader].per_cpu;
	}
	if (o->pinned)
		a.pinned = 1;
	a.disabled = !pick(3);
	if (hit) {
		a.sample_period = 1;
		a.sample_type = PERF_SAMPLE_TID | (kind == FAULT ? PERF_SAMPLE_READ : PERF_SAMPLE_ID);
	}
	o->fd = (int)perf_open(&a, o->per_cpu ? -1 : 0, system ? cpu : -1, leads ? -1 : event[o->leader].fd, 0);
	expect(o->fd < 0 ? o->fd : 0, 0);
	perf_ioctl(o->fd, PERF_EVENT_IOC_ID, (unsigned long)&o->id);
	if (hit)
		share_ring(o);
	events++;
}

static void open_all(int system, int mixed)
{
	u32 others = 0;

	events = ages = 0;
	open_one(attr_hit(), 1, system);
	while (events < (kind == BREAKPOINT ? 3 : EVENTS))
		if (mixed && others < OTHERS && !pick(3))
			open_one(attr_other(others++), 0, system);
		else
			open_one(attr_hit(), 1, system);
	for (int i = events - 1; i >= 0; i--)
		perf_ioctl(event[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void close_one(struct opened *o)
{
	close(o->fd);
	o->fd = -1;
	o->hit = 0;
	for (int i = 0; i < events; i++)
		if (event[i].fd >= 0 && event[i].leader == o - event) {
			event[i].leader = i;
			event[i].age = ages++;
		}
}

/* Records of page faults all have the first one's id (a quirk of Linux), but each event's own count. */
static void count_differently(void)
{
	for (int i = 0; i < events; i++) {
		perf_ioctl(event[i].fd, PERF_EVENT_IOC_RESET, 0);
		happen();
	}
	for (int i = 0; i < events; i++)
		if (event[i].hit)
			event[i].id = (u64)perf_value(event[i].fd) + 1;
}

/* ---- the order ---- */

static int before(const void *first, const void *second)
{
	const struct opened *a = first, *b = second, *la = &event[a->leader], *lb = &event[b->leader];

	if (la->pinned != lb->pinned)
		return lb->pinned - la->pinned;
	if (la->per_cpu != lb->per_cpu)
		return lb->per_cpu - la->per_cpu;
	if (la->pmu != lb->pmu)
		return (int)la->pmu - (int)lb->pmu;
	if (la != lb)
		return la->age - lb->age;
	return a->age - b->age; /* the leader is the oldest */
}

/* The next record of this process, up to a place in the ring; 0: there is none. */
static u64 next_record(u64 *at, u64 end)
{
	while (*at < end) {
		const struct perf_event_header *h = (const void *)((const char *)page + 4096 + *at % DATA);
		u64 words[2];

		memcpy(words, h + 1, sizeof(words));
		*at += h->size;
		if (h->type == PERF_RECORD_SAMPLE && (u32)words[0] == (u32)getpid())
			return words[1];
	}
	return 0;
}

static void test_one(int system, int mixed, int closes)
{
	struct opened sorted[EVENTS];
	int n = 0, bad = failures;
	u64 at, end;

	open_all(system, mixed);
	if (closes)
		close_one(&event[1 + pick((u32)events - 1)]);
	usleep(1000);
	if (kind == FAULT)
		count_differently();
	at = page->data_head;
	happen();
	end = page->data_head;
	for (int i = 0; i < events; i++) /* their places among all are what a leader is found by */
		if (event[i].hit)
			sorted[n++] = event[i];
	qsort(sorted, (size_t)n, sizeof(*sorted), before);
	for (int i = 0; i < n; i++)
		expect(next_record(&at, end), sorted[kind == BREAKPOINT ? i : n - 1 - i].id);
	expect(next_record(&at, end), 0);
	if (failures != bad)
		printf("kind %u, system %d, mixed %d, closes %d\n", kind, system, mixed, closes);
	munmap(page, TRACE_RING);
	for (int i = 0; i < events; i++)
		if (event[i].fd >= 0)
			close(event[i].fd);
}

static void test(enum kind k, int may_see_all)
{
	kind = k;
	for (u32 i = 0; i < SEEDS && !failures; i++) {
		seed = i + SEEDS * k;
		test_one(0, 1, (int)pick(2));
		if (may_see_all && k != FAULT) /* others have faults, too */
			test_one(1, 0, 0);
	}
}

/* Stays on one CPU. True: it may have per-CPU events there. */
static int settle(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	cpu_set_t set;

	a.exclude_kernel = 0;
	sees_kernel = !perf_try(a, 0, -1, -1, 0);
	a.exclude_kernel = 1;
	cpu = sched_getcpu();
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set) && !perf_try(a, -1, cpu, -1, 0);
}

int main(void)
{
	int may_see_all;

	trace_skip_without();
	may_see_all = settle();
	fault_at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	test(TRACEPOINT, may_see_all);
	test(BREAKPOINT, may_see_all);
	test(FAULT, may_see_all);
	return perf_result();
}
