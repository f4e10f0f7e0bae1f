/*
 * The interface of 2009 by its text alone: what a mapping shows. Samples with all that a record can tell, notification,
 * REFRESH, records of mappings and names, inherited counters, the first page. With the argument "restart" only what is
 * so with --stress=restart, where each record that is begun is put back once and has one without a type in its place.
 *
 * cflags: -Iinclude -fno-omit-frame-pointer
 */
#include "tests/clients/abi_2009.h"

#define ALL    63u /* PERF_RECORD_IP to PERF_RECORD_CALLCHAIN */
#define PERIOD 1000
#define PAGES  16

/* A record of ALL, with two counters in the group. */
struct sample {
	struct perf_event_header header;
	__u64 ip;
	__u32 pid, tid;
	__u64 time, addr;
	__u64 nr;
	struct {
		__u64 event, val;
	} cnt[2];
	__u16 nr_ips, hv, kernel, user;
	__u64 ips[];
};

static struct ring ring;

static void check_sample(const struct sample *s, __u64 *time, long nth)
{
	EXPECT(s->header.type, ALL);
	EXPECT(s->header.misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_OVERFLOW);
	TRUE(s->ip > (__u64)(unsigned long)region && s->ip < (__u64)(unsigned long)region + 200);
	EXPECT(s->pid, getpid());
	EXPECT(s->tid, syscall(SYS_gettid));
	TRUE(s->time >= *time);
	*time = s->time;
	EXPECT(s->nr, 2);
	EXPECT(s->cnt[0].event, HW(INSTRUCTIONS));
	EXPECT(s->cnt[0].val, nth * PERIOD); /* no skid: exactly where the period ends */
	EXPECT(s->cnt[1].event, HW(BRANCH_INSTRUCTIONS));
	TRUE(s->cnt[1].val * LOOP + 20 >= s->cnt[0].val && s->cnt[1].val * LOOP <= s->cnt[0].val);
	EXPECT(s->nr_ips, s->hv + s->kernel + s->user);
	EXPECT(s->hv + s->kernel, 0);
	TRUE(s->user >= 2);
	EXPECT(s->ips[0], s->ip);
	EXPECT(s->header.size, sizeof(*s) + s->nr_ips * sizeof(s->ips[0]));
}

static void test_samples(void)
{
	struct perf_event_hw_event hw = {
		.config = HW(INSTRUCTIONS), .irq_period = PERIOD, .record_type = ALL, .disabled = 1};
	int fd = open_it(hw, -1), member;
	__u64 time = 0;
	long n = 0;

	hw = (struct perf_event_hw_event){.config = HW(BRANCH_INSTRUCTIONS)};
	member = open_it(hw, fd);
	ring_map(&ring, fd, PAGES);
	EXPECT(ring.page->version | ring.page->compat_version, 0);
	region(fd, ROUNDS, 0);
	while (ring_next(&ring))
		check_sample((const struct sample *)&ring.record, &time, ++n);
	EXPECT(n, value(fd) / PERIOD);
	EXPECT(n, ROUNDS * LOOP / PERIOD);
	ring_unmap(&ring);
	close(member);
	close(fd);
}

/* Each bit alone: what the record has then. */
static void test_parts(void)
{
	static const unsigned size[] = {8, 8, 8, 8, 24, 0};

	for (unsigned bit = 0; bit < 6; bit++) {
		int fd = open_it((struct perf_event_hw_event){.config = HW(INSTRUCTIONS),
							      .irq_period = PERIOD,
							      .record_type = 1u << bit,
							      .disabled = 1},
				 -1);
		int n = 0;

		ring_map(&ring, fd, PAGES);
		region(fd, ROUNDS, 0);
		while (ring_next(&ring)) {
			n++;
			EXPECT(ring.record.header.type, 1u << bit);
			if (size[bit])
				EXPECT(ring.record.header.size, 8 + size[bit]);
		}
		EXPECT(n, ROUNDS * LOOP / PERIOD);
		ring_unmap(&ring);
		close(fd);
	}
}

