/*
 * An event descriptor sent to another process by SCM_RIGHTS is the same event there, also if the sender has closed it
 * before it was received.
 */
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

static void receive_two(int from, int flags, int *fds)
{
	union room room = {0};
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};

	expect(recvmsg(from, &m, flags), 1);
	memcpy(fds, CMSG_DATA(&room.header), 2 * sizeof(int));
}

/* An ordinary descriptor and the event: reads it and stops it. */
static int receiver(int from)
{
	int fds[2];
	unsigned long id = 0;

	receive_two(from, 0, fds);
	expect(perf_ioctl(fds[0], PERF_EVENT_IOC_ID, (unsigned long)&id), -ENOTTY);
	expect(perf_ioctl(fds[1], PERF_EVENT_IOC_ID, (unsigned long)&id), 0);
	expect(id > 0, 1);
	expect(perf_value(fds[1]) > 0, 1);
	expect(perf_ioctl(fds[1], PERF_EVENT_IOC_DISABLE, 0), 0);
	close(fds[1]);
	return failures != 0;
}

/* Four copies are on their way when the last descriptor is closed; some are only looked at first. */
static void test_on_its_way(void)
{
	struct perf_attr a = perf_attr_sw(PERF_COUNT_SW_TASK_CLOCK);
	int ends[2], fds[2];
	long fd = perf_open(&a, 0, -1, -1, 0), v;

	if (fd < 0)
		return;
	expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	send_two(ends[0], (int)fd, (int)fd);
	send_two(ends[0], (int)fd, (int)fd);
	close((int)fd);
	receive_two(ends[1], MSG_PEEK, fds);
	v = perf_value(fds[0]);
	expect(v > 0, 1);
	close(fds[0]);
	close(fds[1]);
	spin();
	receive_two(ends[1], 0, fds);
	expect(perf_value(fds[1]) > v, 1);
	close(fds[0]);
	close(fds[1]);
	spin();
	receive_two(ends[1], 0, fds);
	close(fds[0]);
	v = perf_value(fds[1]);
	spin();
	expect(perf_value(fds[1]) > v, 1);
	close(fds[1]);
	close(ends[0]);
	close(ends[1]);
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
	test_on_its_way();
	return perf_result();
}
