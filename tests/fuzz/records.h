/*
 * Checking a ring buffer as a stranger would: every record must be whole and make sense for the event that it names.
 *
 * All events of the caller have PERF_SAMPLE_IDENTIFIER and sample_id_all, so each record names its event.
 */
#ifndef TESTS_FUZZ_RECORDS_H
#define TESTS_FUZZ_RECORDS_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define RECORD_MAX 65536
#define KNOWN_IDS 65536

struct known_event {
	uint64_t id;
	struct perf_event_attr attr;
	int odd;    /* its ring may be that of another event, or one that overwrites */
	int reader; /* the only process that takes records */
};

/* Shared by all processes: a ring may have records of events that another one opened. Ids are given in order. */
static struct known_event *known;

static void known_add(uint64_t id, const struct perf_event_attr *attr)
{
	known[id % KNOWN_IDS] = (struct known_event){.id = id, .attr = *attr, .odd = attr->write_backward};
}

static const struct perf_event_attr *known_find(uint64_t id)
{
	return known[id % KNOWN_IDS].id == id ? &known[id % KNOWN_IDS].attr : NULL;
}

/* The calling process may take records from the ring of this event. */
static int known_reader(uint64_t id, int pid)
{
	struct known_event *k = &known[id % KNOWN_IDS];
	int nobody = 0;

	if (k->id != id || __atomic_load_n(&k->odd, __ATOMIC_SEQ_CST))
		return 0;
	__atomic_compare_exchange_n(&k->reader, &nobody, pid, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return k->reader == pid;
}

/* Before its ring becomes odd. */
static void known_odd(uint64_t id)
{
	if (known[id % KNOWN_IDS].id == id)
		__atomic_store_n(&known[id % KNOWN_IDS].odd, 1, __ATOMIC_SEQ_CST);
}

/* Where in a record we are. */
struct cursor {
	const uint64_t *at, *end;
	int bad;
};

static uint64_t take(struct cursor *c)
{
	if (c->at >= c->end) {
		c->bad = 1;
		return 0;
	}
	return *c->at++;
}

static void skip(struct cursor *c, uint64_t words)
{
	if (words > (uint64_t)(c->end - c->at))
		c->bad = 1;
	else
		c->at += words;
}

static void skip_read(struct cursor *c, uint64_t format)
{
	uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & (1u << 4));

	if (format & PERF_FORMAT_GROUP) {
		uint64_t nr = take(c);

		if (nr > 1000)
			c->bad = 1;
		else
			skip(c, times + nr * each);
	} else {
		skip(c, times + each);
	}
}

static void skip_registers(struct cursor *c, uint64_t mask)
{
	uint64_t abi = take(c);

	if (abi > 2)
		c->bad = 1;
	if (abi)
		skip(c, (uint64_t)__builtin_popcountl(mask));
}

static void skip_stack(struct cursor *c)
{
	uint64_t size = take(c);

	if (!size)
		return;
	skip(c, size / 8);
	if (take(c) > size)
		c->bad = 1;
}

static void skip_counted(struct cursor *c, uint64_t words, uint64_t limit, int extra)
{
	uint64_t nr = take(c);

	if (nr > limit)
		c->bad = 1;
	else
		skip(c, nr * words + (uint64_t)extra);
}

/* A size of 32 bits, and so many bytes: those of tracepoints have some. */
static void skip_raw(struct cursor *c)
{
	uint32_t size = (uint32_t)take(c);

	if ((size + sizeof(size)) % 8)
		c->bad = 1;
	else
		skip(c, (size + sizeof(size)) / 8 - 1);
}

/*
 * Linux 6.18 keeps the size of what one event has sampled of a page fault or the like, and takes it for that of the
 * next event that samples the same: then a record is longer than its fields, or shorter.
 */
static int lengths_differ;

/* NULL, or what is wrong with a sample's body. */
static const char *check_sample(struct cursor *c)
{
	const struct perf_event_attr *a = known_find(take(c));
	uint64_t t;

	if (!a)
		return "a sample of an event that was never opened";
	t = a->sample_type;
	skip(c, !!(t & PERF_SAMPLE_IP) + !!(t & PERF_SAMPLE_TID) + !!(t & PERF_SAMPLE_TIME) + !!(t & PERF_SAMPLE_ADDR) +
			!!(t & PERF_SAMPLE_ID) + !!(t & PERF_SAMPLE_STREAM_ID) + !!(t & PERF_SAMPLE_CPU) +
			!!(t & PERF_SAMPLE_PERIOD));
	if (t & PERF_SAMPLE_READ)
		skip_read(c, a->read_format);
	if (t & PERF_SAMPLE_CALLCHAIN)
		skip_counted(c, 1, 256, 0);
	if (t & PERF_SAMPLE_RAW)
		skip_raw(c);
	if (t & PERF_SAMPLE_BRANCH_STACK)
		skip_counted(c, 3, 1024, !!(a->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX));
	if (t & PERF_SAMPLE_REGS_USER)
		skip_registers(c, a->sample_regs_user);
	if (t & PERF_SAMPLE_STACK_USER)
		skip_stack(c);
	skip(c,
	     !!(t & (PERF_SAMPLE_WEIGHT | 1u << 24)) + !!(t & PERF_SAMPLE_DATA_SRC) + !!(t & PERF_SAMPLE_TRANSACTION));
	if (t & PERF_SAMPLE_REGS_INTR)
		skip_registers(c, a->sample_regs_intr);
	skip(c, !!(t & PERF_SAMPLE_PHYS_ADDR) + !!(t & (1u << 21)) + !!(t & (1u << 22)) + !!(t & (1u << 23)));
	if (c->bad && !lengths_differ)
		return "a sample is shorter than its fields";
	return c->at == c->end || lengths_differ ? NULL : "a sample is longer than its fields";
}

static const char *check_record(const struct perf_event_header *h)
{
	struct cursor c = {(const uint64_t *)(h + 1), (const uint64_t *)((const char *)h + h->size), 0};

	if (h->size < sizeof(*h) || h->size % 8)
		return "a record's size is impossible";
	if (!h->type || h->type > 21)
		return "a record's type is unknown";
	if (h->type == PERF_RECORD_SAMPLE)
		return check_sample(&c);
	if (h->size < 16 || !known_find(c.end[-1]))
		return "a side-band record of an event that was never opened";
	return NULL;
}

/*
 * Reads what is in the buffer and takes it. Only for rings that nobody reads besides. NULL, or what is wrong; *n:
 * records.
 */
static const char *drain(struct perf_event_mmap_page *page, uint64_t size, unsigned *n)
{
	static union {
		struct perf_event_header header;
		char bytes[RECORD_MAX];
	} rec;
	const char *data = (const char *)page + 4096, *why = NULL;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;

	if (head - tail > size)
		return "more in the buffer than it can hold";
	for (; tail != head && !why; ++*n) {
		uint16_t length;

		memcpy(&rec.header, data + tail % size, sizeof(rec.header));
		length = rec.header.size;
		if (length > head - tail)
			return "a record goes beyond data_head";
		for (uint64_t i = 0; i < length; i += 8)
			memcpy(rec.bytes + i, data + (tail + i) % size, 8);
		why = check_record(&rec.header);
		tail += length;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return why;
}

#endif
