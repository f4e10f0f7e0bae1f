/*
 * /proc/PID/exe is a link to the program's file, whatever has become of its name: unlinked, replaced, linked elsewhere;
 * however the link is reached, in all calls that follow it, of other processes, and where few descriptors are allowed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define EXE   "/proc/self/exe"
#define OTHER "other file\n"

static struct stat program; /* that this process executes */

static void tell(const char *what, long result)
{
	printf("%s %s\n", what, result < 0 ? strerrorname_np(errno) : "ok");
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	char buf[4096];
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			abort();
	close(in);
	close(out);
}

static void show_link(const char *what, int dirfd, const char *path)
{
	char text[4096];
	ssize_t n = readlinkat(dirfd, path, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	printf("%s: %s\n", what, n < 0 ? strerrorname_np(errno) : strrchr(text, '/') + 1);
}

static void is_program(const char *what, long err, const struct stat *st)
{
	if (err)
		tell(what, -1);
	else
		printf("%s: %d\n", what, st->st_dev == program.st_dev && st->st_ino == program.st_ino);
}

static void show_open(const char *what, int dirfd, const char *path, int flags)
{
	int fd = openat(dirfd, path, flags);
	struct stat st;

	is_program(what, fd < 0 || fstat(fd, &st), &st);
	close(fd);
}

static void show_stat(const char *what, int dirfd, const char *path)
{
	struct stat st;

	is_program(what, fstatat(dirfd, path, &st, 0), &st);
}

/* Executes what the link leads to, in a child, which shows its own. */
static void show_exec(const char *what, int dirfd, const char *path, int flags)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		syscall(SYS_execveat, dirfd, path, (char *[]){"again", "last", NULL}, environ, flags);
		printf("%s\n", strerrorname_np(errno));
		fflush(stdout);
		_exit(1);
	}
	wait(&status);
	printf("%s: status %x\n", what, status);
}

static void all_ways(void)
{
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY), proc = open("/proc", O_PATH), here = open(".", O_PATH);
	int root = open("/", O_PATH), devices = open("/sys/bus/event_source/devices", O_RDONLY | O_DIRECTORY);
	struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_NO_MAGICLINKS};
	struct stat st;

	show_open("open", AT_FDCWD, EXE, O_RDONLY);
	show_open("open O_PATH", AT_FDCWD, "/proc//self/./exe", O_PATH);
	show_open("open O_NOFOLLOW", AT_FDCWD, EXE, O_RDONLY | O_NOFOLLOW);
	show_open("open below", self, "exe", O_RDONLY);
	show_open("open from /sys", devices, "../../../../proc/self/exe", O_RDONLY);
	show_open("open below /", root, "proc/self/exe", O_RDONLY);
	show_open("open exe/", AT_FDCWD, EXE "/", O_RDONLY);
	show_open("open exe/.", AT_FDCWD, EXE "/.", O_RDONLY);
	show_stat("stat", AT_FDCWD, "/proc/thread-self/exe");
	show_stat("stat below", proc, "self/exe");
	tell("lstat", lstat(EXE, &st));
	printf("%o %ld\n", st.st_mode, (long)st.st_size);
	tell("openat2", syscall(SYS_openat2, self, "exe", &how, sizeof(how)));
	how.resolve = RESOLVE_BENEATH;
	tell("openat2 beneath", syscall(SYS_openat2, self, "exe", &how, sizeof(how)));
	how.resolve = RESOLVE_IN_ROOT;
	tell("openat2 in root", syscall(SYS_openat2, here, EXE, &how, sizeof(how)));
	tell("access", access(EXE, X_OK));
	show_link("readlink below", proc, "self/exe");
	show_exec("exec", AT_FDCWD, EXE, 0);
	show_exec("exec below", self, "exe", 0);
	show_link("readlink below /", root, "proc/self/../thread-self/exe");
	show_link("readlink from /sys", devices, "../../../../proc/self/exe");
	show_exec("exec from /sys", devices, "../../../../proc/self/exe", 0);
	show_exec("exec below /", root, "proc/self/exe", 0);
	show_exec("exec not following", self, "exe", AT_SYMLINK_NOFOLLOW);
	if (fchdir(self))
		abort();
	show_link("readlink in /proc/self", AT_FDCWD, "exe");
	show_stat("stat in /proc/self", AT_FDCWD, "./exe");
	show_exec("exec in /proc/self", AT_FDCWD, "exe", 0);
	if (fchdir(root))
		abort();
	show_link("readlink in /", AT_FDCWD, "proc/self/exe");
	show_stat("stat in /", AT_FDCWD, "./proc/self/exe");
	if (fchdir(here))
		abort();
	close(root);
	close(devices);
	close(self);
	close(proc);
	close(here);
}

