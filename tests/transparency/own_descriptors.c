/*
 * High numbers, where pcl's own descriptors are: no call finds one open there, nor hands it to another process,
 * waits for it or takes it as a directory. Numbers that a call does not look at do no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NUMBERS 16 /* more than pcl has */

static int ends[2], sockets[2];

static void tell(const char *what, long result)
{
	printf(" %s %s", what, result < 0 ? strerrorname_np(errno) : "0");
}

static void wait_for(int fd)
{
	struct pollfd p[2] = {{fd, POLLIN | POLLOUT, 0}, {ends[0], POLLIN, 0}};
	struct timespec now = {0, 0};
	unsigned long set[64] = {0}, copy[64];
	struct timeval tv = {0, 0};
	int n = poll(p, 2, 0);

	printf(" poll %d %x %x", n, p[0].revents, p[1].revents);
	n = ppoll(p, 1, &now, NULL);
	printf(" ppoll %d %x", n, p[0].revents);
	if (fd < (int)sizeof(set) * 8) {
		set[fd / 64] = 1ul << fd % 64;
		memcpy(copy, set, sizeof(set));
		tell("select", syscall(SYS_select, fd + 1, set, NULL, NULL, &tv));
		tell("pselect", syscall(SYS_pselect6, fd + 1, NULL, copy, NULL, &now, NULL));
	}
}

/* In the second message of two; and in the first. */
static void hand_over(int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {.header = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec v = {"x", 1};
	struct mmsghdr m[2] = {{{.msg_iov = &v, .msg_iovlen = 1}, 0}, {{.msg_iov = &v, .msg_iovlen = 1}, 0}};
	int fds[2] = {ends[0], fd};

	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	m[1].msg_hdr.msg_control = &control;
	m[1].msg_hdr.msg_controllen = sizeof(control);
	tell("sendmsg", sendmsg(sockets[0], &m[1].msg_hdr, 0));
	printf(" sendmmsg %d", sendmmsg(sockets[0], m, 2, 0));
	tell("the first", sendmmsg(sockets[0], m + 1, 1, 0));
	tell("pidfd_getfd", syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, getpid(), 0), fd, 0));
}

static void submit(int fd)
{
	struct iocb request = {.aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = (unsigned)fd, .aio_buf = POLLIN};
	struct iocb *requests[] = {&request};
	aio_context_t context = 0;

	if (!syscall(SYS_io_setup, 4, &context))
		tell("io_submit", syscall(SYS_io_submit, context, 1, requests));
	syscall(SYS_io_destroy, context);
}

static void use(int fd, int null)
{
	struct epoll_event e = {EPOLLIN, {.u64 = 1}};
	int epoll = epoll_create1(0);
	sigset_t none;

	sigemptyset(&none);
	tell("F_GETFD", fcntl(fd, F_GETFD));
	tell("dup", dup(fd));
	tell("epoll_ctl", epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e));
	tell("splice", splice(ends[0], NULL, fd, NULL, 1, SPLICE_F_NONBLOCK));
	tell("sendfile", sendfile(null, fd, NULL, 1));
	tell("tee", tee(ends[0], fd, 1, SPLICE_F_NONBLOCK));
	tell("copy_file_range", copy_file_range(null, NULL, fd, NULL, 1, 0));
	tell("signalfd", signalfd(fd, &none, 0));
	tell("mmap", mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	tell("without a file", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0) == MAP_FAILED ? -1 : 0);
	tell("openat", openat(fd, "self", O_RDONLY));
	tell("absolute", close(openat(fd, "/dev/null", O_RDONLY)));
	tell("linkat", linkat(AT_FDCWD, "/dev/null", fd, "x", 0));
	tell("renameat", renameat(AT_FDCWD, "/dev/null", fd, "x"));
	tell("symlinkat", symlinkat("x", fd, "x"));
	close(epoll);
}

static void look_at(int first)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = first; fd < first + NUMBERS; fd++) {
		printf("%d:", fd);
		wait_for(fd);
		hand_over(fd);
		submit(fd);
		use(fd, null);
		putchar('\n');
	}
	close(null);
}

int main(void)
{
	struct rlimit lim;
	int limits[3] = {1024, 4096};

	getrlimit(RLIMIT_NOFILE, &lim);
	limits[2] = (int)lim.rlim_cur;
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		return 1;
	for (int i = 0; i < 3; i++) {
		int max = limits[i] < limits[2] ? limits[i] : limits[2];

		/* So that the table has room for all of these numbers. */
		printf("%d\n", dup2(0, max - 2 * NUMBERS) == max - 2 * NUMBERS);
		look_at(max - NUMBERS);
	}
	return 0;
}
