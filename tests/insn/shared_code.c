/*
 * Code in shared memory that is mapped more than once, as JIT compilers do: it is changed by way of the other mapping,
 * a descriptor, another process, and what is executed is what is there. Each way is tried after the code has run.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "tests/insn/shared_code.h"

static int fresh(int value)
{
	int fd = map_both(0);

	if (fd >= 0)
		close(fd);
	encode(rw + AT, value);
	warm("new code", value);
	return fd;
}

static void by_this_thread(void)
{
	fresh(1);
	for (int i = 2; i < 300; i++) {
		encode(rw + AT, i);
		expect("another mapping", run(rx + AT), i);
		expect("again", run(rx + AT), i);
	}
	unmap();
}

/*
 * A store to the instruction behind it, by way of the other mapping:
 *	mov (%rsi), %eax;  mov %eax, (%rdi);  mov $0, %eax, where rdi is the immediate's other address;  ret
 */
static void by_the_code_itself(void)
{
	static const uint8_t code[] = {0x8b, 0x06, 0x89, 0x07, 0xb8, 0, 0, 0, 0, 0xc3};

	fresh(1);
	memcpy(rw + 2 * PAGE, code, sizeof(code));
	for (int i = 1; i < 200; i++)
		expect("the next instruction", ((int (*)(void *, int *))(rx + 2 * PAGE))(rw + 2 * PAGE + 5, &i), i);
	unmap();
}

static volatile int go, seen;

static void *run_always(void *unused)
{
	for (int now; (now = run(rx + AT)) >= 0;)
		__atomic_store_n(&seen, now, __ATOMIC_RELEASE);
	return unused;
}

/* A thread that never leaves the code sees the change. */
static void by_another_thread(void)
{
	pthread_t thread;

	fresh(1);
	if (pthread_create(&thread, NULL, run_always, NULL))
		_exit(1);
	for (int i = 2; i < 60; i++) {
		/* One store, as cross-modifying code needs. */
		__atomic_store_n((uint64_t *)(rw + AT), 0xc300000000b8ul | (uint64_t)i << 8, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) != i)
			usleep(10);
	}
	encode(rw + AT, -1);
	pthread_join(thread, NULL);
	unmap();
}

/* A child that stays changes it again and again, while others execute programs. */
static void by_children(void)
{
	int value = 0;

	fresh(1);
	execute();
	warm("after a child that executes", 1);
	encode(rw + AT, 2);
	expect("after a child that executes", run(rx + AT), 2);
	for (int i = 0; i < 3; i++) {
		by_a_child("a child", -1);
		execute();
	}
	warm("after children", value = run(rx + AT));
	unmap();
}

/* Who was lent the memory has executed another program, but its child has it. */
static void by_a_grandchild(void)
{
	int status, to[2], from[2];
	pid_t pid;
	char c = 0;

	fresh(1);
	if (pipe(to) || pipe(from))
		_exit(1);
	pid = fork();
	if (!pid) {
		if (fork()) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (read(to[0], &c, 1) == 1)
			encode(rw + AT, 77);
		_exit(write(from[1], &c, 1) != 1);
	}
	if (waitpid(pid, &status, 0) != pid)
		bad = 1;
	for (int i = 0; i < 3; i++) {
		warm("before the grandchild", 1);
		usleep(1);
	}
	if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
		bad = 1;
	expect("a grandchild", run(rx + AT), 77);
	unmap();
}

/* Each is a way by which the descriptor, or another one, is there when the file is taken for closed. */
static void by_descriptor(int way)
{
	uint8_t code[CODE];
	char path[64];
	struct iovec io = {code, 1};
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = map_both(MFD_CLOEXEC), other = -1, ends[2] = {-1, -1};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (way == 0)
		other = dup(fd);
	if (way == 1)
		other = open(path, O_RDWR);
	if (way == 2)
		other = fcntl(fd, F_DUPFD, 100);
	if (way == 3)
		other = dup3(fd, 200, 0);
	if (way == 4 && !socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
		*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		if (sendmsg(ends[0], &m, 0) != 1)
			bad = 1;
	}
	encode(rw + AT, 5);
	warm("open", 5);
	encode(code, 6);
	if (pwrite(fd, code, CODE, AT) != CODE)
		bad = 1;
	expect("pwrite", run(rx + AT), 6);
	close(fd);
	warm("closed", 6);
	if (way == 4) {
		m.msg_controllen = sizeof(control);
		if (recvmsg(ends[1], &m, 0) == 1)
			memcpy(&other, CMSG_DATA(c), sizeof(other));
	}
	encode(code, 7 + way);
	if (pwrite(other, code, CODE, AT) != CODE)
		bad = 1;
	expect("pwrite to another descriptor", run(rx + AT), 7 + way);
	by_a_child("a child's pwrite", other);
	close(other);
	unmap();
}

