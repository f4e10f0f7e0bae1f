/*
 * What the kernel writes, for a system call and by itself, arrives in a page with code that has been executed: nothing
 * of what the call takes away is lost, and nobody dies of it. Local variables are in such pages where the stack holds
 * code of nested functions.
 * cflags: -z execstack
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rseq.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE	 "\xb8\x07\x00\x00\x00\xc3" /* mov $7, %eax; ret */
#define TEXT	 "five"
#define STACK	 65536
#define YIELDS	 20000
#define RSEQ_SIG 0x53053053

static unsigned char *page; /* its first half is code */
static unsigned char stack[STACK] __attribute__((aligned(16)));
static int failures;

static void expect(const char *what, long seen, long wanted)
{
	if (seen == wanted)
		return;
	printf("%s: %ld, not %ld (%s)\n", what, seen, wanted, seen < 0 ? strerror(errno) : "");
	failures++;
}

static void make_page(void)
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, CODE, sizeof(CODE));
}

/* What is behind the code, after that was executed. */
static void *room(void)
{
	expect("code", ((int (*)(void))(void *)page)(), 7);
	return page + 2048;
}

static void children(void)
{
	int *status = room();
	siginfo_t *info;

	if (!fork())
		_exit(5);
	status = room();
	expect("waitpid", waitpid(-1, status, 0) > 0, 1);
	expect("its status", WEXITSTATUS(*status), 5);
	if (!fork())
		_exit(6);
	info = room();
	expect("waitid", waitid(P_ALL, 0, info, WEXITED), 0);
	expect("its status", info->si_status, 6);
}

static void signals(void)
{
	struct timespec now = {0, 0};
	struct signalfd_siginfo *read_info;
	siginfo_t *info;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	info = room();
	expect("sigtimedwait", sigtimedwait(&set, info, &now), SIGUSR1);
	expect("its number", info->si_signo, SIGUSR1);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	raise(SIGUSR1);
	read_info = room();
	expect("signalfd", read(fd, read_info, sizeof(*read_info)), sizeof(*read_info));
	expect("its number", read_info->ssi_signo, SIGUSR1);
	close(fd);
}

static void arrives(const char *what, long got, const void *text)
{
	expect(what, got, sizeof(TEXT));
	expect("its text", memcmp(text, TEXT, sizeof(TEXT)), 0);
	memset(page + 2048, 0, 2048);
}

static void datagrams(void)
{
	struct iovec *vector;
	struct mmsghdr *several;
	struct msghdr *message;
	int fd[2];
	char *to;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd))
		abort();
	for (int i = 0; i < 5; i++)
		if (send(fd[0], TEXT, sizeof(TEXT), 0) < 0)
			abort();
	to = room();
	arrives("recv", recv(fd[1], to, 100, 0), to);
	to = room();
	arrives("read", read(fd[1], to, 100), to);
	to = room();
	arrives("readv", readv(fd[1], &(struct iovec){to, 100}, 1), to);
	message = room();
	vector = (void *)(message + 1);
	to = (void *)(vector + 1);
	*vector = (struct iovec){to, 100};
	message->msg_iov = vector;
	message->msg_iovlen = 1;
	room();
	arrives("recvmsg", recvmsg(fd[1], message, 0), to);
	several = room();
	vector = (void *)(several + 1);
	to = (void *)(vector + 1);
	*vector = (struct iovec){to, 100};
	several->msg_hdr.msg_iov = vector;
	several->msg_hdr.msg_iovlen = 1;
	room();
	expect("recvmmsg", recvmmsg(fd[1], several, 1, 0, NULL), 1);
	arrives("its length", several->msg_len, to);
	close(fd[0]);
	close(fd[1]);
}

/* A thread that the kernel knows two words of: its number, cleared at the end, and where it notes the processor. */
static int thread(void *arg)
{
	struct rseq *area = (void *)(page + 3072);

	memset(area, 0, sizeof(*area));
	expect("rseq", syscall(SYS_rseq, area, sizeof(*area), 0, RSEQ_SIG), 0);
	for (int i = 0; i < YIELDS; i++) {
		if (i % 16 == 0)
			room();
		sched_yield();
	}
	expect("its processor", area->cpu_id < CPU_SETSIZE, 1);
	room();
	syscall(SYS_exit, 0);
	return 0;
}

static void words_of_threads(void)
{
	volatile int *tid = (void *)(page + 2048);

	*tid = 1;
	clone(thread, stack + STACK,
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
	      NULL, NULL, NULL, tid);
	for (int i = 0; i < 5000 && *tid; i++)
		usleep(1000);
	expect("the thread's number", *tid, 0);
}

/* The frame holds the nested function's code, and what is received. */
static void __attribute__((noinline)) frame(void)
{
	int numbers[64], order = 1, fd[2], key = 5;
	long got = -1, sent = 4711;
	int compare(const void *a, const void *b)
	{
		return order * (*(const int *)a - *(const int *)b);
	}

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd) || send(fd[0], &sent, sizeof(sent), 0) < 0)
		abort();
	for (int i = 0; i < 64; i++)
		numbers[i] = i;
	expect("bsearch", bsearch(&key, numbers, 64, sizeof(int), compare) == &numbers[5], 1);
	expect("recv into the frame", recv(fd[1], &got, sizeof(got), 0), sizeof(got));
	expect("what was received", got, 4711);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	make_page();
	children();
	make_page();
	signals();
	make_page();
	datagrams();
	make_page();
	words_of_threads();
	frame();
	return failures != 0;
}
