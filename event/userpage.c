/* See userpage.h. */
#include "event/userpage.h"

#include "event/counters.h"
#include "event/ring.h"
#include "rt/log.h"

#define COUNTER_BITS 64

void userpage_init(struct ring *r)
{
	struct perf_event_mmap_page *p = ring_page(r);

	p->cap_bit0_is_deprecated = 1;
	p->size = offsetof(struct perf_event_mmap_page, __reserved);
	p->data_offset = PAGE_SIZE;
	p->data_size = ring_size(r);
}

static bool has_counter(const struct ring *r, const struct event *e)
{
	return e->source.rdpmc && event_sysctl()->rdpmc && (!e->task || event_ctx(e->task)->mm == r->mm);
}

/* An event of all tasks on a CPU: its count is that of its children. */
static void set_whole_count(struct perf_event_mmap_page *p, struct event *e, bool counter)
{
	struct event_total total;

	p->index = 0;
	p->offset = 0;
	if (counter && event_tally(e)->state == PERF_STATE_ACTIVE) {
		p->index = 1 + (RDPMC_EVENT | event_nr(e));
	} else {
		event_read_total(e, false, &total);
		p->offset = (s64)total.count;
	}
}

static void set_count(struct perf_event_mmap_page *p, const struct event *e, bool counter)
{
	const struct event_tally *t = event_tally(e);
	u64 count = t->count + t->child_count;
	u32 shift = e->source.shift, fraction;

	p->index = 0;
	if (counter && t->state == PERF_STATE_ACTIVE) {
		count -= t->prev;
		fraction = (u32)count & ((1u << shift) - 1);
		p->index = e->source.rdpmc + (shift << RDPMC_SHIFT_BIT | fraction << RDPMC_FRACTION_BIT);
	}
	p->offset = (s64)count >> shift;
}

static bool is_enabled(const struct event *e)
{
	return event_tally(e)->state >= PERF_STATE_INACTIVE &&
	       event_tally(event_leader(e))->state >= PERF_STATE_INACTIVE;
}

static void set_times(struct perf_event_mmap_page *p, struct event *e, u64 now)
{
	struct event_total total;
	const struct event_tally *t = event_tally(e);
	u64 ns = is_enabled(e) && now > t->stamp ? now - t->stamp : 0;
	bool runs = t->state == PERF_STATE_ACTIVE && !e->source.never_runs;

	if (e->cgroup.at) {
		event_read_total(e, true, &total);
		p->time_enabled = total.enabled;
		p->time_running = total.running;
		return;
	}
	total.running = t->running + t->child_running + (runs ? ns : 0);
	p->time_enabled = t->enabled + t->child_enabled + ns;
	p->time_running = e->task ? total.running : counters_time_running(e, total.running);
}

static void set_clock(struct perf_event_mmap_page *p, const struct event *e)
{
	struct host_tsc tsc;

	p->cap_user_time = p->cap_user_time_zero = 0;
	if (!host_tsc(&tsc))
		return;
	p->cap_user_time = 1;
	p->time_mult = tsc.mult;
	p->time_shift = tsc.shift;
	p->time_offset = tsc.zero - host_clock_perf();
	if (e->attr.use_clockid)
		return;
	p->cap_user_time_zero = 1;
	p->time_zero = tsc.zero;
}

/* NULL: it has no page, or not one of its own. */
static struct ring *own_ring(const struct event *e)
{
	struct ring *r = e->parent || !e->ring ? NULL : ring_slot(e->ring);

	return unlikely(r) && ring_is_own(r, e) ? r : NULL;
}

void userpage_update(struct event *e)
{
	if (own_ring(e))
		userpage_update_at(e, is_enabled(e) ? event_clock(e) : 0);
}

void userpage_update_at(struct event *e, u64 now)
{
	struct ring *r = own_ring(e);
	struct perf_event_mmap_page *p;
	u32 seq;

	check_slow(ctx_is_locked());
	if (likely(!r))
		return;
	p = ring_page(r);
	seq = p->lock | 1; /* odd already: the guest has written there */
	__atomic_store_n(&p->lock, seq, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	p->cap_user_rdpmc = has_counter(r, e);
	p->pmc_width = COUNTER_BITS;
	if (e->task)
		set_count(p, e, has_counter(r, e));
	else
		set_whole_count(p, e, has_counter(r, e));
	if (!e->of_2009) {
		set_times(p, e, now);
		set_clock(p, e);
	}
	__atomic_store_n(&p->lock, seq + 1, __ATOMIC_RELEASE);
}
