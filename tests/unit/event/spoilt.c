/* What other members write at random into lists and counts: who works on these comes to an end. */
#include "tests/unit/event/sampling.h"

static u32 slot_of(long fd)
{
	return event_files_lookup(fake_current, (u64)fd);
}

static u32 rounds(void)
{
	struct event *e;
	u32 n = 0;

	for_each_in_ctx(e, event_ctx(1))
		n++;
	return n;
}

static void test_ring(void)
{
	u32 nr[3], n = 0;
	struct event *e;

	fake_session();
	for (int i = 0; i < 3; i++)
		nr[i] = slot_of(open_simple(PERF_TYPE_RAW, 0, -1));
	expect_long(rounds(), 3);
	for_each_in_ctx(e, event_ctx(1)) {
		if (++n > 1)
			continue;
		for (int i = 0; i < 3; i++) /* they become a ring, while we are at the first one */
			event_slot(nr[i])->in_ctx = (struct elink){.next = nr[(i + 1) % 3], .prev = nr[(i + 2) % 3]};
	}
	expect(n <= 3 * ARRAY_SIZE(nr));
	expect_long(rounds(), 0);
}

static void test_self(void)
{
	u32 nr;

	fake_session();
	nr = slot_of(open_simple(PERF_TYPE_RAW, 0, -1));
	event_slot(nr)->in_ctx.next = nr;
	expect_long(rounds(), 1);
	event_slot(nr)->in_ctx.prev = nr;
	expect_long(rounds(), 0);
}

/* A count that somebody has written at random: it ends, though no rate throttles it. */
static void test_passed_too_much(void)
{
	struct perf_attr a = sampling_attr(PERF_TYPE_SOFTWARE, 1, 1);
	struct snapshot snap;
	long fd;

	sampling_session();
	event_sysctl()->max_sample_rate = 0x7fffffff;
	a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	fd = open_sampling(&a, -1);
	fake[1].free_running += 1ul << 62;
	snap = snapshot_at(1);
	event_poll(1, &snap, NULL);
	take_samples(fd);
	expect(nr_samples > 0);
}

int main(void)
{
	test_ring();
	test_self();
	test_passed_too_much();
	return unit_result();
}
