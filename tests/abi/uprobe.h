/*
 * Events of the uprobe PMU, for the tests of them. Its number comes from sysfs; a host without it has nothing to
 * compare with.
 */
#ifndef TESTS_ABI_UPROBE_H
#define TESTS_ABI_UPROBE_H

#include <limits.h>
#include <stdarg.h>
#include <sys/mman.h>
#include "tests/abi/errno/perf.h"

#define UPROBE_RETURN 1ul
#define UPROBE_RING   (17 * 4096)

struct place {
	char path[PATH_MAX];
	u64 offset;
};

/* The file that an address is mapped from, and where it is there. */
static inline struct place place_of(const void *addr)
{
	FILE *f = fopen("/proc/self/maps", "r");
	struct place p = {0};
	char line[PATH_MAX + 100];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset;

		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &start, &end, &offset, p.path) < 3)
			continue;
		p.offset = (u64)addr - start + offset;
		if (start <= (u64)addr && (u64)addr < end)
			break;
	}
	if (f)
		fclose(f);
	return p;
}

/* -1: there is no such PMU. */
static inline int uprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	int type = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &type) != 1)
		type = -1;
	fclose(f);
	return type;
}

static inline struct perf_attr uprobe_at(const struct place *p, u64 config)
{
	return (struct perf_attr){
		.type = (u32)uprobe_type(),
		.size = sizeof(struct perf_attr),
		.config = config,
		.config1 = (u64)p->path,
		.config2 = p->offset,
	};
}

static inline long uprobe_open(const void *addr, u64 config)
{
	struct place p = place_of(addr);
	struct perf_attr a = uprobe_at(&p, config);
	long fd = perf_open(&a, 0, -1, -1, 0);

	expect(fd >= 0, 1);
	return fd;
}

/* Closes it, too. */
static inline long uprobe_count(long fd)
{
	long n = perf_value(fd);

	close((int)fd);
	return n;
}

static inline void uprobe_skip_without(void)
{
	struct place p = place_of(uprobe_skip_without);
	struct perf_attr a = uprobe_at(&p, 0);

	if (uprobe_type() >= 0 && perf_try(a, 0, -1, -1, 0) == 0)
		return;
	printf("no uprobes here, or no privilege\n");
	exit(77);
}

static inline int under_pcl(void)
{
	char text[8] = "";
	FILE *f = fopen("/sys/bus/event_source/devices/cpu/caps/pmu_name", "r");

	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return !strcmp(text, "pcl\n");
}

/* Samples of IP and RAW. */
struct uprobe_ring {
	long fd;
	char *page;
	u64 at;
};

static inline struct uprobe_ring uprobe_ring(struct perf_attr a)
{
	struct uprobe_ring r = {0};

	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_ADDR;
	a.sample_period = 1;
	r.fd = perf_open(&a, 0, -1, -1, 0);
	expect(r.fd >= 0, 1);
	r.page = mmap(NULL, UPROBE_RING, PROT_READ | PROT_WRITE, MAP_SHARED, (int)r.fd, 0);
	expect(r.page != MAP_FAILED, 1);
	if (r.page == MAP_FAILED)
		exit(1);
	return r;
}

static inline void uprobe_ring_close(struct uprobe_ring *r)
{
	munmap(r->page, UPROBE_RING);
	close((int)r->fd);
}

struct uprobe_sample {
	u64 misc, ip, addr;
	u32 size;
	u16 type;
	s32 pid;
	u64 vaddr[2];
	const unsigned char *data; /* the record */
};

/* The next one; false: there are no more. */
static inline int uprobe_next(struct uprobe_ring *r, struct uprobe_sample *out)
{
	const struct perf_event_mmap_page *page = (const void *)r->page;
	const struct perf_event_header *h = (const void *)(r->page + 4096 + r->at);
	const char *p = (const char *)(h + 1);

	memset(out, 0, sizeof(*out));
	if (r->at >= __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE))
		return 0;
	r->at += h->size;
	expect(h->type, PERF_RECORD_SAMPLE);
	out->misc = h->misc;
	memcpy(&out->ip, p, 8);
	memcpy(&out->addr, p + 8, 8);
	memcpy(&out->size, p + 16, 4);
	expect(h->size, sizeof(*h) + 16 + 4 + out->size);
	out->data = (const unsigned char *)p + 20;
	memcpy(&out->type, out->data, 2);
	memcpy(&out->pid, out->data + 4, 4);
	memcpy(out->vaddr, out->data + 8, 16);
	return 1;
}

/* ---- uprobe_events ---- */

static char uprobe_group[32]; /* of this test's events */

/* Writes a line: 0 or -errno. */
__attribute__((format(printf, 1, 2))) static inline int uprobe_define(const char *format, ...)
{
	int fd = open("/sys/kernel/tracing/uprobe_events", O_WRONLY | O_APPEND), err;
	static char text[8192];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (fd < 0)
		return -errno;
	err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static inline void uprobe_define_or_skip(const struct place *p)
{
	snprintf(uprobe_group, sizeof(uprobe_group), "pcl_test_%d", getpid());
	if (uprobe_define("p:%s/try %s:0x%lx", uprobe_group, p->path, p->offset) ||
	    uprobe_define("-:%s/try", uprobe_group)) {
		printf("no uprobe_events here, or no privilege\n");
		exit(77);
	}
}

#endif
