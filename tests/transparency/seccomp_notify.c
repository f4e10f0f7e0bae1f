/*
 * A seccomp filter that hands calls to a supervisor (SECCOMP_RET_USER_NOTIF): it is asked for each of the children's
 * calls once, and for no other, although the children have only been forked. The supervisor is the one that installed
 * the filter, so such a call of pcl's own behind a fork would be answered as the child's, or by nobody. Skips where no
 * filter can be installed.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP 77
#define ASK(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)

static int install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ASK(SYS_getpid), ASK(SYS_gettid), ASK(SYS_getppid), ASK(SYS_geteuid), ASK(SYS_getegid),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* Each way to make a process that has a copy of the memory. */
static int child_of(int way)
{
	static int number;
	struct clone_args args = { .exit_signal = SIGCHLD };

	switch (way) {
	case 0:
		return fork();
	case 1:
		return (int)syscall(SYS_fork);
	case 2:
		return (int)syscall(SYS_clone, SIGCHLD | CLONE_CHILD_CLEARTID, 0, 0, &number, 0);
	default:
		return (int)syscall(SYS_clone3, &args, CLONE_ARGS_SIZE_VER0);
	}
}

static void answer(int listener, int want_nr, int pid)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	struct seccomp_notif req;
	struct seccomp_notif_resp resp;

	memset(&req, 0, sizeof(req));
	memset(&resp, 0, sizeof(resp));
	if (poll(&p, 1, 20000) != 1 || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req)) {
		printf("nobody asked: errno %d\n", errno);
		return;
	}
	printf("asked for call %s by the child: %s\n", req.data.nr == want_nr ? "as expected" : "of another number",
	       (int)req.pid == pid ? "yes" : "no");
	resp.id = req.id;
	resp.val = 1000 + want_nr;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp))
		printf("not answered: errno %d\n", errno);
}

int main(void)
{
	int listener = install(), status, pid, way;

	if (listener < 0)
		return SKIP;
	for (way = 0; way < 4; way++) {
		pid = child_of(way);
		if (!pid)
			_exit(syscall(SYS_gettid) == 1000 + SYS_gettid && syscall(SYS_getppid) == 1000 + SYS_getppid);
		answer(listener, SYS_gettid, pid);
		answer(listener, SYS_getppid, pid);
		if (waitpid(pid, &status, 0) != pid)
			return 1;
		printf("way %d: the child got %s\n", way, status == 0x100 ? "its answers" : "others");
	}
	return 0;
}
