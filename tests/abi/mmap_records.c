/*
 * MMAP and MMAP2 records of events' own mappings: a new one and a new protection are told, to the new ring too; a
 * move and a part are not.
 * covers: attr.mmap_data, PERF_RECORD_MISC_MMAP_DATA, PERF_RECORD_MMAP2*
 */
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "tests/abi/errno/perf.h"

#define PAGE 4096ul
#define DATA_PAGES 8
#define RW (PROT_READ | PROT_WRITE)

struct mmap2 {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, generation;
	u32 prot, flags;
	char filename[64];
};

static struct perf_event_mmap_page *ring;
static u64 read_to;
static struct stat anonymous; /* the inode that all files without a name share */

static int next_record(struct mmap2 *out)
{
	char *data = (char *)ring + PAGE;
	u64 size;

	memset(out, 0, sizeof(*out));
	if (read_to == ring->data_head)
		return 0;
	size = ((struct perf_event_header *)(data + read_to % (DATA_PAGES * PAGE)))->size;
	for (u64 i = 0; i < size && i < sizeof(*out); i++)
		((char *)out)[i] = data[(read_to + i) % (DATA_PAGES * PAGE)];
	read_to += size;
	return 1;
}

/* The next record is of this mapping. */
static void expect_record(const void *addr, u64 len, u32 prot)
{
	struct mmap2 r;

	expect(next_record(&r), 1);
	expect(r.header.type, PERF_RECORD_MMAP2);
	expect(r.header.misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
	expect(r.pid, getpid());
	expect(r.addr, (u64)addr);
	expect(r.len, len);
	expect(r.pgoff, 0);
	expect(r.maj, major(anonymous.st_dev));
	expect(r.min, minor(anonymous.st_dev));
	expect(r.ino, anonymous.st_ino);
	expect(r.generation, 0);
	expect(r.prot, prot);
	expect(r.flags, MAP_SHARED);
	expect(strcmp(r.filename, "anon_inode:[perf_event]"), 0);
}

static void expect_none(void)
{
	struct mmap2 r;

	expect(next_record(&r), 0);
}

int main(void)
{
	struct perf_attr listener = perf_attr_sw(PERF_COUNT_SW_DUMMY), plain = listener;
	long fd, other;
	char *a, *b, *room;

	listener.mmap = listener.mmap2 = listener.mmap_data = 1;
	fstat(eventfd(0, 0), &anonymous);
	room = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = perf_open(&listener, 0, -1, -1, 0);
	ring = mmap(NULL, (1 + DATA_PAGES) * PAGE, RW, MAP_SHARED, (int)fd, 0);
	expect_record(ring, (1 + DATA_PAGES) * PAGE, RW);
	expect_none();
	other = perf_open(&plain, 0, -1, -1, 0);
	a = mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, (int)other, 0);
	expect_record(a, 3 * PAGE, PROT_READ);
	b = mmap(NULL, 3 * PAGE, RW, MAP_SHARED, (int)other, 0);
	expect_record(b, 3 * PAGE, RW);
	expect(mmap(NULL, 2 * PAGE, RW, MAP_SHARED, (int)other, 0) == MAP_FAILED, 1);
	expect_none();
	expect(mprotect(a, 3 * PAGE, PROT_READ), 0);
	expect_none();
	expect(mprotect(a, 3 * PAGE, RW), 0);
	expect_record(a, 3 * PAGE, RW);
	expect(mremap(a, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room, 1);
	munmap(b, 3 * PAGE);
	expect_none();
	return perf_result();
}
