/* See samples.h. The records are those of perf_event_open(2). */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cli/jit_map.h"
#include "cli/memory.h"
#include "cli/records.h"
#include "cli/regions.h"
#include "cli/samples.h"

#define RING_MOST    (16ul << 20)
#define RING_LEAST   (64 * PAGE_SIZE)
#define CLOCK_PERIOD 1000003 /* ns: a sample of a clock costs a signal of the host */
#define CALL_STACK   1u	     /* format "callstack" of the cpu PMU, in config1 */

u64 samples_period(const struct samples *s, const struct spec *spec)
{
	u32 type = spec->attr.type;

	if (s->period)
		return s->period;
	if (spec->is_time)
		return CLOCK_PERIOD;
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_RAW ? s->work : 1;
}

static int open_event(const struct perf_event_attr *attr, pid_t pid, int group)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, -1, group, PERF_FLAG_FD_CLOEXEC);
}

/* As much as the session grants. */
static int open_ring(struct samples *s, pid_t pid)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .sample_period = 1,
				       .exclude_kernel = 1};

	s->dummy = open_event(&attr, pid, -1);
	if (s->dummy < 0)
		return errno;
	for (s->ring_size = RING_MOST; s->ring_size >= RING_LEAST; s->ring_size /= 2) {
		s->ring = mmap(NULL, PAGE_SIZE + s->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->dummy, 0);
		if (s->ring != MAP_FAILED)
			return 0;
	}
	s->ring = NULL;
	return errno;
}

static void make_attr(const struct samples *s, struct spec *spec, bool first, bool leads)
{
	struct perf_event_attr *a = &spec->attr;
	bool cpu_pmu = a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_RAW;

	regions_wait(a, leads);
	a->inherit = 1;
	if (leads)
		a->pinned = 1;
	a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->sample_period = samples_period(s, spec);
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = first;
	if (!s->chains)
		return;
	a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	a->exclude_callchain_kernel = 1;
	if (cpu_pmu)
		a->config1 |= CALL_STACK;
}

static int open_all(struct samples *s, struct specs *specs, pid_t pid, int *refused)
{
	for (int i = 0; i < s->events; i++) {
		struct spec *spec = &specs->spec[i];
		int leader = spec->leader >= 0 && spec->leader != i ? s->fd[spec->leader] : -1;

		*refused = i;
		make_attr(s, spec, !i, leader < 0);
		s->fd[i] = open_event(&spec->attr, pid, leader);
		if (s->fd[i] < 0 || ioctl(s->fd[i], PERF_EVENT_IOC_ID, &s->id[i]) ||
		    ioctl(s->fd[i], PERF_EVENT_IOC_SET_OUTPUT, s->dummy))
			return errno;
	}
	return 0;
}

static int samples_open(void *arg, struct specs *specs, pid_t pid, int *refused)
{
	struct samples *s = arg;
	size_t n = (size_t)specs->nr;
	int err;

	s->spaces.began = jit_map_now();
	s->events = specs->nr;
	s->fd = memory_zeroed(n, sizeof(*s->fd));
	s->id = memory_zeroed(n, sizeof(*s->id));
	s->taken = memory_zeroed(n, sizeof(*s->taken));
	memset(s->fd, -1, n * sizeof(*s->fd));
	*refused = 0;
	err = open_ring(s, pid);
	return err ? err : open_all(s, specs, pid, refused);
}

/* Addresses of the last page mark where a chain changes its mode (PERF_CONTEXT_USER). */
static void take_sample(struct samples *s, const struct record_sample *r)
{
	struct who who = spaces_who(&s->spaces, r->pid, r->tid);
	u64 ip[STACK_MAX] = {r->ip}, most = (r->header.size - offsetof(struct record_sample, chain)) / sizeof(u64);
	u32 nr = 0, event;

	for (event = 0; event < (u32)s->events && s->id[event] != r->id; event++)
		;
	if (event == (u32)s->events)
		return;
	s->taken[event]++;
	for (u64 i = 0; s->chains && i < MIN(r->nr, most) && nr < STACK_MAX; i++)
		if (r->chain[i] < (u64)PERF_CONTEXT_MAX)
			ip[nr++] = r->chain[i];
	stacks_add(&s->stacks, &who, event, ip, nr ? nr : 1);
}

static void take_mmap(struct samples *s, struct record_mmap2 *r)
{
	struct mapping m = {.start = r->start, .end = r->start + r->len, .offset = r->offset, .path = r->path};

	spaces_map(&s->spaces, r->pid, r->tid, &m);
}

static void take(void *arg, void *record)
{
	struct samples *s = arg;
	const struct perf_event_header *h = record;
	const struct record_comm *comm = record;
	const struct record_fork *fork = record;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(s, record);
		break;
	case PERF_RECORD_MMAP2:
		take_mmap(s, record);
		break;
	case PERF_RECORD_COMM:
		spaces_comm(&s->spaces, comm->pid, comm->tid, comm->comm, h->misc & PERF_RECORD_MISC_COMM_EXEC);
		break;
	case PERF_RECORD_FORK:
		spaces_fork(&s->spaces, fork->pid, fork->ppid, fork->tid, fork->ptid);
		break;
	case PERF_RECORD_LOST:
		s->lost += ((const struct record_lost *)record)->lost;
		break;
	}
}

static void samples_drain(void *arg)
{
	struct samples *s = arg;

	records_drain(s->ring, s->ring_size, take, s);
}

static int samples_read(void *arg, int event, u64 value[3])
{
	const struct samples *s = arg;

	return read(s->fd[event], value, 3 * sizeof(*value)) == 3 * sizeof(*value) ? 0 : -1;
}

static void samples_close(void *arg)
{
	struct samples *s = arg;

	for (int i = 0; i < s->events; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	if (s->ring)
		munmap(s->ring, PAGE_SIZE + s->ring_size);
	if (s->dummy > 0)
		close(s->dummy);
	s->ring = NULL;
	s->events = 0;
}

const struct watcher samples_watcher = {samples_open, samples_drain, samples_read, samples_close, NULL};

void samples_free(struct samples *s)
{
	spaces_free(&s->spaces);
	stacks_free(&s->stacks);
	free(s->taken);
	free(s->fd);
	free(s->id);
}
