/*
 * Guard pages, as C libraries put them below stacks (madvise(2) with MADV_GUARD_INSTALL, Linux 6.13): each access to
 * one raises SIGSEGV, also in memory whose code was translated, and a child has them, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE  103
#endif
#define PAGE 4096
#define RET  0xc3

static sigjmp_buf back;
static char *at;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	printf("signal %d, code %d, %+ld\n", signo, info->si_code, (long)((char *)info->si_addr - at));
	siglongjmp(back, 1);
}

static void read_one(const char *what)
{
	printf("  read %s: ", what);
	if (!sigsetjmp(back, 1))
		printf("%d\n", *(volatile unsigned char *)at);
}

static void write_one(const char *what)
{
	printf("  write %s: ", what);
	if (!sigsetjmp(back, 1)) {
		*(volatile unsigned char *)at = RET;
		printf("done\n");
	}
}

static void execute(const char *what)
{
	printf("  execute %s: ", what);
	if (!sigsetjmp(back, 1)) {
		((void (*)(void))at)();
		printf("done\n");
	}
}

static void all(const char *what)
{
	execute(what);
	read_one(what);
	write_one(what);
	execute(what);
	write_one(what);
}

static void guard(char *p, int advice)
{
	int ret = madvise(p, PAGE, advice);

	printf("  advice %d: %d\n", advice, ret ? errno : 0);
}

/* An instruction whose second part is in the guard page. */
static void execute_across(char *end)
{
	static const unsigned char mov[] = {0xb8, 1, 2, 3, 4}; /* mov $0x4030201, %eax */

	memcpy(end - 2, mov, 2);
	at = end;
	printf("  execute across: ");
	if (!sigsetjmp(back, 1)) {
		((void (*)(void))(end - 2))();
		printf("done\n");
	}
}

static void in_child(void)
{
	int status;

	if (!fork()) {
		all("in a child");
		exit(0);
	}
	wait(&status);
	printf("  child: %#x\n", status);
}

/* Three pages; the one in the middle is the guard. */
static void around(const char *what, char *p)
{
	printf("%s\n", what);
	memset(p, RET, 3 * PAGE);
	at = p + PAGE;
	execute("before");
	guard(at, MADV_GUARD_INSTALL);
	all("the guard");
	in_child();
	execute_across(at);
	at = p;
	all("in front");
	at = p + 2 * PAGE;
	all("behind");
	at = p + PAGE;
	guard(at, MADV_GUARD_REMOVE);
	read_one("after");
	write_one("after");
	execute("after");
}

int main(void)
{
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	char name[] = "guard-XXXXXX", byte, *p;
	int fd = mkstemp(name);

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, NULL);
	sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, NULL);
	around("private memory", mmap(NULL, 3 * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	around("shared memory", mmap(NULL, 3 * PAGE, prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	unlink(name);
	if (ftruncate(fd, 3 * PAGE))
		return 1;
	around("a file, private", mmap(NULL, 3 * PAGE, prot, MAP_PRIVATE, fd, 0));
	around("a file, shared", mmap(NULL, 3 * PAGE, prot, MAP_SHARED, fd, 0));

	printf("system calls\n");
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	guard(p + PAGE, MADV_GUARD_INSTALL);
	printf("  write: %zd\n", pwrite(fd, p + PAGE - 2, 4, 0));
	printf("  read: %zd\n", pread(fd, p + PAGE - 2, 4, 0));
	printf("  read: %zd, errno %d\n", pread(fd, p + PAGE, 1, 0), errno);
	printf("  open: %d, errno %d\n", open(p + PAGE, O_RDONLY), errno);
	printf("  behind a file's end: %d\n", ftruncate(fd, 0));
	p = mmap(NULL, PAGE, prot, MAP_PRIVATE, fd, 0);
	at = p;
	all("nothing");
	return read(fd, &byte, 1) > 0;
}
