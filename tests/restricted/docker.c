/*
 * docker program [args...]: runs a program as Docker does in a container that was given no option: with the
 * capabilities that root has there, and with the default seccomp profile as a filter.
 *
 * The profile is a list of what is allowed. `refused` is the rest of x86-64's system calls, as of Docker 25, without
 * further capabilities; what is newer than the profile (NEWEST) is ENOSYS there.
 */
#include <errno.h>
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

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NEWEST	      450
#define CAPABILITIES  0xa80425fbu /* chown, dac_override, ... setfcap */
#define NAMESPACES    0x7e020000u /* CLONE_NEW* of clone(2) */
#define AF_VSOCK      40

static const unsigned refused[] = {
	SYS_acct,
	SYS_add_key,
	SYS_bpf,
	SYS_clock_settime,
	SYS_create_module,
	SYS_delete_module,
	SYS_fanotify_init,
	SYS_finit_module,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fsopen,
	SYS_fspick,
	SYS_get_kernel_syms,
	SYS_get_mempolicy,
	SYS_init_module,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_io_uring_setup,
	SYS_ioperm,
	SYS_iopl,
	SYS_kcmp,
	SYS_kexec_file_load,
	SYS_kexec_load,
	SYS_keyctl,
	SYS_lookup_dcookie,
	SYS_mbind,
	SYS_migrate_pages,
	SYS_mount,
	SYS_mount_setattr,
	SYS_move_mount,
	SYS_move_pages,
	SYS_nfsservctl,
	SYS_open_by_handle_at,
	SYS_open_tree,
	SYS_perf_event_open,
	SYS_pidfd_getfd,
	SYS_pivot_root,
	SYS_process_madvise,
	SYS_query_module,
	SYS_quotactl,
	443 /* quotactl_fd */,
	SYS_reboot,
	SYS_request_key,
	SYS_set_mempolicy,
	450 /* set_mempolicy_home_node */,
	SYS_setdomainname,
	SYS_sethostname,
	SYS_setns,
	SYS_settimeofday,
	SYS_swapoff,
	SYS_swapon,
	SYS_sysfs,
	SYS_syslog,
	SYS__sysctl,
	SYS_umount2,
	SYS_unshare,
	SYS_uselib,
	SYS_userfaultfd,
	SYS_ustat,
	SYS_vhangup,
};

static void die(const char *what)
{
	fprintf(stderr, "docker: %s: %s\n", what, strerror(errno));
	exit(77);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {{0}};

	if (getuid())
		return;
	for (unsigned i = 0; !prctl(PR_CAPBSET_READ, i, 0, 0, 0) || prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1; i++)
		if ((i > 31 || !(CAPABILITIES >> i & 1)) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0))
			die("PR_CAPBSET_DROP");
	if (syscall(SYS_capget, &head, caps))
		die("capget");
	caps[0].permitted &= CAPABILITIES;
	caps[0].effective = caps[0].inheritable = caps[0].permitted;
	caps[1] = (struct __user_cap_data_struct){0};
	if (syscall(SYS_capset, &head, caps))
		die("capset");
}

#define LOAD(field)    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define RETURN(v)      BPF_STMT(BPF_RET | BPF_K, (v))
#define ERROR(e)       RETURN(SECCOMP_RET_ERRNO | (e))

static void install_filter(void)
{
	static const struct sock_filter head[] = {
		LOAD(arch),
		IS(AUDIT_ARCH_X86_64, 1, 0),
		ERROR(EPERM),
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 1),
		ERROR(ENOSYS),
		IS(SYS_clone3, 0, 1),
		ERROR(ENOSYS),
	};
	static const struct sock_filter tail[] = {
		IS(SYS_clone, 0, 4),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
		ERROR(EPERM),
		RETURN(SECCOMP_RET_ALLOW),
		IS(SYS_socket, 0, 4),
		LOAD(args[0]),
		IS(AF_VSOCK, 0, 1),
		ERROR(EPERM),
		RETURN(SECCOMP_RET_ALLOW),
		IS(SYS_personality, 0, 7),
		LOAD(args[0]),
		IS(0, 5, 0),
		IS(8, 4, 0),
		IS(0x20000, 3, 0),
		IS(0x20008, 2, 0),
		IS(0xffffffff, 1, 0),
		ERROR(EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_filter code[ARRAY_SIZE(head) + 2 * ARRAY_SIZE(refused) + ARRAY_SIZE(tail)], *to = code;
	struct sock_fprog program = {ARRAY_SIZE(code), code};

	memcpy(to, head, sizeof(head));
	to += ARRAY_SIZE(head);
	for (unsigned i = 0; i < ARRAY_SIZE(refused); i++) {
		*to++ = (struct sock_filter)IS(refused[i], 0, 1);
		*to++ = (struct sock_filter)ERROR(EPERM);
	}
	memcpy(to, tail, sizeof(tail));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	drop_capabilities();
	install_filter();
	if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) != -1 || errno != EPERM ||
	    syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS || syscall(SYS_personality, 0xffffffff) == -1)
		die("the filter does not work");
	execvp(argv[1], argv + 1);
	fprintf(stderr, "docker: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
