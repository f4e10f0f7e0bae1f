/* An event descriptor sent to another process by SCM_RIGHTS is the same event there. */
#include <sys/socket.h>
#include "tests/abi/errno/perf.h"

static void spin(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

union room {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static void send_two(int to, int a, int b)
{
	union room room = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
	int fds[2] = {a, b};

	room.header.cmsg_level = SOL_SOCKET;
	room.header.cmsg_type = SCM_RIGHTS;
	room.header.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&room.header), fds, sizeof(fds));
	expect(sendmsg(to, &m, 0), 1);
}

static void receive_two(int from, int *fds)
{
	union room room = {0};
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};

	expect(recvmsg(from, &m, 0), 1);
	memcpy(fds, CMSG_DATA(&room.header), 2 * sizeof(int));
}

/* An ordinary descriptor and the event: reads it and stops it. */
static int receiver(int from)
{
	int fds[2];
	unsigned long id = 0;

	receive_two(from, fds);
	expect(perf_ioctl(fds[0], PERF_EVENT_IOC_ID, (unsigned long)&id), -ENOTTY);
	expect(perf_ioctl(fds[1], PERF_EVENT_IOC_ID, (unsigned long)&id), 0);
	expect(id > 0, 1);
	expect(perf_value(fds[1]) > 0, 1);
	expect(perf_ioctl(fds[1], PERF_EVENT_IOC_DISABLE, 0), 0);
	close(fds[1]);
	return failures != 0;
}

int main(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int ends[2], status, ordinary = open("/dev/null", O_RDONLY);
	long fd, v;
	pid_t pid;

	expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	pid = fork();
	if (!pid)
		_exit(receiver(ends[1]));
	fd = perf_open(&a, 0, -1, -1, 0);
	spin();
	send_two(ends[0], ordinary, (int)fd);
	waitpid(pid, &status, 0);
	if (fd >= 0)
		expect(status, 0);
	v = perf_value(fd);
	expect(v > 0, 1);
	spin();
	expect(perf_value(fd), v);
	return perf_result();
}
