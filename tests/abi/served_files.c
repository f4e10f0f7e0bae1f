/*
 * Files that pcl serves in place of the host's, as descriptors: a program's own files are never taken for them,
 * whatever their names, bytes and modes; those that can be written take every call that writes; and a path leads to
 * them only where it does natively.
 */
#include <dirent.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "tests/abi/errno/perf.h"

#define DEVICES "/sys/bus/event_source/devices"
#define PROBES	"/sys/kernel/tracing/uprobe_events"
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define PAGE	4096

static long result(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* A sealed file of the program's own, with the mode that served directories have. */
static int make_own(const char *name, const void *bytes, size_t n)
{
	int fd = memfd_create(name, MFD_ALLOW_SEALING);

	expect(fd >= 0, 1);
	expect(write(fd, bytes, n), n);
	expect(fchmod(fd, 01755), 0);
	expect(lseek(fd, 0, SEEK_SET), 0);
	expect(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL), 0);
	return fd;
}

static void expect_is_file(int fd)
{
	struct stat st;
	char buf[PAGE];

	expect(result(openat(fd, "x", O_RDONLY)), -ENOTDIR);
	expect(result(syscall(SYS_getdents64, fd, buf, sizeof(buf))), -ENOTDIR);
	expect(fstat(fd, &st), 0);
	expect(S_ISREG(st.st_mode), 1);
	expect(result(write(fd, "", 0)) <= 0, 1);
	expect(result(write(fd, "1\n", 2)), -EPERM);
	close(fd);
}

/* The beginning of a served directory, as it was once: a text, a path without an end, and records of length 0. */
static void test_bytes(void)
{
	char bytes[3 * PAGE] = "pcl: a directory that only the guest sees";
	size_t n = strlen(bytes) + 1;

	expect_is_file(make_own("zeros", bytes, sizeof(bytes)));
	memset(bytes + n, 'A', sizeof(bytes) - n);
	expect_is_file(make_own("no end", bytes, sizeof(bytes)));
}

/* What the link of a descriptor says, without what the kernel adds to a memfd's name. */
static void name_of(int fd, char *name, size_t size)
{
	char link[64], text[512];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	if (strstr(text, " (deleted)"))
		*strstr(text, " (deleted)") = 0;
	snprintf(name, size, "%s", text + (strncmp(text, "/memfd:", 7) ? 0 : 7));
}

/* Name, bytes and mode of an opened file, but for what another one cannot have. */
static void test_copy(const char *path, int flags)
{
	char name[256], twice[512], bytes[PAGE];
	int fd = open(path, flags);
	ssize_t n;

	if (fd < 0)
		return;
	name_of(fd, name, sizeof(name));
	n = read(fd, bytes, sizeof(bytes));
	expect_is_file(make_own(name, bytes, n > 0 ? (size_t)n : 0));
	snprintf(twice, sizeof(twice), "%.*s%.200s", (int)(strchr(name, '/') - name), name, name);
	expect_is_file(make_own(twice, bytes, n > 0 ? (size_t)n : 0));
	close(fd);
}

/*
 * All calls that write, with the value that is there, and with one that none of them takes where they look at it. Two
 * buffers are one text.
 */
