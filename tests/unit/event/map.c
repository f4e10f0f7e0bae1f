/*
 * Mappings of events: checks, whose locked memory, references, redirection, address spaces, and the first page.
 * covers: perf_event_paranoid -1
 */
#include <time.h>
#include "event/map.h"
#include "event/ring.h"
#include "event/userpage.h"
#include "tests/unit/event/random_calls.h"

#define RW 3
#define SHARED 1

static gva next_addr;

static int try_map(long fd, u64 pages, u32 prot, struct event_map_request *rq)
{
	int err;

	*rq = (struct event_map_request){.len = pages * PAGE_SIZE, .prot = prot, .flags = SHARED};
	err = event_map_begin(fake_current, (u64)fd, rq);
	if (err)
		return err;
	rq->addr = next_addr += 0x1000000;
	event_map_commit(rq);
	return 0;
}

/* The address, or -errno. */
static long map(long fd, u64 pages)
{
	struct event_map_request rq;
	int err = try_map(fd, pages, RW, &rq);

	return err ? err : (long)rq.addr;
}

static int unmap(long addr, u64 pages)
{
	gva start = (gva)addr, end = start + pages * PAGE_SIZE;
	bool any = event_map_any(fake_current, start, end);

	event_map_remove_begin(fake_current, start, end);
	event_map_remove_end(fake_current, start, end, true);
	return any ? 0 : -1;
}

static struct event *event_of(long fd)
{
	return event_slot(event_files_lookup(fake_current, (u64)fd));
}

static u32 rings(void)
{
	u32 n = 0;

	for (u32 nr = 1; nr < event_space->rings_high; nr++)
		n += ring_slot(nr)->slot != SLOT_FREE;
	return n;
}

static void test_ring_lives_with_mappings(void)
{
	struct event_map_request rq;
	long fd, other, a, b;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	a = map(fd, 5);
	expect(a > 0 && event_map_any(1, (gva)a + 4 * PAGE_SIZE, (gva)a + 5 * PAGE_SIZE));
	expect(!event_map_any(1, (gva)a + 5 * PAGE_SIZE, (gva)a + 6 * PAGE_SIZE));
	b = map(fd, 5);
	expect(b > 0 && rings() == 1);
	expect_long(ring_of(event_of(fd))->maps, 2);
	expect_long(map(fd, 3), -EINVAL);
	expect_long(unmap(a - 4096, 1), -1);
	expect_long(unmap(a - 4096, 7), 0);
	expect_valid("one of two mappings is gone");
	expect(ring_of(event_of(fd)));
	event_map_moved(1, (gva)b, 0x7000000000);
	expect(!event_map_any(1, (gva)b, (gva)b + 4096) && event_map_any(1, 0x7000000000, 0x7000001000));

	/* Another event's records; it loses the ring with the last mapping. */
	other = open_simple(PERF_TYPE_RAW, 1, -1);
	expect_long(control(other, PERF_EVENT_IOC_SET_OUTPUT, (u64)fd), 0);
	expect(ring_of(event_of(other)) == ring_of(event_of(fd)));
	expect_long(map(other, 5), -EBUSY);
	expect_long(map(other, 9), -EINVAL);
	expect_long(unmap(0x7000000000, 5), 0);
	expect_long(rings(), 0);
	expect(!ring_of(event_of(other)) && !ring_of(event_of(fd)));

	/* The descriptor goes first: the event stays as long as it is mapped. */
	a = map(other, 2);
	event_files_close(1, (u64)other);
	expect_long(event_count(), 2);
	expect_valid("mapped and closed");
	expect_long(unmap(a, 2), 0);
	expect_long(event_count(), 1);

	/* The host could not map it. */
	rq = (struct event_map_request){.len = 3 * PAGE_SIZE, .prot = RW, .flags = SHARED};
	expect_long(event_map_begin(1, (u64)fd, &rq), 0);
	event_map_undo(&rq);
	expect_long(rings(), 0);
	expect_empty();
}

