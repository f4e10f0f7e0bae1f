/*
 * What a directory's reader is promised, whatever the order: each entry once, with buffers of all sizes, while others
 * come and go, after seeks, by several descriptors and processes. It makes directories in the current one. With
 * arguments: only one, its files in the order of the arguments, of which it prints how they are read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 3000

struct old_entry {
	unsigned long ino, off;
	unsigned short reclen;
	char name[];
};

static int failed;
static unsigned char seen[FILES];

static void fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	failed = 1;
}

static void make(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		fail(name);
	close(fd);
}

static char *name_of(unsigned i)
{
	static char name[200];

	snprintf(
		name, sizeof(name), "file-%u-%.*s", i, (int)(i % 100),
		"----------------------------------------------------------------------------------------------------");
	return name;
}

static void note(const char *name)
{
	unsigned i;

	if (sscanf(name, "file-%u-", &i) == 1 && i < FILES)
		seen[i]++;
}

/* Those from..FILES by `step` were read once, and no other ones. */
static void check(const char *what, unsigned from, unsigned step)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < FILES; i++)
		bad += seen[i] != (i >= from && (i - from) % step == 0);
	errno = 0;
	if (bad) {
		printf("%u wrong ", bad);
		fail(what);
	}
	memset(seen, 0, sizeof(seen));
}

static long read_some(int fd, size_t size)
{
	static char buf[1 << 17];
	long n = syscall(SYS_getdents64, fd, buf, size);
	struct dirent64 *e;

	for (long at = 0; at < n; at += e->d_reclen) {
		e = (struct dirent64 *)(buf + at);
		note(e->d_name);
	}
	return n;
}

static long read_old(int fd, size_t size)
{
	static char buf[1 << 17];
	long n = syscall(SYS_getdents, fd, buf, size);
	struct old_entry *e;

	for (long at = 0; at < n; at += e->reclen) {
		e = (struct old_entry *)(buf + at);
		note(e->name);
		if (e->name[0] != '.' && buf[at + e->reclen - 1] != DT_REG)
			fail("the type in an old entry");
	}
	return n;
}

static int open_it(void)
{
	int fd = open("many", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fail("open");
	return fd;
}

static void test_sizes(void)
{
	static const size_t sizes[] = {300, 1000, 32768, 1 << 17};
	int fd = open_it();

	for (int i = 0; i < 4; i++) {
		while (read_some(fd, sizes[i]) > 0)
			;
		check("getdents64", 0, 1);
		if (read_some(fd, sizes[i]))
			fail("behind the end");
		lseek(fd, 0, SEEK_SET);
		while (read_old(fd, sizes[i]) > 0)
			;
		check("getdents", 0, 1);
		lseek(fd, 0, SEEK_SET);
	}
	close(fd);
}

/* Half of them go while they are read, and others come. */
static void test_changes(void)
{
	DIR *dir = opendir("many");
	struct dirent *e;
	unsigned i, n = 0;

	while ((e = readdir(dir))) {
		note(e->d_name);
		if (sscanf(e->d_name, "file-%u-", &i) == 1 && i % 2 && unlinkat(dirfd(dir), e->d_name, 0))
			fail(e->d_name);
		if (++n % 500 == 0) {
			char name[40];

			snprintf(name, sizeof(name), "many/new-%u", n);
			make(name);
		}
	}
	check("while entries come and go", 0, 1);
	rewinddir(dir);
	while ((e = readdir(dir)))
		note(e->d_name);
	check("after that", 0, 2);
	closedir(dir);
}

static void test_seeks(void)
{
	DIR *dir = opendir("many");
	static long places[FILES + 10];
	static char names[FILES + 10][200];
	struct dirent *e;
	int n = 0;

	for (places[0] = telldir(dir); (e = readdir(dir)); places[++n] = telldir(dir))
		strcpy(names[n], e->d_name);
	for (int i = 0; i < n; i += 97) {
		int at = i * 31 % n;

		seekdir(dir, places[at]);
		e = readdir(dir);
		if (!e || strcmp(e->d_name, names[at]))
			fail("seekdir");
	}
	seekdir(dir, places[n]);
	if (readdir(dir))
		fail("seekdir to the end");
	closedir(dir);
}

/* One position for all who have the open file. */
static void test_sharing(void)
{
	unsigned char *all = mmap(NULL, FILES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open_it(), other = dup(fd), status;

	for (int i = 0; i < 3; i++) {
		read_some(fd, 5000);
		read_some(other, 3000);
	}
	if (!fork()) {
		for (int i = 0; i < 5; i++)
			read_some(other, 4000);
		memcpy(all, seen, FILES);
		_exit(failed);
	}
	if (wait(&status) < 0 || status)
		fail("the child");
	memcpy(seen, all, FILES);
	while (read_some(fd, 32768) > 0)
		;
	check("shared", 0, 2);
	close(fd);
	close(other);
}

static void wants(const char *what, long ret, int error)
{
	if (ret != -1 || errno != error)
		fail(what);
}

static void test_errors(void)
{
	int fd = open_it(), file = open("many/file-0-", O_RDWR | O_CLOEXEC), gone;
	char *none = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), byte;

	wants("a small buffer", read_some(fd, 20), EINVAL);
	wants("a small buffer", read_old(fd, 20), EINVAL);
	wants("memory that is read-only", syscall(SYS_getdents64, fd, none, 4096), EFAULT);
	if (write(file, "12", 2) != 2 || lseek(file, 1, SEEK_SET) != 1)
		fail("write");
	wants("a file", read_some(file, 4096), ENOTDIR);
	if (read(file, &byte, 1) != 1 || byte != '2')
		fail("the position in a file");
	wants("no descriptor", read_some(-1, 4096), EBADF);
	while (read_some(fd, 32768) > 0)
		;
	check("after errors", 0, 2);
	mkdir("gone", 0700);
	gone = open("gone", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rmdir("gone");
	wants("a directory that is gone", read_some(gone, 4096), ENOENT);
}

static int print_order(int n, char **names)
{
	struct dirent *e;
	DIR *dir;

	if (mkdir("few", 0700) || chdir("few"))
		return 1;
	for (int i = 0; i < n; i++)
		make(names[i]);
	for (dir = opendir("."); (e = readdir(dir));)
		printf("%s ", e->d_name);
	printf("\n");
	for (int i = 0; i < n; i++)
		unlink(names[i]);
	return chdir("..") || rmdir("few");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return print_order(argc - 1, argv + 1);
	mkdir("many", 0700);
	if (chdir("many"))
		return 1;
	for (unsigned i = 0; i < FILES; i++)
		make(name_of(i));
	if (chdir(".."))
		return 1;
	test_sizes();
	test_changes();
	test_seeks();
	test_sharing();
	test_errors();
	return failed;
}