/* A mapping that comes, or can be written to, when the code has been translated. */
static void by_new_mappings(void)
{
	uint8_t *again, *anonymous;

	fresh(1);
	again = mremap(rw, 0, SIZE, MREMAP_MAYMOVE);
	encode(again + AT, 2);
	expect("a duplicate", run(rx + AT), 2);
	warm("a duplicate", 2);
	mprotect(again, SIZE, PROT_READ);
	warm("a duplicate to be read", 2);
	mprotect(again, SIZE, RW);
	encode(again + AT, 3);
	expect("a duplicate to be written again", run(rx + AT), 3);
	warm("a duplicate to be written again", 3);
	again = mremap(again, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, again + (64 << 20));
	encode(again + AT, 4);
	expect("a duplicate that has moved", run(rx + AT), 4);
	warm("a duplicate that has moved", 4);
	munmap(again, SIZE);
	encode(rw + AT, 5);
	expect("the first one", run(rx + AT), 5);
	if (!madvise(rw, PAGE, MADV_REMOVE) && (rx[AT] || !(encode(rw + AT, 6), 1)))
		bad = 1;
	encode(rw + AT, 6);
	expect("removed and written", run(rx + AT), 6);
	unmap();

	anonymous = mmap(NULL, SIZE, RW | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	rx = anonymous;
	rw = mremap(anonymous, 0, SIZE, MREMAP_MAYMOVE);
	for (int i = 1; i < 50; i++) {
		encode((i & 1 ? rw : rx) + AT, i);
		expect("anonymous", run(rx + AT), i);
		expect("anonymous, by the other address", run(rw + AT), i);
	}
	by_a_child("anonymous, a child", -1);
	unmap();
}

/* The kernel writes there. */
static void by_read(void)
{
	uint8_t code[CODE];
	int ends[2];

	fresh(1);
	if (pipe(ends))
		_exit(1);
	for (int i = 2; i < 20; i++) {
		encode(code, i);
		if (write(ends[1], code, CODE) != CODE || read(ends[0], rw + AT, CODE) != CODE)
			bad = 1;
		expect("read", run(rx + AT), i);
	}
	unmap();
}

static void by_dup(void)
{
	by_descriptor(0);
}

static void by_open(void)
{
	by_descriptor(1);
}

static void by_fcntl(void)
{
	by_descriptor(2);
}

static void by_dup3(void)
{
	by_descriptor(3);
}

static void by_sendmsg(void)
{
	by_descriptor(4);
}

static void wait_for(volatile int *step, int n)
{
	while (*step < n)
		sched_yield();
}

/* Another process that has the same table of descriptors, since before there was the file. */
static void by_another_table_user(void)
{
	volatile int *step = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *fd = step + 1;
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid) {
		wait_for(step, 1);
		rw = mmap(NULL, SIZE, RW, MAP_SHARED, *fd, 0);
		*step = 2;
		wait_for(step, 3);
		encode(rw + AT, 9);
		*step = 4;
		_exit(0);
	}
	*fd = map_both(0);
	*step = 1;
	wait_for(step, 2);
	close(*fd);
	encode(rw + AT, 1);
	warm("new code", 1);
	*step = 3;
	wait_for(step, 4);
	expect("a process with the same descriptors", run(rx + AT), 9);
	waitpid(pid, NULL, 0);
	unmap();
}

static void (*const tests[])(void) = {by_this_thread,
				      by_the_code_itself,
				      by_another_thread,
				      by_new_mappings,
				      by_read,
				      by_dup,
				      by_open,
				      by_fcntl,
				      by_dup3,
				      by_sendmsg,
				      by_children,
				      by_a_grandchild,
				      by_another_table_user};

int main(int argc, char **argv)
{
	return run_tests(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
