/* Which descriptors are events, through everything that happens to descriptor tables. */
#include "tests/unit/event/fake.h"

static u64 open_inodes[32];

static u64 inode_of(u64 fd)
{
	return fd < 32 ? open_inodes[fd] : 0;
}

static void test_none(void)
{
	fake_session();
	for (u64 fd = 0; fd < 2000; fd++)
		expect(!event_files_lookup(1, fd));
	expect(!event_files_lookup(1, ~0ul));
	expect(!event_space->opened);
	event_files_close(1, 5);
	expect_empty();
}

static void test_dup(void)
{
	long fd;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	run(1, 3);
	expect_long(event_files_dup(1, (u64)fd, 20), 0);
	event_files_close(1, (u64)fd);
	expect_long(value_of(fd), -EBADF);
	expect_long(value_of(20), 3);
	/* dup2 of an ordinary descriptor over the last one closes the event */
	expect_long(event_files_dup(1, 0, 20), 0);
	expect_long(event_count(), 0);
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	expect_long(event_files_dup(1, (u64)fd, EVENT_FDS), -EMFILE);
	expect_long(event_files_dup(1, (u64)fd, (u64)fd), 0);
	expect_long(event_slot(event_files_lookup(1, (u64)fd))->refs, 1);
	expect_empty();
}

static void test_fork(void)
{
	long fd;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	fake_fork(1, 2, 0);
	fake_fork(1, 3, CLONE_FILES);
	event_files_close(1, (u64)fd);
	expect(!event_files_lookup(3, (u64)fd));
	expect(event_files_lookup(2, (u64)fd));
	run(1, 8);
	fake_current = 2;
	expect_long(value_of(fd), 8);
	fake_exit(2);
	expect_long(event_count(), 0);
	fake_current = 1;
	fake_exit(3);
	expect_empty();
}

/* An event lives on in a message, each copy of it for itself; what was not sent does not count. */
static void test_messages(void)
{
	struct event *e;
	long fd;

	fake_session();
	fake_fork(1, 2, 0);
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	e = event_slot(event_files_lookup(1, (u64)fd));
	event_files_sent(1, (u64)fd);
	event_files_sent(1, (u64)fd);
	event_files_sent(1, (u64)fd);
	event_files_unsent(1, (u64)fd);
	event_files_sent(1, 99);
	event_files_unsent(1, 99);
	event_files_close(1, (u64)fd);
	run(1, 6);
	event_files_adopt(2, 9, e->inode, false);
	event_files_close(2, 9);
	event_files_adopt(2, 9, e->inode, true);
	fake_current = 2;
	expect_long(value_of(9), 6);
	event_files_close(2, 9);
	expect_long(event_count(), 1);
	event_files_adopt(2, 9, e->inode, true);
	event_files_close(2, 9);
	expect_long(event_count(), 0);
	fake_exit(2);
	fake_current = 1;
	expect_empty();
}

static void test_unshare(void)
{
	long fd;

	fake_session();
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	fake_fork(1, 2, CLONE_FILES);
	expect_long(event_files_unshare(2), 0);
	event_files_close(2, (u64)fd);
	expect(event_files_lookup(1, (u64)fd));
	fake_exit(2);
	expect_empty();
}

/* A descriptor that arrives from elsewhere is an event if its file is one's. */
static void test_adopt(void)
{
	long fd;

	fake_session();
	fake_fork(1, 2, 0);
	fd = open_simple(PERF_TYPE_RAW, 0, -1);
	run(1, 6);
	event_files_adopt(2, 9, 77777, false);
	expect(!event_files_lookup(2, 9));
	event_files_adopt(2, 9, 0, false);
	expect(!event_files_lookup(2, 9));
	event_files_adopt(2, 9, event_slot(event_files_lookup(1, (u64)fd))->inode, false);
	event_files_close(1, (u64)fd);
	fake_current = 2;
	expect_long(value_of(9), 6);
	event_files_close(2, 9);
	expect_long(event_count(), 0);
	fake_exit(2);
	fake_current = 1;
	expect_empty();
}

static void test_exec(void)
{
	long kept, closed, replaced;

	fake_session();
	kept = open_simple(PERF_TYPE_RAW, 0, -1);
	closed = open_simple(PERF_TYPE_RAW, 0, -1);
	replaced = open_simple(PERF_TYPE_RAW, 0, -1);
	fake_fork(1, 2, CLONE_FILES);
	memset(open_inodes, 0, sizeof(open_inodes));
	open_inodes[kept] = event_slot(event_files_lookup(1, (u64)kept))->inode;
	open_inodes[replaced] = 1;
	expect_long(event_files_exec(2, inode_of), 0);
	expect(event_files_lookup(2, (u64)kept));
	expect(!event_files_lookup(2, (u64)closed));
	expect(!event_files_lookup(2, (u64)replaced));
	expect(event_files_lookup(1, (u64)closed)); /* exec has given task 2 a table of its own */
	fake_exit(2);
	expect_empty();
}

static void test_close_range(void)
{
	fake_session();
	for (int i = 0; i < 6; i++)
		open_simple(PERF_TYPE_RAW, 0, -1);
	event_files_close_range(1, 4, 6);
	expect_long(event_count(), 3);
	expect(event_files_lookup(1, 3) && event_files_lookup(1, 7) && !event_files_lookup(1, 5));
	event_files_close_range(1, 100, ~0ul);
	expect_long(event_count(), 3);
	expect_empty();
}

int main(void)
{
	test_none();
	test_dup();
	test_fork();
	test_unshare();
	test_adopt();
	test_messages();
	test_exec();
	test_close_range();
	return unit_result();
}