/* A record of 16 bytes for each period. Nobody says what was read: the ring goes round, and data_head tells all. */
static void test_around(int prot)
{
	int fd = open_it(
		(struct perf_event_hw_event){
			.config = HW(INSTRUCTIONS), .irq_period = 100, .record_type = PERF_RECORD_IP, .disabled = 1},
		-1);
	unsigned n = ROUNDS * LOOP / 100 * 3;
	char *at = mmap(NULL, 2 * 4096, prot, MAP_SHARED, fd, 0);
	const struct perf_event_mmap_page *page = (void *)at;
	const struct perf_event_header *first = (void *)(at + 4096);

	TRUE(at != MAP_FAILED);
	region(fd, 3 * ROUNDS, 0);
	EXPECT(page->data_head, n * 16);
	TRUE(page->data_head > 4096);
	for (unsigned i = 0; i < 4096 / 16; i++)
		EXPECT(first[i * 2].type, PERF_RECORD_IP);
	EXPECT(munmap(at, 2 * 4096), 0);
	close(fd);
}

static int ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	EXPECT(poll(&p, 1, 0) >= 0, 1);
	return p.revents;
}

static volatile sig_atomic_t signals;

static void on_signal(int signo)
{
	signals++;
}

/* Exactly so many more, of an event with a period of 100. */
static void samples(int fd, unsigned n)
{
	unsigned end = ring_head(&ring) + 16 * n;

	while (ring_head(&ring) != end)
		region(fd, 100 / LOOP / 10, 0);
}

/* For each page that is filled; with wakeup_events also for each so many samples; poll() and signals. */
static void test_notification(void)
{
	struct perf_event_hw_event hw = {
		.config = HW(INSTRUCTIONS), .irq_period = 100, .record_type = PERF_RECORD_IP, .disabled = 1};
	int fd = open_it(hw, -1);

	EXPECT(ready(fd), POLLHUP); /* without a mapping there is nothing to wait for */
	ring_map(&ring, fd, PAGES);
	EXPECT(ready(fd), 0);
	for (unsigned page = 1; page <= 3; page++) { /* 4096 / 16 samples */
		samples(fd, 255);
		EXPECT(ready(fd), 0);
		samples(fd, 1);
		EXPECT(ready(fd), POLLIN);
		EXPECT(ready(fd), 0);
	}
	ring_unmap(&ring);
	close(fd);

	hw.wakeup_events = 10;
	fd = open_it(hw, -1);
	ring_map(&ring, fd, PAGES);
	samples(fd, 9);
	EXPECT(ready(fd), 0);
	samples(fd, 1);
	EXPECT(ready(fd), POLLIN);
	signal(SIGIO, on_signal);
	EXPECT(fcntl(fd, F_SETOWN, getpid()), 0);
	EXPECT(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC), 0);
	samples(fd, 9);
	EXPECT(signals, 0);
	samples(fd, 1);
	EXPECT(signals, 1);
	ring_unmap(&ring);
	close(fd);
}

