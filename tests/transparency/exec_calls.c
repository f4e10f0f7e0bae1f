/* execve and execveat in all forms: what is refused and how, scripts, programs by descriptor, what the new program
 * sees. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE	  AT_FDCWD
#define LONG_LINE 700
#define MANY	  3000000
#ifndef AT_EXECVE_CHECK /* Linux 6.14 */
#define AT_EXECVE_CHECK 0x10000
#endif

extern char **environ;

static char *args[] = {"arg0", "a1", "a2", NULL};
static char *show_args[] = {"zero", "show", "x", NULL};

/* One exec in a child, and before that a question whether it may: its errno, or the status of what ran. */
static void try(const char *what, int dirfd, const char *path, char **argv, char **envp, int flags)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		errno = 0;
		syscall(SYS_execveat, dirfd, path, argv, envp, flags | AT_EXECVE_CHECK);
		printf("check %d, ", errno);
		fflush(stdout);
		syscall(SYS_execveat, dirfd, path, argv, envp, flags);
		printf("errno %d, ", errno);
		fflush(stdout);
		_exit(77);
	}
	waitpid(child, &status, 0);
	printf("%s: status %x\n", what, status);
}

static void put(const char *name, const void *data, size_t size, int mode)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0755);

	if (write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	chmod(name, mode);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text), 0755);
}

/* What a program finds out about itself. */
static int show(int argc, char **argv)
{
	char text[512];
	ssize_t n = readlink("/proc/self/exe", text, sizeof(text) - 1);
	FILE *f;

	text[n > 0 ? n : 0] = 0;
	printf("argc %d:", argc);
	for (int i = 0; i < argc; i++)
		printf(" %s", argv[i]);
	printf(", exe %s", strrchr(text, '/') ? strrchr(text, '/') : text);
	f = fopen("/proc/self/comm", "r");
	printf(", comm %s", fgets(text, sizeof(text), f));
	fclose(f);
	f = fopen("/proc/self/cmdline", "r");
	printf("cmdline %zu, open", fread(text, 1, sizeof(text), f));
	fclose(f);
	for (int i = 3; i < 30; i++)
		if (fcntl(i, F_GETFD) != -1)
			printf(" %d", i);
	printf("\n");
	return 5;
}

static void paths(void)
{
	try("nonexistent", HERE, "/nonexistent", args, environ, 0);
	try("directory", HERE, "/tmp", args, environ, 0);
	try("empty path", HERE, "", args, environ, 0);
	try("bad address", HERE, (char *)8, args, environ, 0);
	try("below a file", HERE, "/etc/passwd/x", args, environ, 0);
	put("nox", "#!/bin/sh\n", 10, 0644);
	try("not executable", HERE, "nox", args, environ, 0);
	mkfifo("fifo", 0755);
	try("fifo", HERE, "fifo", args, environ, 0);
	symlink("/bin/echo", "link");
	try("link", HERE, "link", args, environ, 0);
	try("link, no follow", HERE, "link", args, environ, AT_SYMLINK_NOFOLLOW);
	try("bad flags", HERE, "link", args, environ, 0x80000);
}

static void scripts(void)
{
	char line[LONG_LINE];

	put_text("empty", "");
	try("empty", HERE, "empty", args, environ, 0);
	put_text("text", "hello world\n");
	try("text", HERE, "text", args, environ, 0);
	put_text("script", "#!/bin/echo -n x\n");
	try("script", HERE, "script", args, environ, 0);
	put_text("script2", "#!./script one two\n");
	try("script by script", HERE, "script2", args, environ, 0);
	put_text("missing", "#!/nonexistent\n");
	try("missing interpreter", HERE, "missing", args, environ, 0);
	put_text("loop", "#!./loop\n");
	try("loop", HERE, "loop", args, environ, 0);
	put_text("l1", "#!/bin/echo\n");
	for (char name[] = "l2", text[] = "#!l1\n"; name[1] <= '6'; name[1]++, text[3]++) {
		put_text(name, text);
		try(name, HERE, name, args, environ, 0);
	}
	put_text("none", "#! \n");
	try("no interpreter", HERE, "none", args, environ, 0);
	memset(line, 'y', sizeof(line));
	memcpy(line, "#!", 2);
	put("long", line, sizeof(line), 0755);
	try("long line", HERE, "long", args, environ, 0);
}