static void test_writes(void)
{
	int fd = open(PARANOID, O_RDWR);
	char text[16] = "", bad[] = "x\n";
	struct iovec iov[2] = {{text, 1}, {text + 1, 1}}, wrong[2] = {{bad, 1}, {bad + 1, 1}};

	if (fd < 0 || read(fd, text, sizeof(text)) != 2) /* only root may write it */
		return;
	expect(lseek(fd, 0, SEEK_SET), 0);
	expect(result(writev(fd, wrong, 2)), -EINVAL);
	expect(result(writev(fd, iov, 2)), 2);
	expect(lseek(fd, 0, SEEK_CUR), 2);
	expect(result(write(fd, bad, 2)), 2); /* not at the beginning: not looked at */
	expect(result(pwritev2(fd, wrong, 2, -1, 0)), 2);
	expect(lseek(fd, 0, SEEK_CUR), 6);
	expect(result(pwrite(fd, text, 2, 0)), 2);
	expect(result(pwrite(fd, bad, 2, 0)), -EINVAL);
	expect(result(pwrite(fd, bad, 2, 1)), 2);
	expect(result(pwrite(fd, text, 2, -1)), -EINVAL);
	expect(result(pwritev(fd, iov, 2, 0)), 2);
	expect(result(pwritev(fd, wrong, 2, 0)), -EINVAL);
	expect(result(pwritev(fd, iov, 2, -1)), -EINVAL);
	expect(result(pwritev2(fd, iov, 2, 0, 0)), 2);
	expect(result(writev(fd, iov, 0)), 0);
	expect(result(syscall(SYS_writev, fd, iov, 1025)), -EINVAL);
	expect(result(syscall(SYS_writev, fd, 8, 1)), -EFAULT);
	expect(lseek(fd, 0, SEEK_CUR), 6);
	close(fd);
}

/* Each buffer is a write of its own. */
static void test_probe_writes(void)
{
	char define[] = "p:pcl_test_served/w /bin/true:0x4000\n", bad[] = "-:pcl_test_served/none\n",
	     undefine[] = "-:pcl_test_served/w\n";
	struct iovec iov[2] = {{define, sizeof(define) - 1}, {bad, sizeof(bad) - 1}},
		     twice[2] = {{undefine, sizeof(undefine) - 1}, {define, sizeof(define) - 1}};
	int fd = open(PROBES, O_WRONLY | O_APPEND);

	if (fd < 0)
		return;
	expect(result(writev(fd, iov, 2)), sizeof(define) - 1);
	expect(result(writev(fd, twice, 2)), sizeof(undefine) + sizeof(define) - 2);
	expect(result(pwrite(fd, undefine, sizeof(undefine) - 1, 0)), -ESPIPE);
	expect(result(pwritev(fd, twice, 1, 0)), -ESPIPE);
	expect(result(writev(fd, twice, 1)), sizeof(undefine) - 1);
	close(fd);
}

static void test_event(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	int fd = (int)perf_open(&a, 0, -1, -1, 0);
	struct iovec iov = {"1", 1};

	if (fd < 0)
		return;
	expect(result(write(fd, "1", 1)), -EINVAL);
	expect(result(writev(fd, &iov, 1)), -EINVAL);
	expect(result(pwrite(fd, "1", 1, 0)), -ESPIPE);
	expect(result(pwritev(fd, &iov, 1, 0)), -ESPIPE);
	close(fd);
}

static void test_names(void)
{
	static const char probe[] = "p:pcl_test_served/e /bin/ls:0x4000\n";
	char longest[251], text[PAGE];
	int fd = make_own(PROBES, "", 0), file;

	expect(result(write(fd, probe, sizeof(probe) - 1)), -EPERM);
	close(fd);
	file = open(PROBES, O_RDONLY);
	memset(text, 0, sizeof(text));
	expect(file < 0 || read(file, text, sizeof(text) - 1) < 0 || !strstr(text, "pcl_test_served"), 1);
	close(file);
	memset(longest, 'x', sizeof(longest));
	longest[250] = 0;
	expect(result(memfd_create(longest, 0)), -EINVAL);
	longest[249] = 0;
	close((int)(fd = memfd_create(longest, 0)));
	expect(fd >= 0, 1);
	expect(result(memfd_create((void *)8, 0)), -EFAULT);
	expect(result(memfd_create((void *)8, ~0u)), -EINVAL);
}