/* So many samples, then it is disabled. */
static void test_refresh(void)
{
	int fd = open_it(
		(struct perf_event_hw_event){
			.config = HW(INSTRUCTIONS), .irq_period = 100, .record_type = PERF_RECORD_IP, .disabled = 1},
		-1);
	int n = 0;

	ring_map(&ring, fd, PAGES);
	EXPECT(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	rounds(ROUNDS);
	while (ring_next(&ring))
		n++;
	EXPECT(n, 3);
	TRUE(value(fd) >= 300 && value(fd) < 400);
	ring_unmap(&ring);
	close(fd);
}

struct mapping {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 addr, len, pgoff;
	char filename[];
};

struct name {
	struct perf_event_header header;
	__u32 pid, tid;
	char comm[];
};

/* The next record, which must be of that type, of a task. */
static const void *expect_record(unsigned type, pid_t tid)
{
	const struct name *r = (const void *)&ring.record;

	TRUE(ring_next(&ring));
	EXPECT(r->header.type, type);
	EXPECT(r->header.misc & ~(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_KERNEL), 0);
	EXPECT(r->tid, tid);
	return r;
}

static void expect_mapping(unsigned type, const void *addr, unsigned long len, unsigned long pgoff, const char *name)
{
	const struct mapping *m = expect_record(type, (pid_t)syscall(SYS_gettid));

	EXPECT(m->addr, (unsigned long)addr);
	EXPECT(m->len, len);
	EXPECT(m->pgoff, pgoff);
	if (strcmp(m->filename, name) && ++failures)
		printf("%s, not %s\n", m->filename, name);
}

/* Executable mappings as they come and go, whole and in part, by munmap and by another mapping in their place. */
static void test_mappings(const char *path)
{
	int fd = open_it((struct perf_event_hw_event){.config = SW(TASK_CLOCK), .mmap = 1, .munmap = 1}, -1);
	int file = open(path, O_RDONLY), prot = PROT_READ | PROT_EXEC;
	char *at, *plain;

	ring_map(&ring, fd, PAGES);
	ring.seen = ring_head(&ring);
	at = mmap(NULL, 3 * 4096, prot, MAP_PRIVATE, file, 4096);
	plain = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	TRUE(at != MAP_FAILED && plain != MAP_FAILED);
	expect_mapping(PERF_RECORD_MMAP, at, 3 * 4096, 4096, path);
	EXPECT(munmap(at + 4096, 4096), 0);
	expect_mapping(PERF_RECORD_MUNMAP, at + 4096, 4096, 2 * 4096, path);
	EXPECT(munmap(plain, 4096), 0);
	EXPECT(mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == at, 1);
	expect_mapping(PERF_RECORD_MUNMAP, at, 4096, 4096, path);
	EXPECT(munmap(at + 1, 4096), -1); /* refused: nothing has gone */
	EXPECT(munmap(at, 3 * 4096), 0);
	expect_mapping(PERF_RECORD_MUNMAP, at + 2 * 4096, 4096, 3 * 4096, path);
	EXPECT(ring_next(&ring), 0);
	close(file);
	ring_unmap(&ring);
	close(fd);
}

/* Of a task that is made, and of one that takes another name; and no record that the text does not know. */
static void test_names(void)
{
	int fd = open_it((struct perf_event_hw_event){.config = SW(TASK_CLOCK), .comm = 1}, -1);
	const struct name *r;
	pid_t child;

	ring_map(&ring, fd, PAGES);
	EXPECT(prctl(PR_SET_NAME, "of 2009"), 0);
	r = expect_record(PERF_RECORD_COMM, getpid());
	EXPECT(strcmp(r->comm, "of 2009"), 0);
	EXPECT(r->header.size, sizeof(*r) + 8);
	child = fork();
	if (!child)
		_exit(0);
	EXPECT(waitpid(child, NULL, 0), child);
	r = expect_record(PERF_RECORD_COMM, child);
	EXPECT(strcmp(r->comm, "of 2009"), 0);
	EXPECT(ring_next(&ring), 0); /* its end is told since 2.6.31 only */
	ring_unmap(&ring);
	close(fd);
}

/* Records of children are in the parent's ring; GROUP and the count itself are each task's own and the sum. */
static void test_inherit(void)
{
	int fd = open_it((struct perf_event_hw_event){.config = HW(INSTRUCTIONS),
						      .irq_period = PERIOD,
						      .record_type = PERF_RECORD_TID,
						      .inherit = 1,
						      .disabled = 1},
			 -1);
	const struct name *r = (const void *)&ring.record;
	long own = 0, childs = 0;
	pid_t child;

	ring_map(&ring, fd, PAGES);
	EXPECT(ioctl(fd, PERF_EVENT_IOC_ENABLE), 0);
	child = fork();
	if (!child) {
		rounds(ROUNDS);
		_exit(0);
	}
	EXPECT(waitpid(child, NULL, 0), child);
	EXPECT(ioctl(fd, PERF_EVENT_IOC_DISABLE), 0);
	while (ring_next(&ring)) {
		own += r->tid == (__u32)getpid();
		childs += r->tid == (__u32)child;
	}
	TRUE(childs >= (long)(ROUNDS * LOOP / PERIOD));
	TRUE(own + childs <= value(fd) / PERIOD);
	TRUE(value(fd) >= (long)(ROUNDS * LOOP));
	ring_unmap(&ring);
	close(fd);
}

/* Tasks that are killed while their records go into one ring leave whole ones there, and their counts. */
static void test_killed(void)
{
	enum { CHILDREN = 8, WORK = 1000000 };
	int fd = open_it(
		(struct perf_event_hw_event){
			.config = HW(INSTRUCTIONS), .irq_period = PERIOD, .record_type = PERF_RECORD_IP, .inherit = 1},
		-1);
	pid_t child[CHILDREN];
	long n = 0;

	ring_map(&ring, fd, 2 * PAGES); /* more than one child writes */
	for (int i = 0; i < CHILDREN; i++) {
		child[i] = fork();
		if (!child[i]) {
			rounds(WORK);
			_exit(0);
		}
		while (ring_next(&ring))
			n++;
		while (ring_head(&ring) - ring.seen < 16u << i) /* of either task */
			sched_yield();
		kill(child[i], SIGKILL);
		EXPECT(waitpid(child[i], NULL, 0), child[i]);
		while (ring_next(&ring))
			n++;
	}
	EXPECT(ioctl(fd, PERF_EVENT_IOC_DISABLE), 0);
	while (ring_next(&ring))
		n++;
	TRUE(n <= value(fd) / PERIOD);
	/* Of each task less than a period is left, and the sample that it was killed in. */
	TRUE(n + ring.skipped >= value(fd) / PERIOD - 2 * CHILDREN - 1);
	ring_unmap(&ring);
	close(fd);
}

/* The text's loop. */
static long long read_mapped(const struct perf_event_mmap_page *page, int fd)
{
	volatile const struct perf_event_mmap_page *pc = page;
	__u32 seq, low, high;
	long long count;

	do {
		seq = pc->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!pc->index)
			return value(fd);
		__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(pc->index - 1));
		count = (long long)((unsigned long long)high << 32 | low) + pc->offset;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (pc->lock != seq);
	return count;
}