static void vectors(void)
{
	char *string = malloc(200000), *two[] = {"a", string, NULL}, **many = calloc(MANY, sizeof(*many));

	try("no argv", HERE, "/bin/echo", NULL, environ, 0);
	try("bad argv", HERE, "/bin/echo", (char **)8, environ, 0);
	try("no environment", HERE, "/usr/bin/env", args, NULL, 0);
	try("script, no argv", HERE, "script", NULL, environ, 0);
	try("script, bad argv", HERE, "script", (char **)8, environ, 0);
	memset(string, 'a', 199999);
	string[199999] = 0;
	try("long argument", HERE, "/bin/true", two, environ, 0);
	for (int i = 0; i < MANY - 1; i++)
		many[i] = "bb";
	try("many arguments", HERE, "/bin/true", many, environ, 0);
	try("many arguments, script", HERE, "script", many, environ, 0);
}

static int copy_to_memfd(int from)
{
	int to = memfd_create("copy", 0);
	char buf[65536];
	ssize_t n;

	lseek(from, 0, SEEK_SET);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, n) != n)
			abort();
	return to;
}

static void descriptors(const char *self)
{
	int fd = open(self, O_RDONLY | O_CLOEXEC), script = open("l1", O_RDONLY);
	char path[64];

	try("closing descriptor", fd, "", show_args, environ, AT_EMPTY_PATH);
	try("descriptor without flag", fd, "", show_args, environ, 0);
	try("O_PATH", open(self, O_PATH), "", show_args, environ, AT_EMPTY_PATH);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	try("/proc/self/fd", HERE, path, show_args, environ, 0);
	try("/proc/self/exe", HERE, "/proc/self/exe", show_args, environ, 0);
	try("memfd", copy_to_memfd(fd), "", show_args, environ, AT_EMPTY_PATH);
	try("directory descriptor", open(".", O_PATH), "l1", args, environ, 0);
	try("closing one", open(".", O_PATH | O_CLOEXEC), "l1", args, environ, 0);
	try("bad one", 777, "l1", args, environ, 0);
	try("file as directory", fd, "l1", args, environ, 0);
	try("script", script, "", args, environ, AT_EMPTY_PATH);
	fcntl(script, F_SETFD, FD_CLOEXEC);
	try("closing script", script, "", args, environ, AT_EMPTY_PATH);
}

static void images(const char *self)
{
	char head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = 62};
	int fd = open(self, O_RDONLY);
	struct stat st;
	char *image, *interp;

	put("elf", head, sizeof(head), 0755);
	try("no program headers", HERE, "elf", args, environ, 0);
	put("elf", head, 20, 0755);
	try("short header", HERE, "elf", args, environ, 0);
	head[16] = 1;
	put("elf", head, sizeof(head), 0755);
	try("object file", HERE, "elf", args, environ, 0);
	fstat(fd, &st);
	image = malloc(st.st_size);
	if (pread(fd, image, st.st_size, 0) != st.st_size)
		abort();
	interp = memmem(image, st.st_size, "/lib64/ld-linux", 15);
	if (!interp)
		abort();
	for (const char *const *p = (const char *[]){"/lib64/none", "/etc/passwd", "./text", "/tmp", NULL}; *p; p++) {
		strcpy(interp, *p);
		put("elf", image, st.st_size, 0755);
		try(*p, HERE, "elf", show_args, environ, 0);
	}
}

static void *exec_in_thread(void *unused)
{
	execl("/bin/echo", "echo", "from a thread", NULL);
	return NULL;
}

static void threads(void)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		pthread_t thread;

		pthread_create(&thread, NULL, exec_in_thread, NULL);
		for (;;)
			pause();
	}
	wait(&status);
	printf("thread: status %x\n", status);
	for (int i = 0; i < 100; i++) {
		if (!vfork()) {
			execl(i & 1 ? "/bin/true" : "l1", "x", NULL);
			_exit(1);
		}
		wait(&status);
		if (status)
			printf("vfork: status %x\n", status);
	}
}

int main(int argc, char **argv)
{
	char *self = realpath("/proc/self/exe", NULL);

	if (argc > 1)
		return show(argc, argv);
	paths();
	scripts();
	vectors();
	descriptors(self);
	images(self);
	threads();
	return 0;
}
