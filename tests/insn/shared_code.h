/*
 * Code in shared memory, and changing it: for tests that try one way after the other. rx is where it runs, rw where it
 * is written.
 */
#ifndef TESTS_INSN_SHARED_CODE_H
#define TESTS_INSN_SHARED_CODE_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (4 * PAGE)
#define PAGE 4096
#define RX   (PROT_READ | PROT_EXEC)
#define RW   (PROT_READ | PROT_WRITE)
#define CODE 6 /* bytes */
#define AT   0x40

static uint8_t *rx, *rw;
static int bad;

/* mov $value, %eax; ret */
static void encode(uint8_t *to, int value)
{
	to[0] = 0xb8;
	memcpy(to + 1, &value, sizeof(value));
	to[5] = 0xc3;
}

static int run(const uint8_t *at)
{
	return ((int (*)(void))at)();
}

static void expect(const char *what, int got, int want)
{
	if (got != want) {
		fprintf(stderr, "%s: %d instead of %d\n", what, got, want);
		bad = 1;
	}
}

/* The code has run often enough that nobody looks at it closely any more. */
static void warm(const char *what, int want)
{
	for (int i = 0; i < 100; i++)
		expect(what, run(rx + AT), want);
}

static int map_both(int cloexec)
{
	int fd = memfd_create("code", cloexec);

	if (fd < 0 || ftruncate(fd, SIZE))
		return -1;
	rx = mmap(NULL, SIZE, RX, MAP_SHARED, fd, 0);
	rw = mmap(NULL, SIZE, RW, MAP_SHARED, fd, 0);
	return rx == MAP_FAILED || rw == MAP_FAILED ? -1 : fd;
}

/* In the child, which tells by its end; `by_descriptor` -1: by its mapping. */
static void by_a_child(const char *what, int by_descriptor)
{
	static int value = 1000;
	uint8_t code[CODE];
	int status;
	pid_t pid;

	warm(what, run(rx + AT));
	encode(code, ++value);
	pid = fork();
	if (!pid) {
		if (by_descriptor >= 0)
			_exit(pwrite(by_descriptor, code, CODE, AT) != CODE);
		memcpy(rw + AT, code, CODE);
		_exit(run(rx + AT) != value);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		bad = 1;
	expect(what, run(rx + AT), value);
	warm(what, value);
}

static void execute(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		bad = 1;
}

static void unmap(void)
{
	munmap(rx, SIZE);
	munmap(rw, SIZE);
}

/* Each in a program of its own: what one has lent is not another's. */
static int run_tests(void (*const *tests)(void), unsigned n, int argc, char **argv)
{
	char number[8];
	int status;

	if (argc > 1) {
		tests[atoi(argv[1])]();
		return bad;
	}
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();

		snprintf(number, sizeof(number), "%u", i);
		if (!pid) {
			execl("/proc/self/exe", argv[0], number, NULL);
			_exit(1);
		}
		if (waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "test %u\n", i);
			bad = 1;
		}
	}
	return bad;
}

#endif
