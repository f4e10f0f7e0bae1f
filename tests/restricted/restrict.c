/*
 * restrict program [args...]: runs a program as an ordinary container does: uid and gid 65534 (if started by root), no
 * capabilities, no_new_privs, and a seccomp filter that answers EPERM to perf_event_open, ptrace, bpf, userfaultfd and
 * process_vm_readv, and to personality() with ADDR_NO_RANDOMIZE.
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "restrict: %s: %s\n", what, strerror(errno));
	exit(77);
}

static void drop_privileges(void)
{
	if (!getuid() && (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		die("setresuid");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		die("no_new_privs");
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_capset, &head, none))
		die("capset");
}

#define REFUSE(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_perf_event_open),
		REFUSE(SYS_ptrace),
		REFUSE(SYS_bpf),
		REFUSE(SYS_userfaultfd),
		REFUSE(SYS_process_vm_readv),
		REFUSE(SYS_process_vm_writev),
		REFUSE(SYS_kcmp),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x0040000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	drop_privileges();
	install_filter();
	if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) != -1 || errno != EPERM || prctl(PR_CAPBSET_READ, 0) < 0)
		die("the filter does not work");
	execvp(argv[1], argv + 1);
	fprintf(stderr, "restrict: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
