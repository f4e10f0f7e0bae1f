/*
 * Code in a memfd whose descriptor stays open, as .NET has it, and in anonymous memory that becomes executable when it
 * has been written, as PHP's: see shared_code.c.
 */
#include <sys/syscall.h>
#include "tests/insn/shared_code.h"

/* A descriptor that stays open, as .NET's: all that was said of the memory holds until it is used. */
static void by_open_descriptor(void)
{
	uint8_t code[CODE];
	int fd = map_both(MFD_CLOEXEC);

	for (int i = 1; i < 100; i++) {
		encode(rw + AT, i);
		expect("open, another mapping", run(rx + AT), i);
		warm("open", i);
	}
	execute();
	encode(rw + AT, 100);
	expect("open, after a child that executes", run(rx + AT), 100);
	by_a_child("open, a child", -1);
	execute();
	by_a_child("open, a child's pwrite", fd);
	fcntl(fd, F_GETFD);
	warm("open", run(rx + AT));
	encode(code, 3);
	if (pwrite(fd, code, CODE, AT) != CODE)
		bad = 1;
	expect("open, pwrite", run(rx + AT), 3);
	close(fd);
	unmap();
}

static void by_vfork(void)
{
	uint8_t code[CODE];
	int fd = map_both(MFD_CLOEXEC);

	encode(rw + AT, 1);
	warm("open", 1);
	encode(code, 2);
	if (!vfork())
		_exit(pwrite(fd, code, CODE, AT) != CODE);
	expect("a child that shares the memory, pwrite", run(rx + AT), 2);
	unmap();
}

/* The memory goes to nothing and comes back. */
static void by_ftruncate(void)
{
	int fd = map_both(MFD_CLOEXEC);

	encode(rw + AT, 1);
	warm("open", 1);
	if (ftruncate(fd, 0) || ftruncate(fd, SIZE))
		bad = 1;
	encode(rw + AT, 2);
	expect("ftruncate", run(rx + AT), 2);
	unmap();
}

/* The program that a child executes has it: it is not closed then, or the child has made another descriptor of it. */
static void by_a_program_of(int cloexec)
{
	int fd = map_both(cloexec), status;
	char number[16];
	pid_t pid;

	encode(rw + AT, 1);
	warm("open", 1);
	pid = fork();
	if (!pid) {
		snprintf(number, sizeof(number), "%d", cloexec ? dup(fd) : fd);
		execl("/proc/self/exe", "shared_code", "pwrite", number, NULL);
		_exit(1);
	}
	for (int i = 0; i < 20; i++) {
		run(rx + AT);
		usleep(500);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		bad = 1;
	expect("a program's pwrite", run(rx + AT), 77);
	close(fd);
	unmap();
}

static void by_a_program(void)
{
	by_a_program_of(0);
}

static void by_a_program_with_a_duplicate(void)
{
	by_a_program_of(MFD_CLOEXEC);
}

static int write_as_program(int fd)
{
	uint8_t code[CODE];

	usleep(20000); /* the parent goes on */
	encode(code, 77);
	return pwrite(fd, code, CODE, AT) != CODE;
}

/* Another process gets the same table of descriptors when there is code in the file already. */
static void by_a_later_table_user(void)
{
	volatile int *step = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = map_both(MFD_CLOEXEC);
	uint8_t code[CODE];
	pid_t pid;

	encode(rw + AT, 1);
	warm("open", 1);
	encode(code, 2);
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!pid) {
		while (!*step)
			sched_yield();
		_exit(pwrite(fd, code, CODE, AT) != CODE);
	}
	warm("open", 1);
	*step = 1;
	waitpid(pid, NULL, 0);
	expect("a process that got the descriptors", run(rx + AT), 2);
	unmap();
}

/* Anonymous memory that becomes executable when it has been written, as PHP's: also by who was there before. */
static void by_late_executable(void)
{
	volatile int *step = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	rx = rw = mmap(NULL, SIZE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 1; i < 50; i++) {
		mprotect(rw, SIZE, RW);
		encode(rw + AT, i);
		mprotect(rx, SIZE, RX);
		warm("executable later", i);
	}
	rw = mremap(rx, 0, SIZE, MREMAP_MAYMOVE);
	mprotect(rw, SIZE, RW);
	by_a_child("executable later, a child", -1);
	unmap();
	rx = rw = mmap(NULL, SIZE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid) {
		while (!*step)
			sched_yield();
		encode(rw + AT, 9);
		_exit(0);
	}
	encode(rw + AT, 8);
	mprotect(rx, SIZE, RX);
	warm("executable after a fork", 8);
	*step = 1;
	waitpid(pid, NULL, 0);
	expect("executable after a fork, the child", run(rx + AT), 9);
	unmap();
}

static void (*const tests[])(void) = {by_open_descriptor, by_vfork,		  by_ftruncate,
				      by_a_program,	  by_a_later_table_user, by_late_executable,
				      by_a_program_with_a_duplicate};

int main(int argc, char **argv)
{
	if (argc > 2)
		return write_as_program(atoi(argv[2]));
	return run_tests(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