/* ".." goes up from where a link leads. */
static void test_going_up(void)
{
	static const struct {
		const char *path;
		int err;
	} rows[] = {
		{"/proc/self/cwd/../maps", ENOENT},
		{"/proc/self/cwd/../exe", ENOENT},
		{"/proc/self/root/../maps", ENOENT},
		{"/proc/self/fd/0/../../maps", ENOTDIR},
		{"/proc/thread-self/../self/maps", ENOENT},
		{"/proc/thread-self/../../maps", 0},
		{"/proc/self/task/../maps", 0},
		{"/proc/self/fd/../exe", 0},
		{"/proc/self/../self/status", 0},
		{DEVICES "/../devices/software/type", 0},
		{DEVICES "/software/../software/type", 0},
	};
	char link[PAGE], want[PAGE];
	int file = open("/dev/null", O_RDONLY);
	ssize_t n;

	dup2(file, 0);
	expect(chdir("/"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = open(rows[i].path, O_RDONLY), err = fd < 0 ? errno : 0;

		if (err != rows[i].err)
			printf("%s\n", rows[i].path);
		expect(err, rows[i].err);
		expect(result(access(rows[i].path, R_OK)), -err);
		close(fd);
	}
	n = readlink("/proc/self/exe", want, sizeof(want));
	expect(readlink("/proc/self/task/../exe", link, sizeof(link)), n);
	expect(n > 0 && !memcmp(link, want, (size_t)n), 1);
}

#define RESOLVE_ALL                                                                                                    \
	(RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_IN_ROOT |           \
	 RESOLVE_CACHED)

static long open_how(int dir, const char *path, u64 flags, u64 resolve)
{
	struct open_how how = {.flags = flags, .resolve = resolve};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	if (fd >= 0)
		close((int)fd);
	return result(fd < 0 ? fd : 0);
}

/* The ways to a file that openat2(2) is not to take. */
static void test_resolve(void)
{
	static const struct {
		const char *dir, *path;
		u64 resolve;
		int err;
	} rows[] = {
		{"/tmp", "/proc/self/exe", RESOLVE_BENEATH, EXDEV},
		{"/tmp", "/proc/self/exe", RESOLVE_NO_MAGICLINKS, ELOOP},
		{"/tmp", "/proc/self/exe", RESOLVE_NO_SYMLINKS, ELOOP},
		{"/tmp", "/proc/self/exe", RESOLVE_NO_XDEV, EXDEV},
		{"/tmp", "/proc/self/exe", RESOLVE_IN_ROOT, ENOENT},
		{"/", "/proc/self/exe", RESOLVE_IN_ROOT, EXDEV},
		{"/tmp", "/proc/self/maps", RESOLVE_BENEATH, EXDEV},
		{"/tmp", "/proc/self/maps", RESOLVE_NO_XDEV, EXDEV},
		{"/tmp", "/proc/self/maps", RESOLVE_NO_SYMLINKS, ELOOP},
		{"/tmp", "/proc/self/maps", RESOLVE_NO_MAGICLINKS, 0},
		{"/tmp", "/proc/self/maps", RESOLVE_IN_ROOT, ENOENT},
		{"/", "/proc/self/maps", RESOLVE_IN_ROOT, 0},
		{"/tmp", "/proc/self/maps", RESOLVE_IN_ROOT | RESOLVE_BENEATH, EINVAL},
		{"/tmp", "/proc/self/maps", RESOLVE_ALL + 1, EINVAL},
		{"/proc/self", "maps", RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS, 0},
		{"/proc/self", "exe", RESOLVE_BENEATH, EXDEV},
		{"/proc/self", "exe", RESOLVE_NO_MAGICLINKS, ELOOP},
		{"/tmp", PARANOID, RESOLVE_BENEATH, EXDEV},
		{"/tmp", PARANOID, RESOLVE_NO_SYMLINKS, 0},
		{"/tmp", DEVICES "/software/type", RESOLVE_NO_SYMLINKS, ELOOP},
		{"/tmp", DEVICES "/software/type", RESOLVE_BENEATH, EXDEV},
		{"/tmp", DEVICES, RESOLVE_NO_SYMLINKS, 0},
		{DEVICES "/software", "type", RESOLVE_BENEATH | RESOLVE_NO_XDEV, 0},
		{DEVICES "/software", "type", RESOLVE_IN_ROOT, 0},
		{DEVICES "/software", "../software/type", RESOLVE_BENEATH, EXDEV},
		{DEVICES "/software", "../software/type", RESOLVE_NO_XDEV, 0},
		{DEVICES "/software", "/etc/passwd", RESOLVE_BENEATH, EXDEV},
		{DEVICES "/software", "/etc/passwd/x", 0, ENOTDIR},
	};

	if (open_how(AT_FDCWD, "/", O_RDONLY, 0)) /* before Linux 5.6 */
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int dir = open(rows[i].dir, O_RDONLY);
		long ret = open_how(dir, rows[i].path, O_RDONLY, rows[i].resolve);

		if (ret != -rows[i].err)
			printf("%s %s %#lx\n", rows[i].dir, rows[i].path, rows[i].resolve);
		expect(ret, -rows[i].err);
		close(dir);
	}
	expect(open_how(AT_FDCWD, "/proc/self/maps", 1ul << 40, 0), -EINVAL);
	expect(open_how(AT_FDCWD, "/proc/self/exe", O_RDONLY | O_NOFOLLOW, RESOLVE_NO_MAGICLINKS), -ELOOP);
	expect(open_how(AT_FDCWD, "/proc/self/exe", O_PATH | O_NOFOLLOW, RESOLVE_NO_MAGICLINKS), 0);
	expect(open_how(AT_FDCWD, PARANOID, O_RDWR | O_TRUNC, RESOLVE_CACHED), -EAGAIN);
}

