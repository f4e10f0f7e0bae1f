/*
 * A group that is read with PERF_FORMAT_GROUP is added up over its children as long as each of these has the same
 * group: ECHILD while one has not, since an event was added meanwhile, or removed by an exec.
 * covers: PERF_FORMAT_GROUP, attr.inherit, attr.inherit_stat, attr.remove_on_exec
 */
#include <sched.h>
#include "tests/abi/breakpoint.h"

#define PR_SUBREAPER 36 /* PR_SET_CHILD_SUBREAPER */

static volatile long watched[3];
static int go[2], done[2];

/* Leader, member, and one that is added; of each one hit. */
static NOINLINE void hit_all(void)
{
	for (int i = 0; i < 3; i++)
		watched[i] = 1;
}

static long open_event(int which, long leader, int cpu, int remove)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &watched[which], 8);

	a.inherit = 1;
	a.remove_on_exec = (unsigned)remove;
	a.read_format = leader < 0 ? PERF_FORMAT_GROUP : 0;
	return perf_open(&a, 0, cpu, (int)leader, PERF_FLAG_FD_CLOEXEC);
}

/* The values as digits behind their number, or -errno. */
static long sums(long leader)
{
	long v[4], n = read((int)leader, v, sizeof(v)), digits = 0;

	if (n < 0)
		return -errno;
	for (long i = 0; i < n / 8; i++)
		digits = digits * 10 + v[i];
	return digits;
}

static void exec_again(void)
{
	char in[16], out[16];
	char *argv[] = {"inherit_groups", in, out, NULL};

	snprintf(in, sizeof(in), "%d", go[0]);
	snprintf(out, sizeof(out), "%d", done[1]);
	execv("/proc/self/exe", argv);
	_exit(1);
}

/* Does what it is told: hit, fork and leave the child in its place, exec. */
static void obey(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1) {
		if (c == 'h')
			hit_all();
		if (c == 'f' && fork())
			break;
		if (c == 'x')
			exec_again();
		if (write(out, &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* It has no descriptor of the group: an event is closed with the last one. */
static void start_child(long leader, long member)
{
	expect(pipe(go) | pipe(done), 0);
	if (fork())
		return;
	close((int)leader);
	close((int)member);
	close(go[1]);
	obey(go[0], done[1]);
}

static void tell(char c)
{
	expect(write(go[1], &c, 1), 1);
	expect(read(done[0], &c, 1), 1);
}

static void end_children(void)
{
	close(go[1]);
	while (wait(NULL) > 0)
		;
	close(go[0]);
	close(done[0]);
	close(done[1]);
}

static void added(int cpu)
{
	long leader = open_event(0, -1, cpu, 0), member = open_event(1, leader, cpu, 0), other;

	start_child(leader, member);
	tell('h');
	expect(sums(leader), 211);
	other = open_event(2, leader, cpu, 0);
	expect(sums(leader), -ECHILD);
	tell('h');
	expect(sums(leader), -ECHILD);
	expect(perf_value(member), 2);
	tell('f'); /* what the child inherits is the child's group */
	tell('h');
	expect(sums(leader), -ECHILD);
	end_children();
	expect(sums(leader), 3330);
	hit_all();
	expect(sums(leader), 3441);
	close((int)leader);
	close((int)member);
	close((int)other);
}

static void closed(int cpu)
{
	long leader = open_event(0, -1, cpu, 0), member = open_event(1, leader, cpu, 0);

	start_child(leader, member);
	tell('h');
	close((int)member); /* and the child's is gone, too */
	expect(sums(leader), 11);
	tell('h');
	expect(sums(leader), 12);
	member = open_event(2, leader, cpu, 0); /* as many as there were, but another one */
	expect(sums(leader), -ECHILD);
	close((int)member);
	expect(sums(leader), -ECHILD);
	end_children();
	expect(sums(leader), 12);
	close((int)leader);
}

/* Of a member whose leader is gone nothing is added, nor is it an error. */
static void removed(int cpu, int remove_leader, int remove_member, long want)
{
	long leader = open_event(0, -1, cpu, remove_leader), member = open_event(1, leader, cpu, remove_member);

	hit_all();
	start_child(leader, member);
	tell('h');
	expect(sums(leader), 222);
	tell('x');
	expect(sums(leader), want);
	expect(perf_value(member), 2);
	end_children();
	expect(sums(leader), 222);
	close((int)leader);
	close((int)member);
}

static struct perf_event_mmap_page *map_ring(long fd)
{
	void *p = mmap(NULL, BP_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);

	expect(p != MAP_FAILED, 1);
	return p == MAP_FAILED ? NULL : p;
}

/* What the only record, of type READ, says behind pid and tid: digits as sums(). */
static long recorded(const struct perf_event_mmap_page *page)
{
	const struct perf_event_header *h = (const void *)((const char *)page + 4096);
	const u64 *v = (const u64 *)(h + 1);
	long digits = 0;

	expect(h->type, PERF_RECORD_READ);
	expect(page->data_head, h->size);
	for (int i = 1; i < (h->size - 8) / 8; i++)
		digits = digits * 10 + (long)v[i];
	return digits;
}

/* Of what a task has, the newest ends first: the leader's record has no member any more. */
static void read_records(int cpu)
{
	struct perf_attr a = bp_attr(HW_BREAKPOINT_W, &watched[0], 8);
	struct perf_event_mmap_page *page[2];
	long leader, member;

	a.inherit = a.inherit_stat = 1;
	a.read_format = PERF_FORMAT_GROUP;
	leader = perf_open(&a, 0, cpu, -1, 0);
	a.bp_addr = (u64)&watched[1];
	member = perf_open(&a, 0, cpu, (int)leader, 0);
	page[0] = map_ring(leader);
	page[1] = map_ring(member);
	if (!fork()) {
		hit_all();
		watched[1] = 2;
		_exit(0);
	}
	wait(NULL);
	expect(recorded(page[1]), 212);
	expect(recorded(page[0]), 11);
	munmap(page[0], BP_RING);
	munmap(page[1], BP_RING);
	close((int)leader);
	close((int)member);
}

static void test_all(int cpu)
{
	added(cpu);
	closed(cpu);
	removed(cpu, 0, 0, 222);
	removed(cpu, 0, 1, -ECHILD);
	removed(cpu, 1, 0, 221);
	removed(cpu, 1, 1, 222);
}

/*
 * An event that no child has: or Linux, to save time, lets a parent and a child exchange their events where their
 * contexts are alike, and an exec removes the parent's.
 */
static void be_unlike_children(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	expect(perf_open(&a, 0, -1, -1, 0) >= 0, 1);
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	int cpu;

	if (argc > 2) {
		expect(write(atoi(argv[2]), "x", 1), 1);
		obey(atoi(argv[1]), atoi(argv[2]));
	}
	bp_skip_without();
	be_unlike_children();
	prctl(PR_SUBREAPER, 1, 0, 0, 0);
	test_all(-1);
	/* Children on a CPU of their own are made when they are needed. */
	cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	expect(sched_setaffinity(0, sizeof(one), &one), 0);
	test_all(cpu);
	read_records(cpu); /* a ring of inherited events must be a CPU's */
	return perf_result();
}
