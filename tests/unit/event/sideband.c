/*
 * Who hears of what, and the records as bytes.
 * covers: PERF_RECORD_SWITCH_CPU_WIDE*, PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE
 */
#include <time.h>
#include "event/ring.h"
#include "event/sideband.h"
#include "tests/unit/event/fake.h"

#define ANY_CPU (-1)

/* The next record of an event's ring, NULL: none. */
static const struct perf_event_header *next_record(u32 nr)
{
	static char copy[65536];
	struct perf_event_mmap_page *page = ring_page(ring_of(event_slot(nr)));
	const char *data = (const char *)page + page->data_offset;
	const struct perf_event_header *h = (const void *)(data + page->data_tail % page->data_size);

	if (page->data_tail == page->data_head)
		return NULL;
	for (u32 i = 0; i < h->size; i++)
		copy[i] = data[(page->data_tail + i) % page->data_size];
	page->data_tail += h->size;
	return (const void *)copy;
}

static u32 next_type(u32 nr)
{
	const struct perf_event_header *h = next_record(nr);

	return h ? h->type : 0;
}

/* A dummy-like event with a ring of its own; its slot. */
static u32 listener(struct perf_attr attr, s32 pid, s32 cpu)
{
	struct ring *r;
	long fd;
	u32 nr;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = sizeof(attr);
	attr.exclude_kernel = 1;
	fd = fake_open(&attr, pid, cpu, -1, 0);
	expect(fd >= 0);
	nr = event_files_lookup(fake_current, (u64)fd);
	event_lock();
	r = ring_new(4, false, 0);
	ring_attach(event_slot(nr), r);
	event_unlock();
	return nr;
}

static void test_kinds(void)
{
	struct event e = {.attr = {.mmap = 1}};

	expect_long(sideband_of(&e), SB_MMAP | SB_TASK);
	e.attr = (struct perf_attr){.comm = 1};
	expect_long(sideband_of(&e), SB_COMM | SB_TASK);
	e.attr = (struct perf_attr){.mmap2 = 1, .build_id = 1};
	expect_long(sideband_of(&e), SB_MMAP | SB_TASK | SB_BUILD_ID);
	e.attr = (struct perf_attr){.context_switch = 1};
	expect_long(sideband_of(&e), SB_SWITCH);
}

static void test_wanted(void)
{
	struct perf_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .exclude_kernel = 1, .comm = 1};
	long fd;

	fake_session();
	expect(!sideband_wanted(1, ~0u));
	fd = fake_open(&attr, 0, ANY_CPU, -1, 0);
	expect(sideband_wanted(1, SB_COMM));
	expect(!sideband_wanted(1, SB_SWITCH));
	event_files_close(1, (u64)fd);
	expect(!sideband_wanted(1, ~0u));
	fd = fake_open(&attr, -1, 1, -1, 0);
	expect(sideband_wanted(1, SB_COMM));
	event_files_close(1, (u64)fd);
	expect(!sideband_wanted(1, ~0u));
}

static void test_state_and_cpu(void)
{
	u32 off, own, here, there;

	fake_session();
	off = listener((struct perf_attr){.comm = 1, .disabled = 1}, 0, ANY_CPU);
	own = listener((struct perf_attr){.comm = 1}, 0, ANY_CPU);
	here = listener((struct perf_attr){.comm = 1}, -1, 0);
	there = listener((struct perf_attr){.comm = 1}, -1, 1);
	sideband_comm(1, 1, "name", false);
	expect_long(next_type(off), 0);
	expect_long(next_type(own), PERF_RECORD_COMM);
	expect_long(next_type(own), 0);
	expect_long(next_type(here), PERF_RECORD_COMM);
	expect_long(next_type(there), 0);
}

static void test_comm(void)
{
	const struct perf_event_header *h;
	u32 nr;

	fake_session();
	nr = listener((struct perf_attr){.comm = 1, .sample_id_all = 1, .sample_type = PERF_SAMPLE_TID}, 0, ANY_CPU);
	sideband_comm(1, 5, "eight888", true);
	h = next_record(nr);
	expect_long(h->misc, PERF_RECORD_MISC_COMM_EXEC);
	expect_long(h->size, 8 + 8 + 16 + 8);
	expect_long(((const u32 *)(h + 1))[1], 1005);
	expect_str((const char *)(h + 1) + 8, "eight888");
	expect_long(((const u32 *)(h + 1))[7], 1001);
}

