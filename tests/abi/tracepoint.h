/*
 * Tracepoint events of the calling task, for the tests of them. Their ids come from tracefs, which a host may lack or
 * not let us read: then there is nothing to compare with natively.
 */
#ifndef TESTS_ABI_TRACEPOINT_H
#define TESTS_ABI_TRACEPOINT_H

#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define TRACE_RING (9 * 4096)

/* The id of "syscalls/sys_enter_read"; -1: there is none. */
static inline long trace_id(const char *name)
{
	char path[128], text[32];
	long id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fgets(text, sizeof(text), f))
		id = strtol(text, NULL, 10);
	fclose(f);
	return id;
}

static inline struct perf_attr trace_attr(const char *name)
{
	return (struct perf_attr){
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(struct perf_attr), .config = (u64)trace_id(name)};
}

static inline void trace_skip_without(void)
{
	struct perf_attr a = trace_attr("syscalls/sys_enter_getppid");

	if (perf_try(a, 0, -1, -1, 0) == 0)
		return;
	printf("no tracepoints here\n");
	exit(77);
}

static inline long trace_open(struct perf_attr a, int pid)
{
	long fd = perf_open(&a, pid, -1, -1, 0);

	expect(fd >= 0, 1);
	return fd;
}

/* Not the C library's, which may keep the answer. */
static inline void call_getppid(int n)
{
	while (n--)
		syscall(SYS_getppid);
}

/* Closes it, too. */
static inline long trace_count(long fd)
{
	long n = perf_value(fd);

	close((int)fd);
	return n;
}

/* An event that samples. While it is enabled nothing should be called that is not to be sampled. */
struct tracer {
	long fd, id;
	char *page;
	u64 at;
};

/* sample_type has to be PERF_SAMPLE_RAW, or IP besides. */
static inline struct tracer tracer_open(const char *name, u64 sample_type)
{
	struct perf_attr a = trace_attr(name);
	struct tracer t = {.id = (long)a.config};

	a.sample_type = sample_type;
	a.sample_period = 1;
	a.disabled = 1;
	t.fd = trace_open(a, 0);
	t.page = mmap(NULL, TRACE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)t.fd, 0);
	expect(t.page != MAP_FAILED, 1);
	if (t.page == MAP_FAILED)
		exit(1);
	return t;
}

static inline void tracer_close(struct tracer *t)
{
	munmap(t->page, TRACE_RING);
	close((int)t->fd);
}

/* One record of a tracepoint. */
struct traced {
	u32 size;	/* of PERF_SAMPLE_RAW */
	u16 type;
	u8 flags, preempt_count;
	s32 pid;
	s64 nr;		/* of the named ones it has 32 bits */
	u64 value[6];	/* arguments, or the result */
	u64 ip, misc;
};

/* The next sample of the ring. False: there are no more. */
static inline int tracer_next(struct tracer *t, u64 sample_type, int raw, struct traced *out)
{
	const struct perf_event_mmap_page *page = (const void *)t->page;
	const struct perf_event_header *h = (const void *)(t->page + 4096 + t->at);
	const char *p = (const char *)(h + 1);

	memset(out, 0, sizeof(*out));
	if (t->at >= __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE))
		return 0;
	t->at += h->size;
	expect(h->type, PERF_RECORD_SAMPLE);
	out->misc = h->misc;
	if (sample_type & PERF_SAMPLE_IP) {
		memcpy(&out->ip, p, 8);
		p += 8;
	}
	memcpy(&out->size, p, 4);
	expect((const char *)h + h->size - p, out->size + 4);
	memcpy(&out->type, p + 4, 8);
	memcpy(&out->nr, p + 12, 8);
	if (!raw)
		out->nr = (s32)out->nr;
	memcpy(out->value, p + 20, out->size - 20 < sizeof(out->value) ? out->size - 20 : sizeof(out->value));
	return 1;
}

#endif
