/* See genuine.h. */
#include "os/session/genuine.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "os/session/process.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

u64 genuine[EVENT_FDS / 64];

/* perf/notify.c gives no other names. */
static bool is_our_name(const struct sockaddr *a, const char *name, u32 len)
{
	char ours[32];
	u32 n = (u32)rt_snprintf(ours, sizeof(ours), "pcl-%lx-", the_process.config.session_id);

	if (len == sizeof(a->sa_family))
		return true; /* it has none yet */
	return len > sizeof(a->sa_family) + 1 + n && !name[0] && !memcmp(name + 1, ours, n);
}

/*
 * A datagram socket that is not connected, and has no name or one of ours: so nothing but pcl could send it anything.
 */
static bool is_socket(u32 fd)
{
	struct {
		struct sockaddr a;
		char more[128];
	} at = {0};
	u32 len = sizeof(at), type = 0, type_len = sizeof(type);
	long ret = sys3(__NR_getsockname, fd, &at, &len);

	if (ret == -EPERM || ret == -ENOSYS)
		return true; /* a filter forbids to ask */
	if (ret || at.a.sa_family != AF_UNIX || !is_our_name(&at.a, at.a.sa_data, MIN(len, (u32)sizeof(at))))
		return false;
	if (!sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &type_len) && type != SOCK_DGRAM)
		return false;
	len = sizeof(at);
	return sys3(__NR_getpeername, fd, &at, &len) != 0;
}

/* Where there are no sockets it is a pipe that nobody has the other end of. */
static bool is_pipe(u32 fd)
{
	struct pollfd p = {.fd = (s32)fd, .events = POLLIN};

	return sys3(__NR_poll, &p, 1, 0) == 1 && p.revents == POLLHUP;
}

bool genuine_ask(u32 fd)
{
	struct stat st;

	if (fd >= EVENT_FDS || sys2(__NR_fstat, fd, &st))
		return false;
	if (S_ISSOCK(st.st_mode) ? !is_socket(fd) : !S_ISFIFO(st.st_mode) || !is_pipe(fd))
		return false;
	genuine_note(fd);
	return true;
}

void genuine_forget_range(u64 first, u64 last)
{
	last = MIN(last, (u64)EVENT_FDS - 1);
	for (u64 fd = first; fd <= last; fd++) {
		if (!(fd % 64) && !__atomic_load_n(&genuine[fd / 64], __ATOMIC_RELAXED))
			fd |= 63;
		else
			genuine_forget(fd);
	}
}
