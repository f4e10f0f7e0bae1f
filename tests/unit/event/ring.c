/*
 * Ring buffers: what the reader finds, whoever writes, however full, and whoever is killed while writing.
 *
 * Test records are a header, the producer's number, its count of attempts, and words that follow from that count.
 * covers: PERF_RECORD_LOST_SAMPLES*
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "event/ring.h"
#include "tests/unit/event/sections.h"
#include "tests/unit/event/fake.h"

#define TYPE 100
#define WORDS_MAX 40
#define KILLS 200

static struct event *writer;
static struct ring *ring;
static char *journals;

/* A session with one event whose records go to a ring of that many pages. */
static void setup(u32 pages, bool overwrite, struct perf_attr attr)
{
	long fd;

	sections_before(journals);
	fake_session();
	sections_begin();
	attr.type = PERF_TYPE_RAW;
	attr.size = sizeof(attr);
	attr.exclude_kernel = 1;
	fd = fake_open(&attr, 0, -1, -1, 0);
	writer = event_slot(event_files_lookup(1, (u64)fd));
	event_lock();
	ring = ring_new(pages, overwrite, attr.watermark ? attr.wakeup_watermark : 0);
	ring->event = event_nr(writer);
	ring->event_id = writer->id;
	ring_attach(writer, ring);
	event_space->map[1] = (struct event_map){
		.ring = 1,
		.ring_check = ring->id,
		.mm = 1,
		.event = ring->event,
		.event_id = ring->event_id,
		.addr = 0x1000,
		.pages = pages + 1,
	};
	event_space->maps_high = 2;
	event_space->maps = event_space->mm[1].maps = 1;
	ring->maps = 1;
	writer->refs++;
	event_unlock();
}

static u64 word_of(u64 seq, u32 i)
{
	return (seq * 0x9e3779b97f4a7c15ul) ^ i;
}

static u32 words_of(u64 seq)
{
	return (u32)(seq * 2654435761u >> 7) % WORDS_MAX;
}

/* A record of 24 bytes and some words, of which every other is written with its neighbour; false: lost. */
static bool produce(u64 who, u64 seq, u32 kill)
{
	u32 words = words_of(seq), size = 24 + words * 8;
	struct ring_out o;
	bool room;

	event_lock();
	room = ring_begin(&o, writer, size);
	if (room) {
		ring_u64(&o, TYPE | (u64)size << 48);
		ring_u64(&o, who);
		ring_u64(&o, seq);
		for (u32 i = 0; i < words; i += 2) {
			u64 pair[2] = {word_of(seq, i), word_of(seq, i + 1)};

			ring_write(&o, pair, words - i == 1 ? 8 : 16);
		}
		ring_end(&o, kill);
	}
	event_unlock();
	return room;
}

/* ---- the reader ---- */

#define PRODUCERS 300

static struct {
	u64 records, lost, fillers;
	u64 next[PRODUCERS], pending; /* lost since the last record */
} seen;

static u64 data_at(u64 at)
{
	return *(u64 *)((char *)host_ring_page(ring->page + 1) + (at & (ring_size(ring) - 1)));
}

/* Attempts between two records of a lone producer are what LOST told. */
static void check_gap(u64 who, u64 seq, bool alone)
{
	if (alone && seen.next[who] && seq != seen.next[who] + seen.pending)
		expect_long(seq, seen.next[who] + seen.pending);
	seen.next[who] = seq + 1;
	seen.pending = 0;
}

/* The record at `at`: its size, or 0 if it is not one. */
static u32 read_record(u64 at, bool alone)
{
	u64 header = data_at(at), seq = data_at(at + 16);
	u32 size = (u32)(header >> 48), type = (u32)header;

	unit_checks++;
	if (type == PERF_RECORD_LOST) {
		expect_long(size, 24);
		expect_long(data_at(at + 8), writer->id);
		seen.lost += data_at(at + 16);
		seen.pending += data_at(at + 16);
		return size;
	}
	if (type == PERF_RECORD_LOST_SAMPLES && size >= 16) {
		seen.fillers++;
		return size;
	}
	if (type != TYPE || size != 24 + 8 * words_of(seq) || data_at(at + 8) >= PRODUCERS)
		return 0;
	for (u32 i = 0; i < words_of(seq); i++)
		if (data_at(at + 24 + 8 * i) != word_of(seq, i))
			return 0;
	seen.records++;
	check_gap(data_at(at + 8), seq, alone);
	return size;
}

