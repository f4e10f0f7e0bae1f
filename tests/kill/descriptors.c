/*
 * A member writes into the session's memory that another one's descriptors are events. They are read, written, mapped
 * and waited for as what they are.
 *
 *   descriptors   under pcl
 *
 * The child writes the table, so this knows the session's structures.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "event/space.h"
#include "os/session/arena.h"

#define DESCRIPTORS 40
#define TABLES 8
#define TEXT "what is in it"
#define LEN ((long)sizeof(TEXT))

struct event_space *event_space;
static int failed;

static void expect_at(int line, const char *what, long seen, long wanted)
{
	if (seen == wanted)
		return;
	printf("line %d: %s is %ld, expected %ld, errno %d\n", line, what, seen, wanted, errno);
	failed = 1;
}
#define expect(what, wanted) expect_at(__LINE__, #what, what, wanted)

static int open_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* In a child, which is another member; all of this one's numbers are event 1 then. */
static void call_all_events(void)
{
	int status;

	if (!fork()) {
		for (u32 f = 0; f < TABLES; f++) {
			struct event_files *files = event_files_slot(f);

			if (!files->chunk[0])
				continue;
			files->high = DESCRIPTORS;
			for (u32 fd = 3; fd < DESCRIPTORS; fd++)
				*event_fd_entry(f, fd) = 1;
		}
		_exit(0);
	}
	wait(&status);
	expect(status, 0);
}

static int make_file(void)
{
	char name[] = "/tmp/pcl-XXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	expect(write(fd, TEXT, LEN), LEN);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void check_file(int fd)
{
	char text[256] = "";
	char *map;

	expect(read(fd, text, sizeof(text)), LEN);
	expect(memcmp(text, TEXT, LEN), 0);
	expect(write(fd, TEXT, LEN), LEN);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	expect(map != MAP_FAILED && !memcmp(map, TEXT, LEN), 1);
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	expect(map != MAP_FAILED && !memcmp(map, TEXT, LEN), 1);
	expect(ftruncate(fd, LEN), 0);
}

/* What is written to one end comes out of the other. */
static void check_ends(int in, int out)
{
	struct pollfd p = {.fd = out, .events = POLLIN};
	struct epoll_event e = {.events = EPOLLIN};
	char text[256] = "";
	int ep = epoll_create1(0);

	expect(poll(&p, 1, 0), 0);
	expect(write(in, TEXT, LEN), LEN);
	expect(poll(&p, 1, 1000), 1);
	expect(p.revents, POLLIN);
	expect(epoll_ctl(ep, EPOLL_CTL_ADD, out, &e), 0);
	expect(epoll_wait(ep, &e, 1, 0), 1);
	close(ep);
	expect(read(out, text, sizeof(text)), LEN);
	expect(memcmp(text, TEXT, LEN), 0);
}

int main(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0pcl-test"};
	int event = open_event(), file = make_file(), bound, ends[3][2];
	u64 count;

	event_space = arena_event_space();
	if (event < 0 || pipe(ends[0]) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends[1]) ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends[2])) {
		perror("perf_event_open");
		return 1;
	}
	bound = socket(AF_UNIX, SOCK_DGRAM, 0);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "pcl-test-%d", getpid());
	expect(bind(bound, (struct sockaddr *)&name, sizeof(name)), 0);
	call_all_events();
	check_file(file);
	for (int i = 0; i < 3; i++) {
		call_all_events();
		check_ends(ends[i][1], ends[i][0]);
	}
	expect(connect(ends[2][1], (struct sockaddr *)&name, sizeof(name)), 0);
	call_all_events();
	check_ends(ends[2][1], bound);
	expect(read(event, &count, sizeof(count)), 8);
	expect(count > 1000, 1);
	/* A number that was an event's, closed and opened again, in all ways. */
	close(event);
	file = make_file();
	expect(file, event);
	call_all_events();
	check_file(file);
	event = open_event();
	call_all_events();
	expect(dup2(file, event), event);
	lseek(file, 0, SEEK_SET);
	call_all_events();
	check_file(event);
	event = open_event();
	call_all_events();
	expect(read(event, &count, sizeof(count)), 8);
	close_range((u32)event, (u32)event, 0);
	file = make_file();
	expect(file, event);
	call_all_events();
	check_file(file);
	return failed;
}
