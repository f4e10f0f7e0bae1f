/*
 * Where records go: SET_OUTPUT, PERF_FLAG_FD_OUTPUT and PAUSE_OUTPUT, LOST records, overwritten and backward rings. The
 * records are COMM records of the test's own renaming, which every kernel writes at once.
 * covers: PERF_FLAG_FD_NO_GROUP, PERF_FLAG_FD_OUTPUT, attr.write_backward, PERF_EVENT_IOC_SET_OUTPUT,
 * PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_RECORD_LOST, PERF_RECORD_LOST.*, PERF_FORMAT_LOST, page.data_head,
 * page.data_tail, PERF_EVENT_IOC_ID
 */
#include <sys/mman.h>
#include <time.h>
#include "tests/abi/errno/perf.h"

#define PAGE 4096ul
#define DATA_PAGES 1
#define DATA_SIZE (DATA_PAGES * PAGE)

static struct perf_attr dummy(void)
{
	struct perf_attr attr = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	attr.comm = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	return attr;
}

static long open_dummy(void)
{
	struct perf_attr attr = dummy();

	return perf_open(&attr, 0, -1, -1, 0);
}

static struct perf_event_mmap_page *map(long fd, int prot)
{
	void *at = mmap(NULL, (1 + DATA_PAGES) * PAGE, prot, MAP_SHARED, (int)fd, 0);

	if (at == MAP_FAILED) {
		printf("mmap: %s\n", strerror(errno));
		exit(1);
	}
	return at;
}

static void unmap(struct perf_event_mmap_page *page)
{
	munmap(page, (1 + DATA_PAGES) * PAGE);
}

static void rename_self(int times)
{
	for (int i = 0; i < times; i++)
		prctl(PR_SET_NAME, i & 1 ? "one" : "another", 0, 0, 0);
}

static unsigned long id_of(long fd)
{
	unsigned long id = 0;

	ioctl((int)fd, PERF_EVENT_IOC_ID, &id);
	return id;
}

/* COMM: header, pid and tid, the name in multiples of 8, id. LOST: header, id, number, id. */
struct record {
	struct perf_event_header header;
	unsigned long word[8];
};

static struct record record_at(struct perf_event_mmap_page *page, unsigned long at)
{
	struct record r = {0};
	unsigned char *data = (unsigned char *)page + PAGE;

	for (unsigned i = 0; i < sizeof(r); i++)
		((unsigned char *)&r)[i] = data[(at + i) % DATA_SIZE];
	return r;
}

static unsigned long last_word(const struct record *r)
{
	return r->word[r->header.size / 8 - 2];
}

struct found {
	int comm, lost;		  /* records */
	unsigned long lost_count; /* what LOST records tell */
	unsigned long lost_id;
};

/* Reads all of the ring. Of COMM records those with that id. */
static struct found drain(struct perf_event_mmap_page *page, unsigned long id)
{
	unsigned long head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
	struct found f = {0};

	while (tail < head) {
		struct record r = record_at(page, tail);

		if (r.header.size < 16 || r.header.size % 8) {
			expect(r.header.size, 16);
			break;
		}
		if (r.header.type == PERF_RECORD_COMM)
			f.comm += last_word(&r) == id;
		if (r.header.type == PERF_RECORD_LOST) {
			expect(r.header.size, 32);
			f.lost++;
			f.lost_id = r.word[0];
			f.lost_count += r.word[1];
		}
		tail += r.header.size;
	}
	expect(tail, head);
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return f;
}