static bool drain(bool alone)
{
	struct perf_event_mmap_page *p = ring_page(ring);
	u64 head = __atomic_load_n(&p->data_head, __ATOMIC_ACQUIRE), tail = p->data_tail;

	while (tail < head) {
		u32 size = read_record(tail, alone);

		if (!size) {
			fprintf(stderr, "torn record at %lx of %lx: header %lx\n", tail, head, data_at(tail));
			unit_failures++;
			return false;
		}
		tail += size;
	}
	expect_long(tail, head);
	__atomic_store_n(&p->data_tail, tail, __ATOMIC_RELEASE);
	return true;
}

/* ---- tests ---- */

static void test_wrap_and_lost(void)
{
	u64 lost = 0;

	setup(1, false, (struct perf_attr){0});
	memset(&seen, 0, sizeof(seen));
	for (u64 seq = 1; seq < 20000; seq++) {
		lost += !produce(1, seq, POLL_IN);
		if (seq % 37 == 0 && !drain(true))
			return;
	}
	drain(true);
	while (!produce(1, 20000, POLL_IN)) /* tells what is not told yet */
		lost++, drain(true);
	drain(true);
	expect(seen.lost > 100);
	expect_long(seen.lost, lost);
	expect_long(seen.records + lost, 20000);
	expect_long(writer->lost, lost);
	expect_long(ring->lost, 0);
	expect_valid("after wrapping");
}

static void *producer(void *who)
{
	u64 lost = 0;

	sections_use(2 + (u32)(u64)who);
	for (u64 seq = 1; seq <= 5000; seq++)
		lost += !produce((u64)who, seq, POLL_IN);
	return (void *)lost;
}

static void test_threads(void)
{
	pthread_t thread[3];
	u64 lost = 0;

	setup(2, false, (struct perf_attr){0});
	memset(&seen, 0, sizeof(seen));
	for (u64 i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, producer, (void *)(i + 1));
	for (u64 i = 0; i < 3; i++) {
		void *n;

		while (pthread_tryjoin_np(thread[i], &n))
			if (!drain(false))
				exit(1);
		lost += (u64)n;
	}
	drain(false);
	expect_long(seen.lost + ring->lost, lost);
	expect_long(seen.records + lost, 15000);
}

static void spin_ns(u64 ns, bool (*work)(void))
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		if (work)
			work();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((u64)(now.tv_sec - from.tv_sec) * 1000000000ul + now.tv_nsec - from.tv_nsec < ns);
}

static bool drain_one(void)
{
	return drain(true);
}

/* A process that writes until it is killed. */
static pid_t start_producer(u64 who)
{
	volatile pid_t *begun = sections_tid(SECTIONS_MEMBERS);
	pid_t pid;

	*begun = 0;
	section_settle(2); /* what the one before it left */
	pid = fork();
	if (!pid) {
		sections_use(2);
		for (u64 seq = 1;; seq++, *begun = 1)
			produce(who, seq, POLL_IN);
	}
	while (!*begun) /* the first steps after a fork are page faults */
		usleep(20);
	return pid;
}