/* A thread with a working directory and descriptors of its own. */
static void *in_thread(void *arg)
{
	char want[PAGE], link[PAGE];
	ssize_t n = readlink("/proc/self/exe", want, sizeof(want));
	int dir;

	expect(unshare(CLONE_FS | CLONE_FILES), 0);
	expect(chdir("/proc/self"), 0);
	expect(readlink("exe", link, sizeof(link)), n);
	expect(n > 0 && !memcmp(link, want, (size_t)n), 1);
	dir = open("/proc/self", O_RDONLY);
	expect(readlinkat(dir, "exe", link, sizeof(link)), n);
	expect(n > 0 && !memcmp(link, want, (size_t)n), 1);
	return arg;
}

static void test_thread(void)
{
	pthread_t thread;

	expect(pthread_create(&thread, NULL, in_thread, NULL), 0);
	expect(pthread_join(thread, NULL), 0);
}

static int count_entries(int fd)
{
	DIR *dir = fdopendir(dup(fd));
	int n = 0;

	expect(dir != NULL, 1);
	if (!dir)
		return -1;
	rewinddir(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A directory's descriptor is one for other processes and programs, too. */
static void test_passed_on(char *self)
{
	int fd = open(DEVICES, O_RDONLY), n, status;
	char number[16], count[16], buf[PAGE];

	if (fd < 0)
		return;
	n = count_entries(fd);
	snprintf(number, sizeof(number), "%d", fd);
	snprintf(count, sizeof(count), "%d", n);
	if (!fork()) {
		if (count_entries(fd) != n)
			_exit(2);
		execl(self, self, number, count, NULL);
		_exit(3);
	}
	wait(&status);
	expect(status, 0);
	expect(lseek(fd, 3, SEEK_SET) >= 0 || errno == EINVAL, 1); /* in the middle of nothing */
	expect(syscall(SYS_getdents64, fd, buf, sizeof(buf)) >= 0, 1);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return count_entries(atoi(argv[1])) != atoi(argv[2]);
	test_bytes();
	test_copy(DEVICES, O_RDONLY);
	test_copy(PROBES, O_RDONLY);
	test_copy(PROBES, O_WRONLY);
	test_names();
	test_writes();
	test_probe_writes();
	test_event();
	test_passed_on(argv[0]);
	test_going_up();
	test_resolve();
	test_thread();
	return perf_result();
}
