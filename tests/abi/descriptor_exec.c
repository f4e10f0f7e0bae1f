/*
 * execve(2) beside threads and processes that open and close files, see storm.h: when it fails, no number was taken;
 * when it succeeds, the descriptors are those that there were.
 */
#include "tests/abi/storm.h"

static int program; /* /proc/self/exe, which is no directory */
static char *large; /* longer than an argument may be */
static char script[] = "/tmp/descriptor_storm.XXXXXX";

static void make_script(void)
{
	static const char text[] = "#!/no/such/interpreter\n";
	int fd = mkstemp(script);

	expect(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	fchmod(fd, 0755);
	close(fd);
	large = malloc(200000);
	memset(large, 'x', 199999);
	large[199999] = 0;
}

static long exec_fails(const char *path, char *arg)
{
	char *argv[] = {(char *)path, arg, NULL};

	execve(path, argv, argv + 2);
	return -errno;
}

static void fails_to_exec(void)
{
	char *argv[] = {"true", NULL};

	expect(exec_fails("/bin/true", large), -E2BIG);
	expect(exec_fails("/bin/true", (char *)8), -EFAULT);
	expect(exec_fails(script, NULL), -ENOENT);
	expect(exec_fails("/no/such/program", NULL), -ENOENT);
	expect(exec_fails("/proc/self/status", NULL), -EACCES);
	expect(syscall(SYS_execveat, program, "", argv, argv + 1, 0) < 0 ? errno : 0, ENOENT);
	expect(syscall(SYS_execveat, program, "x", argv, argv + 1, 0) < 0 ? errno : 0, ENOTDIR);
	expect(syscall(SYS_execveat, 250, "x", argv, argv + 1, 0) < 0 ? errno : 0, EBADF);
}

/*
 * Beside the storm, by another thread than the first, relative to the directory, by a descriptor: the descriptors are
 * those that there were.
 */
static void *execs(void *how)
{
	char *by_path[] = {"sh", "-c", "test -e /proc/self/fd/201 && test ! -e /proc/self/fd/202 && exit 9", NULL};
	char *env[] = {NULL};
	int fd;

	dup2(marker, 201);
	dup3(marker, 202, O_CLOEXEC);
	usleep(2000);
	switch ((long)how) {
	case 0:
		execve("/bin/sh", by_path, env);
		break;
	case 1:
		expect(chdir("/bin"), 0);
		execve("./sh", by_path, env);
		break;
	case 2:
		fd = open("/bin", O_PATH | O_DIRECTORY);
		syscall(SYS_execveat, fd, "sh", by_path, env, 0);
		break;
	default:
		fd = open("/bin/sh", O_RDONLY);
		syscall(SYS_execveat, fd, "", by_path, env, AT_EMPTY_PATH);
	}
	printf("execve: %s\n", strerror(errno));
	_exit(1);
}

static void test_exec(long how, int first_thread)
{
	int status, pid = fork();
	pthread_t t;

	if (!pid) {
		stop = extra = 0;
		pthread_create(&t, NULL, opens, NULL);
		if (first_thread)
			execs((void *)how);
		pthread_create(&t, NULL, execs, (void *)how);
		pause();
	}
	waitpid(pid, &status, 0);
	expect(WIFEXITED(status) ? WEXITSTATUS(status) : -status, 9);
}

int main(void)
{
	storm_begin();
	make_script();
	program = open("/proc/self/exe", O_RDONLY);
	storm_from_here();
	storm("execve that fails", 0, fails_to_exec);
	storm_of_process("another process, execve that fails", 0, fails_to_exec);
	for (long how = 0; how < 4; how++) {
		test_exec(how, 0);
		test_exec(how, 1);
	}
	unlink(script);
	return failures || !checks;
}