static void test_killed(void)
{
	u32 seed = 1;

	setup(1, false, (struct perf_attr){0});
	memset(&seen, 0, sizeof(seen));
	for (u64 i = 1; i <= KILLS; i++) {
		pid_t pid = start_producer(i);

		seed = seed * 1103515245 + 12345;
		spin_ns(200000 + seed % 500000, i % 4 ? drain_one : NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		expect_valid("after a kill");
		seen.pending = 0;
		if (!drain(true))
			return;
		expect_long(ring_page(ring)->data_head, ring->head);
	}
	expect(seen.records > KILLS);
	expect(seen.lost > 0);
}

/* From the newest record back to the oldest one that is whole. */
static u32 read_backward(void)
{
	u64 head = ring_page(ring)->data_head, off = 0, last = 0;
	u32 n = 0;

	while (off < ring_size(ring) && data_at(head + off)) {
		u64 at = head + off;
		u32 size = (u32)(data_at(at) >> 48);

		if (size > ring_size(ring) - off)
			break;
		if (!read_record(at, false)) {
			fprintf(stderr, "torn record %lu bytes from the head\n", (unsigned long)off);
			unit_failures++;
			break;
		}
		if ((u32)data_at(at) == TYPE && last && data_at(at + 8) == data_at(last + 8))
			expect(data_at(at + 16) < data_at(last + 16));
		last = (u32)data_at(at) == TYPE ? at : last;
		off += size;
		n++;
	}
	return n;
}

static void test_backward(void)
{
	setup(1, true, (struct perf_attr){.write_backward = 1});
	for (u64 seq = 1; seq <= 3; seq++)
		expect(produce(1, seq, POLL_IN));
	expect_long(read_backward(), 3);
	for (u64 seq = 4; seq <= 5000; seq++)
		expect(produce(1, seq, POLL_IN));
	expect(read_backward() > 8);
	expect_long(data_at(ring_page(ring)->data_head + 16), 5000);
	expect_long(writer->lost, 0);

	/* With a reader that may move the tail it can be full. */
	setup(1, false, (struct perf_attr){.write_backward = 1});
	for (u64 seq = 1; seq <= 1000; seq++)
		produce(1, seq, POLL_IN);
	expect(writer->lost > 900);
	expect(read_backward() > 8);
}

static void test_backward_killed(void)
{
	u32 seed = 7;

	setup(1, true, (struct perf_attr){.write_backward = 1});
	memset(&seen, 0, sizeof(seen));
	for (u64 i = 1; i <= KILLS && unit_failures < 5; i++) {
		pid_t pid = start_producer(i);

		seed = seed * 1103515245 + 12345;
		spin_ns(300000 + seed % 300000, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		event_lock();
		expect_long(ring_pause(writer, true), 0);
		event_unlock();
		expect(read_backward() > 4 || -ring->head < PAGE_SIZE);
		event_lock();
		ring_pause(writer, false);
		event_unlock();
	}
	expect(-ring->head > 10 * PAGE_SIZE); /* on a loaded machine each had little time */
}

static void test_pause(void)
{
	setup(1, false, (struct perf_attr){0});
	memset(&seen, 0, sizeof(seen));
	event_lock();
	expect_long(ring_pause(writer, true), 0);
	event_unlock();
	expect(!produce(1, 1, POLL_IN));
	expect(!produce(1, 2, POLL_IN));
	event_lock();
	expect_long(ring_pause(writer, false), 0);
	event_unlock();
	expect(produce(1, 3, POLL_IN));
	drain(false);
	expect_long(seen.lost, 2);
	expect_long(seen.records, 1);
	event_lock();
	ring_attach(writer, NULL);
	expect_long(ring_pause(writer, true), -EINVAL);
	event_unlock();
	expect(!produce(1, 4, POLL_IN));
	expect_long(writer->lost, 2);
}

static void test_wakeups(void)
{
	/* Half of the buffer. */
	setup(1, false, (struct perf_attr){0});
	writer->waiters = 1;
	for (u64 seq = 1; !fake_wakes.calls; seq++) {
		expect(ring->head <= PAGE_SIZE / 2);
		produce(1, seq, 0);
	}
	expect(ring->head > PAGE_SIZE / 2);
	expect_long(__atomic_exchange_n(&ring->poll, 0, __ATOMIC_RELAXED), 0x41);

	/* A number of bytes. */
	setup(1, false, (struct perf_attr){.watermark = 1, .wakeup_watermark = 8});
	writer->async_pid = 1;
	produce(1, 1, POLL_HUP);
	expect_long(fake_wakes.calls, 1);
	expect_long(fake_wakes.kill, POLL_HUP);
	produce(1, 2, 0);
	expect_long(fake_wakes.kill, POLL_IN);

	/* A number of samples; other records do not count. */
	setup(1, false, (struct perf_attr){.wakeup_events = 2});
	writer->waiters = 1;
	produce(1, 0, 0);
	produce(1, 0, 0);
	produce(1, 0, POLL_IN);
	expect_long(fake_wakes.calls, 0);
	produce(1, 0, POLL_IN);
	expect_long(fake_wakes.calls, 1);

	/* Nobody waits: the next poll(2) is told all the same. */
	setup(1, false, (struct perf_attr){.wakeup_events = 1});
	produce(1, 0, POLL_IN);
	expect_long(fake_wakes.calls, 0);
	expect_long(ring->poll, 0x41);
}

/* The guest may write anything into the first page. */
static void test_wild_page(void)
{
	static const u64 wild[] = {1, 7, ~0ul, 1ul << 63, 4096, 4095, 0x123456789abcdef1};

	setup(1, false, (struct perf_attr){0});
	for (u32 i = 0; i < ARRAY_SIZE(wild); i++) {
		memset(ring_page(ring), 0xa5, PAGE_SIZE);
		ring_page(ring)->data_tail = wild[i];
		for (u64 seq = 1; seq < 2000; seq++)
			produce(1, seq, POLL_IN);
		expect_long(*(char *)host_ring_page(ring->page + 2), 0);
		expect_valid("after a wild tail");
	}
}

int main(void)
{
	journals = sections_map_journals();
	test_wrap_and_lost();
	test_threads();
	test_killed();
	test_backward();
	test_backward_killed();
	test_pause();
	test_wakeups();
	test_wild_page();
	return unit_result();
}
