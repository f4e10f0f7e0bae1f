/*
 * no_exec_gain mdwe|filter|file program [args...]: runs a program in which no memory becomes executable after it was
 * written.
 *   mdwe    prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN)
 *   filter  the seccomp filter that systemd makes for MemoryDenyWriteExecute=: EPERM to mmap of PROT_WRITE and
 *           PROT_EXEC, to mprotect and pkey_mprotect with PROT_EXEC, to shmat with SHM_EXEC
 *   file    the same, and to mmap of PROT_EXEC without a file, as SELinux without execmem
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_MDWE 65 /* linux/prctl.h since 6.3 */
#define REFUSE_EXEC_GAIN 1

#define LOAD_ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define LOAD_NR BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
/* Call nr with all of `bits` in argument i. */
#define REFUSE_ALL(nr, i, bits) LOAD_NR, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 4), LOAD_ARG(i), \
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1), REFUSE

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(77);
}

static void install(struct sock_filter *code, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("no seccomp filter can be installed here");
}

static void install_systemd(void)
{
	struct sock_filter code[] = {
		REFUSE_ALL(SYS_mmap, 2, PROT_WRITE | PROT_EXEC),
		REFUSE_ALL(SYS_mprotect, 2, PROT_EXEC),
		REFUSE_ALL(SYS_pkey_mprotect, 2, PROT_EXEC),
		REFUSE_ALL(SYS_shmat, 2, SHM_EXEC),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, sizeof(code) / sizeof(code[0]));
}

static void install_files_only(void)
{
	struct sock_filter code[] = {
		LOAD_NR, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		LOAD_ARG(2), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 3),
		LOAD_ARG(3), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1),
		REFUSE,
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, sizeof(code) / sizeof(code[0]));
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "mdwe") && prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0))
		die("this kernel has no PR_SET_MDWE");
	if (!strcmp(argv[1], "filter") || !strcmp(argv[1], "file"))
		install_systemd();
	if (!strcmp(argv[1], "file"))
		install_files_only();
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
		printf("writable and executable memory is not refused\n");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