/* Calls that change the file, or give it another name. */
static void all_calls(void)
{
	struct timeval times[2] = {{1000000, 0}, {1000000, 0}};
	struct statfs fs, fs_here;
	struct stat st;
	char value[8];
	int tree, watch = inotify_init();

	tell("chmod", chmod(EXE, 0711));
	tell("utimes", utimes(EXE, times));
	tell("chown", chown(EXE, (uid_t)-1, (gid_t)-1));
	tell("fchmodat", fchmodat(AT_FDCWD, EXE, 0751, 0));
	stat("mine", &st);
	printf("%o %ld\n", st.st_mode, (long)st.st_mtime);
	tell("statfs", statfs(EXE, &fs) || statfs(".", &fs_here));
	printf("%d\n", fs.f_type == fs_here.f_type);
	tell("setxattr", setxattr(EXE, "user.x", "value", 5, 0));
	tell("getxattr", getxattr("mine", "user.x", value, sizeof(value)));
	tell("getxattr", getxattr(EXE, "user.x", value, sizeof(value)));
	tell("removexattr", removexattr(EXE, "user.x"));
	tell("linkat", linkat(AT_FDCWD, EXE, AT_FDCWD, "second", AT_SYMLINK_FOLLOW));
	show_stat("the second name", AT_FDCWD, "second");
	tell("linkat not following", linkat(AT_FDCWD, EXE, AT_FDCWD, "third", 0));
	tell("inotify_add_watch", inotify_add_watch(watch, EXE, IN_ATTRIB));
	close(open("target", O_CREAT | O_WRONLY, 0644));
	tell("mount", mount(EXE, "target", NULL, MS_BIND, NULL));
	show_stat("what is mounted", AT_FDCWD, "target");
	tell("umount", umount("target"));
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, EXE, 1 /* OPEN_TREE_CLONE */);
	tell("open_tree", tree);
	is_program("the tree", tree < 0 || fstat(tree, &st), &st);
	close(tree);
	close(watch);
}

/* A parent's, whose file has lost its name; the child executes another program. */
static void others(void)
{
	int ends[2];
	char path[64];
	pid_t child;

	if (pipe(ends))
		abort();
	fflush(stdout);
	snprintf(path, sizeof(path), "/proc/%d/exe", getpid());
	child = fork();
	if (!child) {
		show_link("parent's", AT_FDCWD, path);
		show_stat("parent's", AT_FDCWD, path);
		fflush(stdout);
		dup2(ends[0], 0);
		close(ends[1]);
		execl("/bin/cat", "cat", NULL);
		_exit(1);
	}
	close(ends[0]);
	snprintf(path, sizeof(path), "/proc/%d/exe", child);
	for (char text[256] = ""; !strstr(text, "cat"); usleep(1000))
		text[MAX(readlink(path, text, sizeof(text) - 1), 0)] = 0;
	show_open("child's", AT_FDCWD, path, O_RDONLY);
	close(ends[1]);
	wait(NULL);
}

/* Programs that are executed with as many descriptors. */
static void with_limits(void)
{
	for (rlim_t n = 512; n >= 32; n /= 2) {
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){n, 4096});
		show_exec("with a low limit", AT_FDCWD, EXE, 0);
	}
}

static void put_other(void)
{
	int fd = open("mine", O_CREAT | O_WRONLY | O_EXCL, 0644);

	if (write(fd, OTHER, strlen(OTHER)) < 0)
		abort();
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 1) { /* only mounts of its own namespace can be mounted elsewhere */
		tell("unshare", unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
		fflush(stdout);
		copy(argv[0], "mine");
		execl("./mine", "mine", "first", NULL);
		abort();
	}
	if (!strcmp(argv[1], "last")) {
		show_link("again", AT_FDCWD, EXE);
		return 3;
	}
	stat(EXE, &program);
	show_link("at first", AT_FDCWD, EXE);
	all_ways();
	all_calls();
	unlink("second");
	unlink("target");
	rename("mine", "moved");
	show_link("renamed", AT_FDCWD, EXE);
	unlink("moved");
	show_link("unlinked", AT_FDCWD, EXE);
	all_ways();
	put_other();
	show_link("another one in its place", AT_FDCWD, EXE);
	show_exec("another one in its place", AT_FDCWD, EXE, 0);
	show_open("another one in its place", AT_FDCWD, EXE, O_RDONLY);
	others();
	with_limits();
	return 0;
}