static void test_checks(void)
{
	struct perf_attr attr = dummy();
	long to = open_dummy(), fd = open_dummy(), on_cpu, backward, clocked;
	struct perf_event_mmap_page *page;

	attr.write_backward = 1;
	backward = perf_open(&attr, 0, -1, -1, 0);
	attr = dummy();
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	clocked = perf_open(&attr, 0, -1, -1, 0);
	attr = dummy();
	on_cpu = perf_open(&attr, 0, 0, -1, 0);

	expect(perf_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1ul), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)to), -EINVAL);
	page = map(to, PROT_READ | PROT_WRITE);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)fd), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0), -EBADF);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0xffffffff), -EBADF);
	expect(perf_ioctl(backward, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)to), -EINVAL);
	expect(perf_ioctl(clocked, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)to), -EINVAL);
	expect(perf_ioctl(on_cpu, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)to), -EINVAL);
	expect(perf_ioctl(to, PERF_EVENT_IOC_SET_OUTPUT, -1ul), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)to), 0);
	expect(perf_ioctl(to, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)fd), -EINVAL);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1ul), 0);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), -EINVAL);

	expect(perf_try(dummy(), 0, -1, (int)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), 0);
	expect(perf_try(dummy(), 0, -1, (int)to, PERF_FLAG_FD_OUTPUT), 0);
	expect(perf_try(dummy(), 0, 0, (int)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	expect(perf_try(attr, 0, -1, (int)fd, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	attr.write_backward = 1;
	expect(perf_try(attr, 0, -1, (int)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), -EINVAL);
	unmap(page);
	close((int)to), close((int)fd), close((int)backward), close((int)clocked), close((int)on_cpu);
}

static void test_redirected(void)
{
	struct perf_attr attr = dummy();
	long to = open_dummy(), fd = open_dummy(), third;
	struct perf_event_mmap_page *page = map(to, PROT_READ | PROT_WRITE);

	rename_self(3);
	expect(drain(page, id_of(to)).comm, 3);
	ioctl((int)fd, PERF_EVENT_IOC_SET_OUTPUT, to);
	third = perf_open(&attr, 0, -1, (int)to, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
	rename_self(2);
	expect(page->data_head > page->data_tail, 1);
	expect(drain(page, id_of(third)).comm, 2);
	rename_self(2);
	expect(drain(page, id_of(fd)).comm, 2);
	close((int)third);
	ioctl((int)fd, PERF_EVENT_IOC_SET_OUTPUT, -1ul);
	rename_self(2);
	expect(drain(page, id_of(fd)).comm, 0);

	/* Without the mapping there is nowhere to go. */
	ioctl((int)fd, PERF_EVENT_IOC_SET_OUTPUT, to);
	unmap(page);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), -EINVAL);
	rename_self(2);
	page = map(fd, PROT_READ | PROT_WRITE);
	expect(page->data_head, 0);
	rename_self(1);
	expect(drain(page, id_of(fd)).comm, 1);
	unmap(page);
	close((int)to), close((int)fd);
}

/* A reader in another process: its mapping of the event that it was given is the same ring. */
static void test_other_process(void)
{
	long fd = open_dummy();
	struct perf_event_mmap_page *page = map(fd, PROT_READ | PROT_WRITE);
	int status, go[2], pid;
	char byte;

	failures += pipe(go);
	pid = fork();
	if (!pid) {
		page = map(fd, PROT_READ | PROT_WRITE);
		failures += read(go[0], &byte, 1) != 1;
		expect(drain(page, id_of(fd)).comm, 5);
		exit(failures);
	}
	rename_self(5);
	failures += write(go[1], "", 1) != 1;
	waitpid(pid, &status, 0);
	expect(status, 0);
	expect(page->data_tail, page->data_head);
	unmap(page);
	close((int)fd), close(go[0]), close(go[1]);
}

static void test_lost(void)
{
	struct perf_attr attr = dummy();
	unsigned long v[2] = {0};
	struct perf_event_mmap_page *page;
	struct found f;
	int in_ring;
	long fd;

	attr.read_format = PERF_FORMAT_LOST;
	fd = perf_open(&attr, 0, -1, -1, 0);
	page = map(fd, PROT_READ | PROT_WRITE);
	rename_self(500);
	f = drain(page, id_of(fd));
	in_ring = f.comm;
	expect(f.lost, 0);
	expect(in_ring > 50 && in_ring < 500, 1);
	expect(read((int)fd, v, sizeof(v)), sizeof(v));
	expect(v[1], 500 - in_ring);
	rename_self(1);
	f = drain(page, id_of(fd));
	expect(f.comm, 1);
	expect(f.lost, 1);
	expect(f.lost_count, 500 - in_ring);
	expect(f.lost_id, id_of(fd));
	rename_self(1);
	expect(drain(page, id_of(fd)).lost, 0);

	ioctl((int)fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	rename_self(3);
	expect(drain(page, id_of(fd)).comm, 0);
	ioctl((int)fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	rename_self(2);
	f = drain(page, id_of(fd));
	expect(f.comm, 2);
	expect(f.lost_count, 3);
	expect(read((int)fd, v, sizeof(v)), sizeof(v));
	expect(v[1], 503 - in_ring);
	unmap(page);
	close((int)fd);
}

/* Newest first, as far as whole records go. */
static int count_backward(struct perf_event_mmap_page *page, unsigned long id)
{
	unsigned long head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), off = 0;
	int n = 0;

	while (off < DATA_SIZE) {
		struct record r = record_at(page, head + off);

		if (!r.header.size || r.header.size > DATA_SIZE - off)
			break;
		expect(r.header.type, PERF_RECORD_COMM);
		expect(last_word(&r), id);
		off += r.header.size;
		n++;
	}
	return n;
}

static void test_overwritten(void)
{
	struct perf_attr attr = dummy();
	struct perf_event_mmap_page *page;
	long fd;

	attr.write_backward = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	page = map(fd, PROT_READ);
	rename_self(3);
	expect((long)page->data_head < 0, 1);
	expect(count_backward(page, id_of(fd)), 3);
	rename_self(1000);
	ioctl((int)fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	expect(-page->data_head > 2 * DATA_SIZE, 1);
	expect(count_backward(page, id_of(fd)) > 50, 1);
	unmap(page);

	/* With a tail that could move it fills up instead. */
	page = map(fd, PROT_READ | PROT_WRITE);
	rename_self(1000);
	expect(-page->data_head < DATA_SIZE, 1);
	expect(count_backward(page, id_of(fd)) > 50, 1);
	unmap(page);
	close((int)fd);

	fd = open_dummy();
	page = map(fd, PROT_READ);
	rename_self(1000);
	expect(page->data_head > 2 * DATA_SIZE, 1);
	unmap(page);
	close((int)fd);
}

int main(void)
{
	if (perf_result() == 77)
		return 77;
	test_checks();
	test_redirected();
	test_other_process();
	test_lost();
	test_overwritten();
	return perf_result();
}
