/* membarrier(2): what is registered is what the process has asked for; its children inherit it, programs do not. */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MEMBARRIER_CMD_GET_REGISTRATIONS
#define MEMBARRIER_CMD_GET_REGISTRATIONS (1 << 9) /* Linux 6.3 */
#endif

static void call(const char *what, int cmd)
{
	int ret = syscall(SYS_membarrier, cmd, 0, 0);

	printf("%s: %d, errno %d\n", what, ret, ret < 0 ? errno : 0);
	fflush(stdout);
}

static void registered(const char *when)
{
	call(when, MEMBARRIER_CMD_GET_REGISTRATIONS);
}

int main(int argc, char **argv)
{
	registered(argc > 1 ? "executed" : "first");
	if (argc > 1)
		return 0;
	call("query", MEMBARRIER_CMD_QUERY);
	call("private, not registered", MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	call("register private", MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	registered("with private");
	call("private", MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	call("global", MEMBARRIER_CMD_GLOBAL_EXPEDITED);
	registered("before global");
	call("register global", MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
	registered("with global");
	if (!fork()) {
		registered("in a child");
		return 0;
	}
	wait(NULL);
	execl("/proc/self/exe", argv[0], "again", NULL);
	return 1;
}
