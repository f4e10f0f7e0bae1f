/*
 * A task of the fake world that samples: step() executes instructions one at a time and does what os/ does at limits, a
 * ring takes the records, and take_samples() reads them back. A sample's IP is the number of instructions that the task
 * has executed.
 */
#ifndef TESTS_UNIT_EVENT_SAMPLING_H
#define TESTS_UNIT_EVENT_SAMPLING_H

#include <signal.h>
#include "event/overflow.h"
#include "event/period.h"
#include "event/ring.h"
#include "tests/unit/event/fake.h"

#define SAMPLES_MAX 4096

static struct sample {
	u64 id, ip, period;
} sample[SAMPLES_MAX];
static u32 nr_samples, nr_throttles, nr_unthrottles;
static struct overflow_result result; /* of the last overflow */
static u64 executed[FAKE_TASKS];
static u64 fake_clock_due[FAKE_TASKS];

static inline struct event *event_of(long fd)
{
	return event_slot(event_files_lookup(fake_current, (u64)fd));
}

static inline struct perf_attr sampling_attr(u32 type, u64 config, u64 period)
{
	struct perf_attr a = attr_of(type, config);

	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	return a;
}

static inline void give_ring(long fd, long to_fd)
{
	event_lock();
	ring_attach(event_of(fd), to_fd < 0 ? ring_new(64, false, 0) : ring_of(event_of(to_fd)));
	event_unlock();
}

static inline struct snapshot snapshot_at(task_id task)
{
	return (struct snapshot){.task = task, .ip = executed[task], .exact = true};
}

static inline void rearm(task_id task)
{
	if (!event_ctx(task)->rearm)
		return;
	event_arm(task);
	if (fake_clock_limit != ~0ul)
		fake_clock_due[task] = fake[task].clock + fake_clock_limit;
}

static bool at_limit(task_id task)
{
	for (u32 c = 0; c < FAKE_CELLS; c++)
		if (fake[task].cell[c] >= fake[task].limit[c])
			return true;
	return fake_clock_due[task] && fake[task].clock >= fake_clock_due[task];
}

static inline void overflow(task_id task)
{
	struct snapshot snap = snapshot_at(task);

	fake_clock_limit = 0;
	event_overflow(task, &snap, &result);
	if (fake_clock_limit)
		fake_clock_due[task] = fake_clock_limit == ~0ul ? 0 : fake[task].clock + fake_clock_limit;
}

/*
 * n instructions, each of which takes ns; every instruction is a branch for cell 1, and costs 3 of the last cell's
 * units.
 */
static inline void step_slowly(task_id task, u64 n, u64 ns)
{
	while (n--) {
		rearm(task);
		executed[task]++;
		fake[task].clock += ns;
		fake_mono += ns;
		for (u32 c = 0; c < FAKE_CELLS; c++)
			if (fake[task].want >> c & 1)
				fake[task].cell[c] += c == FAKE_CELLS - 1 ? 3 : 1;
		if (fake[task].want >> FAKE_CELLS && at_limit(task))
			overflow(task);
		else if (fake_clock_due[task] && fake[task].clock >= fake_clock_due[task])
			overflow(task);
	}
}

static inline void step(task_id task, u64 n)
{
	step_slowly(task, n, 1);
}

/* Takes all records out of the event's ring. */
static inline void take_samples(long fd)
{
	struct ring *r = ring_of(event_of(fd));
	struct perf_event_mmap_page *p = ring_page(r);
	const char *data = host_ring_page(r->page + 1);

	nr_samples = nr_throttles = nr_unthrottles = 0;
	while (p->data_tail != p->data_head) {
		u64 mask = ring_size(r) - 1, rec[8];
		struct perf_event_header *h = (struct perf_event_header *)rec;

		rec[0] = *(const u64 *)(data + (p->data_tail & mask));
		for (u32 i = 1; i < MIN(h->size / 8, 8); i++)
			rec[i] = *(const u64 *)(data + ((p->data_tail + 8 * i) & mask));
		nr_throttles += h->type == PERF_RECORD_THROTTLE;
		nr_unthrottles += h->type == PERF_RECORD_UNTHROTTLE;
		if (h->type == PERF_RECORD_SAMPLE && nr_samples < SAMPLES_MAX)
			sample[nr_samples++] = (struct sample){rec[1], rec[2], rec[3]};
		p->data_tail += h->size;
	}
}

static inline void sampling_session(void)
{
	fake_session();
	memset(executed, 0, sizeof(executed));
	memset(fake_clock_due, 0, sizeof(fake_clock_due));
	fake_clock_limit = ~0ul;
	for (u32 t = 0; t < FAKE_TASKS; t++)
		memset(fake[t].limit, 0xff, sizeof(fake[t].limit));
}

static inline long open_sampling(struct perf_attr *a, s32 group)
{
	long fd = fake_open(a, 0, -1, group, 0);

	expect(fd >= 0);
	if (fd >= 0)
		give_ring(fd, group);
	return fd;
}

#endif
