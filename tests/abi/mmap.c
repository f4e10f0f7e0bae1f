/*
 * mmap(2) of events: which sizes, offsets, protections and flags, what may be done with the mapping afterwards, and
 * whose it is.
 *
 * Events that count nothing and do not sample: Linux maps them like any other.
 * covers: EPERM, EBUSY, page.aux_offset, page.aux_size
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include "tests/abi/errno/perf.h"

#define PAGE 4096ul
#define RW (PROT_READ | PROT_WRITE)

static long open_dummy(int cpu, int inherit)
{
	struct perf_attr attr = perf_attr_sw(PERF_COUNT_SW_DUMMY);

	attr.inherit = inherit != 0;
	return perf_open(&attr, 0, cpu, -1, 0);
}

static long map_at(void *addr, unsigned long len, int prot, int flags, long fd, unsigned long offset)
{
	void *at = mmap(addr, len, prot, flags, (int)fd, (long)offset);

	return at == MAP_FAILED ? -errno : (long)at;
}

static char *map(long fd, unsigned long pages)
{
	long at = map_at(NULL, pages * PAGE, RW, MAP_SHARED, fd, 0);

	expect(at > 0, 1);
	return (char *)at;
}

/* Maps and unmaps: 0 or -errno. */
static long try_map(unsigned long len, int prot, int flags, long fd, unsigned long offset)
{
	long at = map_at(NULL, len, prot, flags, fd, offset);

	return at < 0 ? at : munmap((void *)at, len) ? -errno : 0;
}

static long try_pages(long fd, unsigned long pages)
{
	return try_map(pages * PAGE, RW, MAP_SHARED, fd, 0);
}

static void test_sizes(void)
{
	long fd = open_dummy(-1, 0);
	static const struct {
		unsigned long len;
		long result;
	} sizes[] = {
		{PAGE, 0}, {2 * PAGE, 0}, {3 * PAGE, 0}, {5 * PAGE, 0}, {65 * PAGE, 0}, {1, 0}, {PAGE + 1, 0},
		{0, -EINVAL}, {4 * PAGE, -EINVAL}, {6 * PAGE, -EINVAL}, {8 * PAGE, -EINVAL}, {64 * PAGE, -EINVAL},
		{1ul << 40, -EINVAL}, {(1ul << 44) + PAGE, -ENOMEM}, {1ul << 47, -ENOMEM}, {-PAGE, -ENOMEM},
	};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		expect(try_map(sizes[i].len, RW, MAP_SHARED, fd, 0), sizes[i].result);
	expect(try_map(2 * PAGE, RW, MAP_SHARED, fd, PAGE), -EINVAL);
	expect(try_map(2 * PAGE, RW, MAP_SHARED, fd, 3 * PAGE), -EINVAL);
	expect(try_map(2 * PAGE, RW, MAP_SHARED, fd, 100), -EINVAL);
	expect(try_map(2 * PAGE, RW, MAP_SHARED, fd, 0x7ffffffffffff000ul), -EINVAL);
	close((int)fd);
	expect(try_pages(fd, 2), -EBADF);
}

static void test_flags(void)
{
	long fd = open_dummy(-1, 0);

	expect(try_map(2 * PAGE, PROT_READ, MAP_SHARED, fd, 0), 0);
	expect(try_map(2 * PAGE, PROT_WRITE, MAP_SHARED, fd, 0), 0);
	expect(try_map(2 * PAGE, PROT_NONE, MAP_SHARED, fd, 0), 0);
	expect(try_map(2 * PAGE, RW, MAP_SHARED_VALIDATE, fd, 0), 0);
	expect(try_map(2 * PAGE, RW, MAP_SHARED | MAP_POPULATE, fd, 0), 0);
	expect(try_map(2 * PAGE, RW, MAP_PRIVATE, fd, 0), -EINVAL);
	expect(try_map(2 * PAGE, RW, 0, fd, 0), -EINVAL);
	expect(try_map(2 * PAGE, RW, MAP_SHARED | MAP_HUGETLB, fd, 0), -EINVAL);
	expect(try_map(2 * PAGE, RW, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0), -EOPNOTSUPP);
	expect(try_map(2 * PAGE, RW, MAP_SHARED | MAP_GROWSDOWN, fd, 0), -EINVAL);
	if (perf_linux_is_new()) {
		expect(try_map(2 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0), -EPERM);
		expect(try_map(3 * PAGE, RW | PROT_EXEC, MAP_SHARED, fd, 0), -EPERM);
	}
	close((int)fd);
}

