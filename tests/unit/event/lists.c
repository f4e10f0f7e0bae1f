/* Lists of events that somebody else writes while they are gone through: it ends. */
#include "tests/unit/event/fake.h"

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
	expect_long(n, EVENT_SLOTS);
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

int main(void)
{
	test_ring();
	test_self();
	return unit_result();
}