static void test_page(void)
{
	int fd = open_it((struct perf_event_hw_event){.config = HW(INSTRUCTIONS)}, -1);
	long long before, between, after;

	ring_map(&ring, fd, 0);
	TRUE(ring.page->index);
	before = value(fd);
	between = read_mapped(ring.page, fd);
	after = value(fd);
	TRUE(before < between && between < after);
	EXPECT(ioctl(fd, PERF_EVENT_IOC_DISABLE), 0);
	EXPECT(ring.page->index, 0);
	EXPECT(read_mapped(ring.page, fd), value(fd));
	EXPECT(ring.page->data_head, 0);
	ring_unmap(&ring);
	close(fd);
}

static void test_refused(void)
{
	int fd = open_it((struct perf_event_hw_event){.config = HW(INSTRUCTIONS)}, -1);

	TRUE(mmap(NULL, 4 * 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	EXPECT(errno, EINVAL); /* 1 + 3 pages */
	TRUE(mmap(NULL, 2 * 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED);
	EXPECT(errno, EINVAL);
	TRUE(mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, fd, 4096) == MAP_FAILED);
	EXPECT(errno, EINVAL);
	close(fd);
}

int main(int argc, char **argv)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = 0;
	test_samples();
	if (argc > 1 && !strcmp(argv[1], "restart")) {
		TRUE(ring.skipped);
		test_inherit();
		return !!failures;
	}
	EXPECT(ring.skipped, 0);
	test_parts();
	test_around(PROT_READ);
	test_around(PROT_READ | PROT_WRITE);
	test_notification();
	test_refresh();
	test_mappings(path);
	test_names();
	test_inherit();
	test_killed();
	test_page();
	test_refused();
	return !!failures;
}