static void test_events(void)
{
	long fd = open_dummy(-1, 0), other = open_dummy(-1, 0), inherited = open_dummy(-1, 1),
	     on_cpu = open_dummy(0, 1);
	char *a = map(fd, 3);
	long ret;

	expect(try_pages(fd, 3), 0);
	expect(try_map(3 * PAGE, PROT_READ, MAP_SHARED, fd, 0), 0);
	expect(try_pages(fd, 1), -EINVAL);
	expect(try_pages(fd, 2), -EINVAL);
	expect(try_pages(fd, 5), -EINVAL);
	expect(try_pages(inherited, 3), -EINVAL);
	expect(try_map(4 * PAGE, RW, MAP_PRIVATE, inherited, 0), -EINVAL);
	expect(try_pages(on_cpu, 3), 0);
	expect(ioctl((int)other, PERF_EVENT_IOC_SET_OUTPUT, fd), 0);
	expect(try_pages(other, 5), -EINVAL);
	ret = try_pages(other, 3);
	expect(ret == -EBUSY || (ret == 0 && !perf_linux_is_new()), 1);
	munmap(a, 3 * PAGE);
	expect(try_pages(other, 5), 0);
	expect(try_pages(fd, 5), 0);
	/* An AUX area is of an event that makes one. */
	a = map(fd, 3);
	((struct perf_event_mmap_page *)a)->aux_offset = 3 * PAGE;
	((struct perf_event_mmap_page *)a)->aux_size = 4 * PAGE;
	expect(try_map(4 * PAGE, RW, MAP_SHARED, fd, 4 * PAGE), -EINVAL);
	expect(try_map(2 * PAGE, RW, MAP_SHARED, fd, 3 * PAGE), -EINVAL);
	expect(try_map(4 * PAGE, RW, MAP_SHARED, fd, 3 * PAGE), -EOPNOTSUPP);
	munmap(a, 3 * PAGE);
	close((int)fd), close((int)other), close((int)inherited), close((int)on_cpu);
}

static long try_remap(char *a, unsigned long old, unsigned long new, int flags, void *to)
{
	void *at = mremap(a, old, new, flags, to);

	return at == MAP_FAILED ? -errno : (long)at;
}

/* What is mapped can be moved and its protection changed as a whole, no more. */
static void test_changes(void)
{
	static const signed char advice[] = {
		[MADV_DONTNEED] = -EINVAL, [MADV_FREE] = -EINVAL, [MADV_REMOVE] = -ENODEV, [MADV_DOFORK] = -EINVAL,
		[MADV_DODUMP] = -EINVAL, [MADV_POPULATE_WRITE] = -EINVAL, [MADV_WIPEONFORK] = -EINVAL};
	long fd = open_dummy(-1, 0);
	char *a = map(fd, 2), *room;

	for (unsigned i = 0; i < sizeof(advice); i++)
		if (advice[i] || i <= MADV_WILLNEED)
			expect(madvise(a, 2 * PAGE, (int)i) ? -errno : 0, advice[i]);
	expect(mmap(a, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, (int)fd, 0) == MAP_FAILED, 1);
	expect(errno, EEXIST); /* before all that is wrong with it */
	expect(mprotect(a, 2 * PAGE, PROT_READ), 0);
	expect(mprotect(a, 2 * PAGE, RW), 0);
	expect(msync(a, 2 * PAGE, MS_SYNC) ? -errno : 0, -EINVAL);
	expect(msync(a, 2 * PAGE, MS_ASYNC), 0);
	expect(mlock(a, PAGE), 0);
	expect(msync(a, PAGE, MS_INVALIDATE), 0); /* EBUSY if it were locked */
	expect(mprotect(a, PAGE, RW), 0); /* as it is */
	if (perf_linux_is_new()) {
		expect(munmap(a, PAGE) ? -errno : 0, -EINVAL);
		expect(munmap(a + PAGE, PAGE) ? -errno : 0, -EINVAL);
		expect(mprotect(a, PAGE, PROT_READ) ? -errno : 0, -EINVAL);
		expect(madvise(a, PAGE, MADV_RANDOM) ? -errno : 0, -EINVAL);
		expect(mprotect(a, 2 * PAGE, PROT_READ | PROT_EXEC) ? -errno : 0, -EACCES);
		expect(map_at(a, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), -EINVAL);
		expect(try_remap(a, 2 * PAGE, PAGE, MREMAP_MAYMOVE, NULL), -EINVAL);
	}
	expect(try_remap(a, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE, NULL), -EFAULT);
	expect(try_remap(a, 0, 2 * PAGE, MREMAP_MAYMOVE, NULL), -EFAULT);
	expect(try_remap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL), -EINVAL);
	expect(try_remap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE, NULL), (long)a);
	room = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(try_remap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + PAGE), (long)room + PAGE);
	a = room + PAGE;
	expect(((struct perf_event_mmap_page *)a)->data_size, PAGE);
	/* A mapping in its place that is refused changes nothing, one that is made takes the ring away. */
	expect(map_at(a, 2 * PAGE, RW, MAP_SHARED | MAP_FIXED, -1, 0), -EBADF);
	expect(ioctl((int)fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0);
	expect(map_at(room, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), (long)room);
	expect(perf_ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), -EINVAL);
	expect(try_pages(fd, 9), 0);
	munmap(room, 4 * PAGE);
	close((int)fd);
}

