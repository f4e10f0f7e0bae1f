/*
 * Calls on an event's descriptor that are not for events: what they answer, that none of them waits, and that the event
 * works afterwards as before. Events that come by recvmmsg(2) are events.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include "tests/abi/wakeup.h"

#define FCHMODAT2 452
#define LISTXATTRAT 465

static int event, null, file, directory, in[2], out[2];
static char buf[128];
static struct iovec part = {buf, 8};

static void on_alarm(int signo)
{
}

static void tell(const char *what, long result)
{
	printf(" %s %ld %s\n", what, result < 0 ? -1 : result, result < 0 ? strerrorname_np(errno) : "");
}

/* The call by its number, with a second to answer in. */
#define TRY(name, ...) TRY_NR(SYS_##name, #name "(" #__VA_ARGS__ ")", __VA_ARGS__)
#define TRY_NR(nr, text, ...) (alarm(1), tell(text, syscall(nr, __VA_ARGS__)), alarm(0))

static void of_sockets(void)
{
	struct sockaddr address = {AF_UNIX, ""};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	struct mmsghdr mm = {m, 0};
	struct timespec bad = {0, -1};
	int n = 0, size = sizeof(n);

	TRY(connect, event, &address, 2);
	TRY(connect, event, &address, -1);
	TRY(connect, event, 1, 2);
	TRY(accept, event, 0, 0);
	TRY(accept4, event, 0, 0, 0);
	TRY(accept4, event, 0, 0, 1);
	TRY(sendto, event, buf, 8, 0, 0, 0);
	TRY(sendto, event, -1l, 8, 0, 0, 0);
	TRY(recvfrom, event, buf, 8, 0, 0, 0);
	TRY(recvfrom, event, -1l, 8, 0, 0, 0);
	TRY(sendmsg, event, &m, 0);
	TRY(sendmsg, event, 1, 0);
	TRY(sendmsg, event, &m, 0x80000000u);
	TRY(recvmsg, event, &m, 0);
	TRY(recvmsg, event, 1, 0);
	TRY(recvmmsg, event, &mm, 1, 0, 0);
	TRY(recvmmsg, event, &mm, 1, 0, 1);
	TRY(recvmmsg, event, &mm, 1, 0, &bad);
	TRY(sendmmsg, event, &mm, 1, 0);
	TRY(sendmmsg, event, &mm, 0, 0);
	TRY(shutdown, event, 2);
	TRY(shutdown, event, 9);
	TRY(bind, event, &address, 2);
	TRY(listen, event, 1);
	TRY(getsockname, event, buf, &size);
	TRY(getpeername, event, buf, &size);
	TRY(setsockopt, event, SOL_SOCKET, SO_SNDBUF, &n, 4);
	TRY(getsockopt, event, SOL_SOCKET, SO_TYPE, &n, &size);
}

static void reading_and_writing(void)
{
	TRY(pread64, event, buf, 8, 0);
	TRY(pwrite64, event, buf, 8, 0);
	TRY(writev, event, &part, 1);
	TRY(writev, event, &part, 0);
	TRY(writev, event, &part, 2000);
	TRY(writev, event, 1, 1);
	TRY(preadv, event, &part, 1, 0, 0);
	TRY(pwritev, event, &part, 1, 0, 0);
	for (long at = -2; at < 1; at++) {
		TRY(preadv2, event, &part, 1, at, at, 0);
		TRY(pwritev2, event, &part, 1, at, at, 0);
	}
	TRY(preadv2, event, &part, 1, -1l, 5l, 0);
	TRY(preadv2, event, &part, 1, -1l, -1l, RWF_HIPRI);
	TRY(preadv2, event, &part, 1, -1l, -1l, RWF_NOWAIT);
	TRY(preadv2, event, &part, 1, -1l, -1l, 0x4000);
	TRY(preadv2, event, &part, 0, -1l, -1l, RWF_NOWAIT);
	TRY(pwritev2, event, &part, 1, -1l, -1l, RWF_NOWAIT);
	TRY(pwritev2, event, &part, 0, -1l, -1l, 0);
	TRY(vmsplice, event, &part, 1, 0);
	TRY(lseek, event, 0, SEEK_CUR);
}

static void moving(void)
{
	long at = 0;

	TRY(splice, event, 0, out[1], 0, 8, 0);
	TRY(splice, event, 0, out[1], 0, 0, 0);
	TRY(splice, event, 0, out[1], 0, 8, 0x80);
	TRY(splice, event, &at, out[1], 0, 8, 0);
	TRY(splice, event, 1, out[1], 0, 8, 0);
	TRY(splice, event, 0, out[0], 0, 8, 0);
	TRY(splice, event, 0, 999, 0, 8, 0);
	TRY(splice, event, 0, null, 0, 8, 0);
	TRY(splice, event, 0, event, 0, 8, 0);
	TRY(splice, in[0], 0, event, 0, 8, 0);
	TRY(splice, in[0], 0, event, &at, 8, 0);
	TRY(splice, in[1], 0, event, 0, 8, 0);
	TRY(splice, null, 0, event, 0, 8, 0);
	TRY(tee, event, out[1], 8, 0);
	TRY(tee, in[0], event, 8, 0);
	TRY(sendfile, null, event, 0, 8);
	TRY(sendfile, null, event, &at, 8);
	TRY(sendfile, null, event, 0, 0);
	TRY(sendfile, out[1], event, 0, 8);
	TRY(sendfile, out[1], event, 1, 8);
	TRY(sendfile, event, file, 0, 8);
	TRY(sendfile, event, file, &at, 8);
	TRY(sendfile, event, file, 0, 0);
	TRY(sendfile, event, in[0], 0, 8);
	TRY(sendfile, event, directory, 0, 8);
	TRY(sendfile, directory, event, 0, 8);
	TRY(sendfile, event, event, 0, 8);
	TRY(sendfile, event, 999, 0, 8);
	TRY(copy_file_range, event, 0, null, 0, 8, 0);
	TRY(copy_file_range, file, 0, event, 0, 8, 0);
}