static void test_locked_memory(void)
{
	struct event_map_request rq;
	long fd[4], a;

	fake_session();
	for (u32 i = 0; i < 4; i++)
		fd[i] = open_simple(PERF_TYPE_RAW, 0, -1);
	event_sysctl()->mlock_kb = 4 * 10; /* 10 pages for each of two CPUs */
	fake_memlock = 7;
	fake_uid = 5;
	a = map(fd[0], 17);
	expect(a > 0);
	expect_long(ring_of(event_of(fd[0]))->locked_pages, 0);
	expect(map(fd[1], 9) > 0);
	expect_long(ring_of(event_of(fd[1]))->locked_pages, 6);
	expect_long(ring_of(event_of(fd[1]))->user_pages, 3);
	expect_long(map(fd[2], 2), -EPERM);
	fake_may_lock = true;
	expect(map(fd[2], 2) > 0);
	fake_may_lock = false;
	fake_uid = 6; /* has 20 pages of its own, but the process's limit is used up */
	expect_long(map(fd[3], 33), -EPERM);
	expect(map(fd[3], 17) > 0);
	fake_uid = 5;
	expect_long(unmap(a, 17), 0);
	expect_long(try_map(fd[0], 17, RW, &rq), 0);
	expect_long(unmap((long)rq.addr, 17), 0);
	event_sysctl()->paranoid = -1; /* perf_event_paranoid */
	expect_long(try_map(fd[0], 65, RW, &rq), 0);
	expect_valid("locked memory");
}

static void test_ring_memory(void)
{
	struct event_map_request rq[3];
	long fd[3];

	fake_session();
	for (u32 i = 0; i < 3; i++) {
		fd[i] = open_simple(PERF_TYPE_RAW, 0, -1);
		expect_long(try_map(fd[i], 1025, RW, &rq[i]), 0);
		memset(host_ring_page(rq[i].page), 0xff, 1025 * PAGE_SIZE);
	}
	expect_long(map(open_simple(PERF_TYPE_RAW, 0, -1), 1025), -ENOMEM);
	expect_long(unmap((long)rq[1].addr, 1025), 0);
	expect_long(try_map(fd[1], 1025, 1, &rq[1]), 0);
	expect_long(rq[1].page, 1025);
	expect_long(*(long *)host_ring_page(rq[1].page + 1024), 0);
	expect(ring_of(event_of(fd[1]))->overwrite);
	expect_valid("full ring memory");
}

