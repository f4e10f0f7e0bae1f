/*
 * A program that restricts itself by Landlock: what it then may not open stays shut, and all else goes on: fork, exec
 * (of what its rules allow to be executed, and not of what they only allow to be read), events.
 */
#include <linux/landlock.h>
#include <limits.h>
#include "tests/abi/errno/perf.h"

#define NR_create_ruleset 444
#define NR_add_rule	  445
#define NR_restrict_self  446
#define READ		  (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

static long result(long ret)
{
	return ret == -1 ? -errno : ret;
}

static void allow(int rules, const char *path, unsigned long access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access,
						  .parent_fd = open(path, O_PATH | O_CLOEXEC)};

	if (rule.parent_fd < 0)
		return;
	expect(result(syscall(NR_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0)), 0);
	close(rule.parent_fd);
}

/* The exit status, or the errno of the exec. */
static int run(const char *path, int twice)
{
	char *const argv[] = {"sh", "-c", twice ? "/bin/sh -c 'exit 5'" : "exit 5", NULL};
	int status;

	if (!fork()) {
		execv(path, argv);
		_exit(errno);
	}
	wait(&status);
	return WEXITSTATUS(status);
}

int main(void)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE | READ};
	int rules = (int)result(syscall(NR_create_ruleset, &attr, sizeof(attr), 0));
	struct perf_attr clock = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	char copy[] = "/tmp/landlock-XXXXXX", command[PATH_MAX + 32];
	long event;
	int status;

	if (rules < 0)
		return 77; /* a kernel without it, or a seccomp profile */
	close(mkstemp(copy));
	snprintf(command, sizeof(command), "cp /bin/sh %s; chmod 755 %s", copy, copy);
	expect(system(command), 0);
	allow(rules, "/usr", LANDLOCK_ACCESS_FS_EXECUTE | READ);
	allow(rules, "/lib", LANDLOCK_ACCESS_FS_EXECUTE | READ);
	allow(rules, "/lib64", LANDLOCK_ACCESS_FS_EXECUTE | READ);
	allow(rules, "/bin", LANDLOCK_ACCESS_FS_EXECUTE | READ);
	allow(rules, "/tmp", READ);
	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	expect(result(syscall(NR_restrict_self, rules, 0)), 0);
	close(rules);
	expect(result(open("/etc/passwd", O_RDONLY)), -EACCES);
	expect(result(open("/proc/self/maps", O_RDONLY)), -EACCES);
	expect(run("/bin/sh", 0), 5);
	expect(run("/bin/sh", 1), 5);
	status = run(copy, 0);
	/* Before Linux 6.14 pcl executes what may be read, doc/host-features.md. */
	expect(status == EACCES || (status == 5 && !perf_linux_is_new()), 1);
	clock.inherit = 1;
	event = perf_open(&clock, 0, -1, -1, 0);
	expect(event > 0, 1);
	expect(run("/bin/sh", 1), 5);
	expect(perf_value(event) > 0, 1);
	expect(open("/dev/null", O_PATH), event + 1); /* nothing was left open */
	unlink(copy);
	return perf_result();
}