static void attributes(void)
{
	struct timespec times[2] = {{1, 0}, {1, 0}};
	struct statfs fs;

	TRY(fchmod, event, 0600);
	TRY(fchown, event, getuid(), getgid());
	TRY(fchown, event, -1, -1);
	TRY(fchownat, event, "", -1, -1, AT_EMPTY_PATH);
	TRY(fchownat, event, "", -1, -1, 0);
	TRY(fchownat, event, "x", -1, -1, 0);
	TRY(fchownat, event, "/dev/null", -1, -1, 0);
	TRY_NR(FCHMODAT2, "fchmodat2", event, "", 0600, AT_EMPTY_PATH);
	TRY(utimensat, event, 0, 0, 0);
	TRY(utimensat, event, 0, times, 0);
	TRY(utimensat, event, "", times, AT_EMPTY_PATH);
	TRY(futimesat, event, 0, 0);
	TRY(fgetxattr, event, "system.sockprotoname", buf, 64);
	TRY(fgetxattr, event, "user.x", buf, 64);
	TRY(flistxattr, event, buf, 64);
	TRY(flistxattr, event, 0, 0);
	TRY_NR(LISTXATTRAT, "listxattrat", event, "", AT_EMPTY_PATH, buf, 9);
	tell("fstatfs", fstatfs(event, &fs));
	printf(" type %lx\n", (long)fs.f_type);
}

static void others(void)
{
	sigset_t none;

	sigemptyset(&none);
	TRY(flock, event, 2);
	TRY(flock, event, 8);
	TRY(fsync, event);
	TRY(fdatasync, event);
	TRY(sync_file_range, event, 0, 8, 0);
	TRY(ftruncate, event, 0);
	TRY(fallocate, event, 0, 0, 8);
	TRY(fadvise64, event, 0, 0, 0);
	TRY(readahead, event, 0, 8);
	TRY(getdents64, event, buf, 64);
	TRY(fchdir, event);
	TRY(openat, event, "x", O_RDONLY);
	TRY(epoll_wait, event, buf, 1, 0);
	TRY(signalfd4, event, &none, 8, 0);
	TRY(timerfd_gettime, event, buf);
	TRY(inotify_rm_watch, event, 1);
	TRY(pidfd_send_signal, event, 0, 0, 0);
	TRY(setns, event, 0);
	TRY(fcntl, event, F_SETPIPE_SZ, 4096);
	TRY(fcntl, event, F_GET_SEALS);
	TRY(fcntl, event, F_SETLEASE, F_RDLCK);
}

/* Two messages with the event. */
static void by_recvmmsg(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control[2] = {0};
	struct mmsghdr m[2] = {0};
	int ends[2], came;
	long count;

	socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
	for (int i = 0; i < 2; i++) {
		control[i].header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(&control[i].header), &event, sizeof(event));
		m[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1, .msg_control = control + i,
					       .msg_controllen = sizeof(control[i])};
	}
	printf(" sent %d\n", sendmmsg(ends[0], m, 2, 0));
	memset(control, 0, sizeof(control));
	printf(" arrived %d\n", recvmmsg(ends[1], m, 2, MSG_DONTWAIT, NULL));
	for (int i = 0; i < 2; i++) {
		memcpy(&came, CMSG_DATA(&control[i].header), sizeof(came));
		tell("read", read(came, &count, sizeof(count)));
		close(came);
	}
	close(ends[0]);
	close(ends[1]);
}

/* It wakes whoever waits. */
static void waits(void)
{
	struct pollfd p = {event, POLLIN, 0};
	int n = poll(&p, 1, 5000);

	printf(" poll %d %x\n", n, p.revents);
}

static void still_works(void)
{
	struct told c = told_new();
	struct waker w = named_open(c.pid);

	event = w.fd;
	of_sockets();
	tell_later(&c, 'n');
	waits();
	told_answer(&c);
	waker_close(&w);
	told_end(&c);
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_alarm};
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_DUMMY);
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major < 6 || (major == 6 && minor < 18) || perf_try(a, 0, -1, -1, 0)) {
		printf("no perf_event_open as that of Linux 6.18\n");
		return 77;
	}
	sigaction(SIGALRM, &act, NULL);
	event = (int)perf_open(&a, 0, -1, -1, 0);
	null = open("/dev/null", O_RDWR);
	file = open("/etc/passwd", O_RDONLY);
	directory = open("/", O_RDONLY);
	if (event < 0 || pipe(in) || pipe(out) || write(in[1], "abcdefgh", 8) != 8)
		return 1;
	reading_and_writing();
	moving();
	attributes();
	of_sockets();
	others();
	by_recvmmsg();
	tell("read", read(event, buf, 8));
	still_works();
	return 0;
}
