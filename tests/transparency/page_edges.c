/* Arguments of system calls that end where memory ends, or go on where there is none: the kernel reads no further. */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static char *end; /* of memory */

static void tell(const char *what, long result)
{
	printf("%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "ok");
}

static void name(void)
{
	char now[16];

	for (size_t n = 13; n <= 16; n++) {
		memcpy(end - n, "0123456789abcdef", n);
		tell("PR_SET_NAME without an end", prctl(PR_SET_NAME, end - n));
		prctl(PR_GET_NAME, now);
		printf("%s\n", now);
	}
}

/* What is not known there is refused before it is seen that it ends. */
static void clone_args(void)
{
	for (size_t beyond = 8; beyond <= 24; beyond += 4)
		for (int known = 0; known < 2; known++) {
			char *at = end - sizeof(struct clone_args) - beyond;

			memset(at, 0, (size_t)(end - at));
			end[-beyond] = !known;
			tell("clone3", syscall(SYS_clone3, at, sizeof(struct clone_args) + 32));
		}
}

/* It must be memory of the program's by its address alone. */
static void clone_stack(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD, .stack_size = PAGE};

	args.stack = (unsigned long)-PAGE;
	tell("clone3 with a stack of the kernel's", syscall(SYS_clone3, &args, sizeof(args)));
	args.stack = 1ul << 63;
	tell("clone3 with a stack of the kernel's", syscall(SYS_clone3, &args, sizeof(args)));
	args.stack = (unsigned long)end;
	args.stack_size = -(unsigned long)end;
	tell("clone3 with a stack up to the end", syscall(SYS_clone3, &args, sizeof(args)));
}

/* Of two mistakes the kernel names the first that it looks for. */
static void two_mistakes(void)
{
	static const struct timespec none, wrong = {0, -1};
	const struct timespec *limit[] = {&none, &wrong, (void *)end};
	long size[] = {8, 0, 16};
	int fd = epoll_create1(0);
	struct epoll_event event;

	for (int i = 0; i < 9; i++) {
		struct timespec left = none;
		void *mask = end, *pair[] = {mask, (void *)size[i % 3]}, *time = i / 3 ? (void *)limit[i / 3] : &left;

		printf("%d\n", i);
		tell("epoll_pwait2", syscall(SYS_epoll_pwait2, fd, &event, 1, time, mask, size[i % 3]));
		tell("ppoll", syscall(SYS_ppoll, NULL, 0, time, mask, size[i % 3]));
		tell("pselect6", syscall(SYS_pselect6, 0, NULL, NULL, NULL, time, pair));
	}
	close(fd);
}

static void no_memory(void)
{
	for (int resource = 0; resource < RLIM_NLIMITS; resource++)
		tell("getrlimit", syscall(SYS_getrlimit, resource, NULL));
}

int main(void)
{
	end = (char *)mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + PAGE;
	munmap(end, PAGE);
	name();
	clone_args();
	clone_stack();
	two_mistakes();
	no_memory();
	return 0;
}