/* The event of a mapping stays when its descriptor is closed, as far as its records and its page go. */
static void test_outlives_descriptor(void)
{
	struct perf_attr attr = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	struct perf_event_mmap_page *page;
	unsigned long head;
	long fd;

	attr.comm = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	page = (void *)map(fd, 2);
	close((int)fd);
	head = page->data_head;
	prctl(PR_SET_NAME, "renamed", 0, 0, 0);
	expect(page->data_head > head, 1);
	munmap(page, 2 * PAGE);
}

static int status_of(int pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

static void test_processes(void)
{
	long fd = open_dummy(-1, 0);
	char *a = map(fd, 2);
	int pid;

	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)a;
		_exit(0);
	}
	expect(WTERMSIG(status_of(pid)), SIGSEGV);
	pid = fork();
	if (!pid) {
		char *b = map(fd, 2);

		failures += ((struct perf_event_mmap_page *)b)->data_size != PAGE;
		failures += munmap(a, 2 * PAGE) != 0; /* nothing is there, or the child's own */
		_exit(failures);
	}
	expect(status_of(pid), 0);
	expect(((struct perf_event_mmap_page *)a)->data_size, PAGE);
	munmap(a, 2 * PAGE);
	close((int)fd);
}

static void test_maps_file(void)
{
	char line[512], start[32];
	long fd = open_dummy(-1, 0);
	char *a = map(fd, 3);
	FILE *f = fopen("/proc/self/maps", "r");
	int found = 0;

	snprintf(start, sizeof(start), "%lx-%lx rw-s 00000000 ", (long)a, (long)a + 3 * PAGE);
	while (fgets(line, sizeof(line), f))
		found += !strncmp(line, start, strlen(start)) && strstr(line, " anon_inode:[perf_event]\n");
	expect(found, 1);
	fclose(f);
	munmap(a, 3 * PAGE);
	close((int)fd);
}

static long mlock_pages(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_mlock_kb", "r");
	long kb = -1;

	if (!f || fscanf(f, "%ld", &kb) != 1)
		kb = -1;
	if (f)
		fclose(f);
	return kb / 4 * sysconf(_SC_NPROCESSORS_ONLN);
}

/* perf_event_mlock_kb for each CPU is the user's, the rest must fit RLIMIT_MEMLOCK. */
static void test_locked_memory(void)
{
	long limit = mlock_pages(), fit = 1, fd, other;
	struct rlimit none = {0, 0};
	char *a;

	if (limit < 8)
		return;
	while (1 + fit * 2 <= limit)
		fit *= 2;
	if (geteuid() || !as_nobody()) /* other programs of this user lock memory too */
		return;
	setrlimit(RLIMIT_MEMLOCK, &none);
	fd = open_dummy(-1, 0);
	other = open_dummy(-1, 0);
	if (fd == -EACCES) /* Ubuntu's kernels: perf_event_paranoid is 4 */
		exit(failures);
	expect(try_pages(fd, 1 + 2 * fit), -EPERM);
	a = map(fd, 1 + fit);
	expect(try_pages(other, 1 + fit), -EPERM);
	munmap(a, (1 + fit) * PAGE);
	expect(try_pages(other, 1 + fit), 0);
	exit(failures);
}

int main(void)
{
	if (perf_result() == 77)
		return 77;
	test_sizes();
	test_flags();
	test_events();
	test_changes();
	test_outlives_descriptor();
	test_processes();
	test_maps_file();
	test_locked_memory();
	return perf_result();
}
