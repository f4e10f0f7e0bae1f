/*
 * Each ioctl of events, with good and bad arguments, and each call that descriptors have, on each kind of event: what
 * it answers. Those of BPF are refused for events that are no tracepoints; other kinds are in tests/abi/tracepoint.c.
 * covers: PERF_EVENT_IOC_*, PERF_IOC_FLAG_GROUP
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "tests/abi/breakpoint.h"

static volatile long word;

enum { PLAIN, SAMPLING, FREQUENCY, INHERITED, LEADER, MEMBER, OF_CPU, OF_DEAD, MAPPED, BREAKPOINT, KINDS };
static const char *const names[KINDS] = {"plain",  "sampling", "frequency", "inherited", "leader",
					 "member", "of a CPU", "of dead",   "mapped",	 "breakpoint"};

static long open_dead(struct perf_attr *a)
{
	pid_t pid = fork();
	long fd;

	if (!pid) {
		pause();
		_exit(0);
	}
	fd = perf_open(a, pid, -1, -1, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return fd;
}

static long open_kind(int kind, long *other)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	long fd;

	*other = -1;
	a.sample_period = kind == SAMPLING || kind == MAPPED ? 1000 : 0;
	a.freq = kind == FREQUENCY;
	if (a.freq)
		a.sample_freq = 100;
	a.inherit = kind == INHERITED;
	if (kind == BREAKPOINT)
		a = bp_attr(HW_BREAKPOINT_W, &word, 8);
	if (kind == OF_DEAD)
		return open_dead(&a);
	if (kind == MEMBER)
		*other = perf_open(&a, 0, -1, -1, 0);
	fd = perf_open(&a, 0, kind == OF_CPU ? 0 : -1, (int)*other, 0);
	if (kind == LEADER)
		*other = perf_open(&a, 0, -1, (int)fd, 0);
	if (kind == MAPPED)
		expect(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0) != MAP_FAILED, 1);
	return fd;
}

static void try(const char *what, long fd, unsigned long cmd, unsigned long arg)
{
	long result = perf_ioctl(fd, cmd, arg);

	printf(" %s %s", what, result < 0 ? strerrorname_np((int)-result) : "0");
}

static void try_ioctls(long fd, const struct perf_attr *same)
{
	unsigned long none = 0, one = 1, large = 1ul << 63, id = 0;
	struct perf_attr bad = *same;
	unsigned ids[4] = {2};

	bad.sample_type = 1ul << 60;
	try("ENABLE", fd, PERF_EVENT_IOC_ENABLE, 0);
	try("group", fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	try("DISABLE", fd, PERF_EVENT_IOC_DISABLE, 0);
	try("group", fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	try("RESET", fd, PERF_EVENT_IOC_RESET, 0);
	try("group", fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	try("REFRESH", fd, PERF_EVENT_IOC_REFRESH, 1);
	try("0", fd, PERF_EVENT_IOC_REFRESH, 0);
	try("group", fd, PERF_EVENT_IOC_REFRESH, -1ul);
	try("PERIOD", fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&one);
	try("0", fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&none);
	try("large", fd, PERF_EVENT_IOC_PERIOD, (unsigned long)&large);
	try("ID", fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	try("SET_FILTER", fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"x == 1");
	try("empty", fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)"");
	try("SET_BPF", fd, PERF_EVENT_IOC_SET_BPF, 0);
	try("-1", fd, PERF_EVENT_IOC_SET_BPF, -1ul);
	try("QUERY_BPF", fd, PERF_EVENT_IOC_QUERY_BPF, (unsigned long)ids);
	try("PAUSE", fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	try("resume", fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	try("SET_OUTPUT", fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)fd);
	try("-1", fd, PERF_EVENT_IOC_SET_OUTPUT, -1ul);
	try("MODIFY", fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)same);
	try("bad", fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&bad);
	try("wrong size", fd, _IOW('$', 4, int), (unsigned long)&one);
	putchar('\n');
}

static void print_call(const char *what, long result)
{
	printf(" %s %ld", what, result < 0 ? -errno : result);
}

static void try_calls(int fd)
{
	char buf[64] = "";
	struct iovec v[2] = {{buf, 4}, {buf + 8, 32}};
	struct flock lock = {.l_type = F_WRLCK};
	int n = 0;

	print_call("read", read(fd, buf, 64));
	print_call("short", read(fd, buf, 7));
	print_call("none", read(fd, buf, 0));
	print_call("readv", readv(fd, v + 1, 1));
	print_call("two", readv(fd, v, 2));
	print_call("pread", pread(fd, buf, 64, 0));
	print_call("write", write(fd, buf, 8));
	print_call("pwrite", pwrite(fd, buf, 8, 0));
	print_call("lseek", lseek(fd, 0, SEEK_CUR));
	print_call("ftruncate", ftruncate(fd, 0));
	print_call("fsync", fsync(fd));
	print_call("fchdir", fchdir(fd));
	print_call("FIONREAD", ioctl(fd, 0x541b, &n));
	print_call("FIONBIO", ioctl(fd, 0x5421, &n));
	print_call("GETFD", fcntl(fd, F_GETFD));
	print_call("GETFL", fcntl(fd, F_GETFL));
	print_call("SETLK", fcntl(fd, F_SETLK, &lock));
	print_call("GETPIPE_SZ", fcntl(fd, F_GETPIPE_SZ));
	putchar('\n');
}

int main(void)
{
	if (!perf_linux_is_new() || perf_result() == 77) {
		printf("no perf_event_open as that of Linux 6.15 and later\n");
		return 77;
	}
	for (int kind = 0; kind < KINDS; kind++) {
		struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
		long other, fd = open_kind(kind, &other);

		if (kind == BREAKPOINT)
			a = bp_attr(HW_BREAKPOINT_W, &word, 8);
		printf("%s:", names[kind]);
		if (fd < 0) {
			printf(" %ld\n", fd);
			continue;
		}
		try_ioctls(fd, &a);
		printf("%s:", names[kind]);
		try_calls((int)fd);
		close((int)fd);
		if (other >= 0)
			close((int)other);
	}
	return failures;
}