static void test_redirect(void)
{
	struct perf_attr attr = attr_of(PERF_TYPE_RAW, 0);
	long to, fd, a;

	fake_session();
	fake_fork(1, 2, 0);
	to = fake_open(&attr, 0, -1, -1, 0);
	fd = fake_open(&attr, 0, -1, -1, 0);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, (u64)to), -EINVAL);
	a = map(to, 2);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, (u64)fd), -EINVAL);
	expect_long(control(to, PERF_EVENT_IOC_SET_OUTPUT, ~0ul), -EINVAL);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, 77), -EBADF);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, 0xffffffff), -EBADF);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, (u64)to), 0);
	expect_long(control(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0);
	expect(ring_of(event_of(to))->paused);
	expect_long(control(fd, PERF_EVENT_IOC_SET_OUTPUT, ~0ul), 0);
	expect_long(control(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), -EINVAL);

	expect(fake_open(&attr, 0, -1, (s32)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP) > 0);
	expect_long(fake_open(&attr, 1002, -1, (s32)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	expect_long(fake_open(&attr, 0, 0, (s32)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	attr.write_backward = 1;
	expect_long(fake_open(&attr, 0, -1, (s32)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	attr.write_backward = 0;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	expect_long(fake_open(&attr, 0, -1, (s32)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	expect_long(unmap(a, 2), 0);
	expect_valid("after redirections");
}

static void test_address_spaces(void)
{
	long fd, a, b;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	a = map(fd, 2);
	fake_fork(1, 2, 0);
	fake_fork(1, 3, CLONE_VM | CLONE_FILES);
	expect(!event_map_any(2, (gva)a, (gva)a + 4096) && event_map_any(3, (gva)a, (gva)a + 4096));
	fake_current = 2;
	b = map(fd, 2);
	expect(b > 0);
	fake_current = 1;
	expect_long(ring_of(event_of(fd))->maps, 2);
	event_task_exec(1); /* task 3 still has the old memory */
	expect_long(ring_of(event_of(fd))->maps, 2);
	expect(!event_map_any(1, (gva)a, (gva)a + 4096));
	fake_exit(3);
	expect_long(ring_of(event_of(fd))->maps, 1);
	fake_exit(2);
	expect(!ring_of(event_of(fd)));
	expect_long(rings(), 0);
	expect_valid("address spaces");
	expect_empty();
}

/* A vfork child that is killed while it unmaps; and then its memory is gone, and something else is there. */
static void test_killed_remover(void)
{
	long fd, a;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	a = map(fd, 5);
	fake_fork(1, 2, CLONE_VM | CLONE_VFORK);
	event_map_remove_begin(2, (gva)a, (gva)a + 5 * PAGE_SIZE);
	expect(!event_map_any(1, (gva)a, (gva)a + 4096));
	event_map_remove_end(1, (gva)a, (gva)a + 5 * PAGE_SIZE, true); /* not what it has begun */
	expect_long(rings(), 1);
	fake_exit(2);
	expect(event_map_any(1, (gva)a, (gva)a + 4096));
	expect_long(unmap(a + 4096, 1), 0);
	expect_long(rings(), 0);
	expect_valid("the remover was killed");
	event_files_close(1, (u64)fd);
	expect_empty();
}

/* The man page's loop, with rdpmc as os/ emulates it. */
static u64 self_count(const struct perf_event_mmap_page *p, task_id task)
{
	u64 count = (u64)p->offset;

	expect_long(p->lock & 1, 0);
	if (p->cap_user_rdpmc && p->index) {
		struct rdpmc_counter c = rdpmc_decode(p->index - 1);

		count += (fake[task].cell[c.cell] + c.fraction) >> c.shift;
	}
	return count;
}

static void test_userpage(void)
{
	const struct perf_event_mmap_page *p;
	struct event_map_request rq;
	long fd[FAKE_CELLS];

	fake_session();
	for (u32 i = 0; i < FAKE_CELLS; i++) {
		fd[i] = open_simple(PERF_TYPE_RAW, i, -1);
		run(1, 5 + i);
		expect_long(try_map(fd[i], 1, 1, &rq), 0);
	}
	for (u32 step = 0; step < 200; step++) {
		u32 i = step % FAKE_CELLS;

		run(1, step % 7);
		p = ring_page(ring_of(event_of(fd[i])));
		expect_long(self_count(p, 1), value_of(fd[i]));
		if (step % 11 == 0)
			control(fd[i], PERF_EVENT_IOC_DISABLE, 0);
		if (step % 11 == 3)
			control(fd[i], PERF_EVENT_IOC_ENABLE, 0);
		if (step % 17 == 0)
			control(fd[i], PERF_EVENT_IOC_RESET, 0);
		expect_long(self_count(p, 1), value_of(fd[i]));
	}
	p = ring_page(ring_of(event_of(fd[0])));
	control(fd[0], PERF_EVENT_IOC_DISABLE, 0);
	expect_long(p->index, 0);
	control(fd[0], PERF_EVENT_IOC_ENABLE, 0);
	expect_long(p->index, 1);
	expect_long(p->data_offset, PAGE_SIZE);
	expect_long(p->data_size, 0);
	expect(p->cap_user_time && p->cap_user_time_zero && p->cap_bit0_is_deprecated && !p->cap_bit0);
	expect_long(p->time_mult, 1u << 31);
	expect_long(p->time_offset, -(long)fake_mono);
	expect_valid("the first page");
}

/* ---- anything, in any order ---- */

#define FDS 12
#define TASKS 6

static void random_step(void)
{
	static long addr[8];
	task_id t = 1 + pick(TASKS);
	u64 fd = 3 + pick(FDS), other = 3 + pick(FDS);

	if (!fake[t].alive) {
		fake_fork(fake_current, t, pick(2) ? CLONE_VM : 0);
		return;
	}
	fake_current = t;
	switch (pick(9)) {
	case 0:
	case 1:
		open_simple(PERF_TYPE_RAW, 0, -1);
		break;
	case 2:
	case 3:
		addr[pick(8)] = map((long)fd, 1 + (1u << pick(3)));
		break;
	case 4:
		unmap(addr[pick(8)], 5);
		break;
	case 5:
		control((long)fd, PERF_EVENT_IOC_SET_OUTPUT, pick(4) ? other : ~0ul);
		break;
	case 6:
		event_files_close(t, fd);
		break;
	case 7:
		event_task_exec(t);
		break;
	case 8:
		if (t != 1)
			fake_exit(t);
		fake_current = 1;
		break;
	}
}

static void test_random(void)
{
	u32 most = 0;

	seed = 1;
	fake_session();
	for (u32 step = 0; step < 20000 && !unit_failures; step++) {
		random_step();
		expect_valid("a random step");
		most = MAX(most, rings());
	}
	expect(most > 5);
	end_tasks(TASKS);
	fake_current = 1;
	event_task_exec(1);
	expect_long(rings(), 0);
	expect_long(event_space->maps_high, 1);
	expect_empty();
}

int main(void)
{
	test_random();
	test_ring_lives_with_mappings();
	test_locked_memory();
	test_ring_memory();
	test_redirect();
	test_address_spaces();
	test_killed_remover();
	test_userpage();
	return unit_result();
}