static void test_mmap(void)
{
	static const u8 id[20] = {1, 2, 3};
	struct sideband_mmap m = {.addr = 0x1000,
				  .len = 0x2000,
				  .pgoff = 0x3000,
				  .maj = 8,
				  .min = 1,
				  .ino = 77,
				  .prot = 5,
				  .flags = 2,
				  .misc_exec = true,
				  .filename = "/a/file",
				  .build_id = id,
				  .build_id_size = 20};
	const struct perf_event_header *h;
	u32 old, new, with_id, data;
	const u64 *word;

	fake_session();
	old = listener((struct perf_attr){.mmap = 1}, 0, ANY_CPU);
	new = listener((struct perf_attr){.mmap = 1, .mmap2 = 1}, 0, ANY_CPU);
	with_id = listener((struct perf_attr){.mmap2 = 1, .build_id = 1}, 0, ANY_CPU);
	data = listener((struct perf_attr){.mmap_data = 1}, 0, ANY_CPU);
	sideband_mmap(1, &m);
	h = next_record(old);
	expect_long(h->type, PERF_RECORD_MMAP);
	expect_long(h->size, 8 + 8 + 24 + 8);
	expect_str((const char *)(h + 1) + 32, "/a/file");
	h = next_record(new);
	word = (const u64 *)(h + 1);
	expect_long(h->type, PERF_RECORD_MMAP2);
	expect_long(h->misc, PERF_RECORD_MISC_USER);
	expect_long(word[1], 0x1000);
	expect_long(word[4], 8 | 1ul << 32);
	expect_long(word[5], 77);
	expect_long(word[7], 5 | 2ul << 32);
	h = next_record(with_id);
	expect_long(h->misc, PERF_RECORD_MISC_USER | 1 << 14);
	expect_long(((const u8 *)(h + 1))[32], 20);
	expect(!memcmp((const char *)(h + 1) + 36, id, 20));
	expect_long(next_type(data), 0);
	m.misc_exec = false;
	sideband_mmap(1, &m);
	h = next_record(data);
	expect_long(h->misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
	expect_long(next_type(new), 0);
}

static void test_fork_and_exit(void)
{
	const struct perf_event_header *h;
	const u32 *id;
	u32 nr;

	fake_session();
	nr = listener((struct perf_attr){.task = 1, .inherit = 1, .inherit_stat = 1, .read_format = PERF_FORMAT_ID}, 0,
		      0);
	expect_long(fake_fork(1, 2, 0), 0);
	expect_long(next_type(nr), 0);
	/* Another task that had the slot is not this one. */
	expect_long(event_task_forked(2, 99, NULL), 0);
	expect_long(event_task_forked(2, fake[2].generation, NULL), 1);
	expect_long(event_task_forked(2, fake[2].generation, NULL), 0);
	h = next_record(nr);
	id = (const u32 *)(h + 1);
	expect_long(h->type, PERF_RECORD_FORK);
	expect_long(id[0], 1002);
	expect_long(id[1], 1001);
	fake_exit(2);
	h = next_record(nr);
	expect_long(h->type, PERF_RECORD_EXIT);
	expect_long(id[0], 1002);
	expect_long(id[1], 1000);
	h = next_record(nr);
	expect_long(h->type, PERF_RECORD_READ);
	expect_long(h->size, 8 + 8 + 16);
	expect_long(((const u64 *)(h + 1))[2], (long)event_slot(nr)->id);
	expect(!next_record(nr));
	/* What never came to be is told by nobody. */
	expect_long(fake_fork(1, 3, 0), 0);
	event_task_exit(3);
	expect(!next_record(nr));
}

static void test_switches(void)
{
	struct sideband_switch out = {.out = true, .preempted = true};
	const struct perf_event_header *h;
	u32 own, clocked, wide;

	fake_session();
	out.time = fake_mono = 1000;
	fake_mono += 500;
	own = listener((struct perf_attr){.context_switch = 1, .sample_id_all = 1, .sample_type = PERF_SAMPLE_TIME}, 0,
		       ANY_CPU);
	clocked = listener((struct perf_attr){.context_switch = 1, .sample_id_all = 1, .sample_type = PERF_SAMPLE_TIME,
					      .use_clockid = 1, .clockid = CLOCK_MONOTONIC}, 0, ANY_CPU);
	wide = listener((struct perf_attr){.context_switch = 1}, -1, 0);
	sideband_switch(1, &out);
	h = next_record(own);
	expect_long(h->type, PERF_RECORD_SWITCH);
	expect_long(h->misc, PERF_RECORD_MISC_SWITCH_OUT | 1 << 14);
	expect_long(*(const u64 *)(h + 1), (long)out.time);
	expect_long(*(const u64 *)(next_record(clocked) + 1), (long)(host_clock_by_id(CLOCK_MONOTONIC) - 500));
	h = next_record(wide);
	expect_long(h->type, PERF_RECORD_SWITCH_CPU_WIDE);
	expect_long(h->size, 16);
}

static void test_throttle(void)
{
	const struct perf_event_header *h;
	u32 nr;

	fake_session();
	nr = listener((struct perf_attr){0}, 0, ANY_CPU);
	event_lock();
	sideband_throttle_locked(event_slot(nr), true);
	sideband_throttle_locked(event_slot(nr), false);
	event_unlock();
	h = next_record(nr);
	expect_long(h->type, PERF_RECORD_THROTTLE);
	expect_long(((const u64 *)(h + 1))[1], (long)event_slot(nr)->id);
	expect_long(next_type(nr), PERF_RECORD_UNTHROTTLE);
}

int main(void)
{
	pmu_init();
	test_kinds();
	test_wanted();
	test_state_and_cpu();
	test_comm();
	test_mmap();
	test_fork_and_exit();
	test_switches();
	test_throttle();
	return unit_result();
}
