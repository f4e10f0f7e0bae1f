/* See served.h. */
#include "os/session/served.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include "os/session/proc.h"
#include "os/session/process.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define LINK_HEAD "/memfd:"
#define LINK_TAIL " (deleted)"
#define HEAD_SIZE 24 /* of "pcl-KEY:", terminated */

static size_t make_head(char head[HEAD_SIZE])
{
	return (size_t)rt_snprintf(head, HEAD_SIZE, "pcl-%016lx:", the_process.config.served_key);
}

long served_create(const char *path, u32 cloexec)
{
	char name[SERVED_NAME];
	size_t n = make_head(name);

	if (n + strlen(path) >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name + n, path, strlen(path) + 1);
	return sys2(__NR_memfd_create, name, cloexec | MFD_ALLOW_SEALING);
}

long served_seal(int fd)
{
	return sys3(__NR_fcntl, fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

/* Or O_PATH. */
static bool is_sealed(int fd)
{
	long seals = sys3(__NR_fcntl, fd, F_GET_SEALS, 0);

	return seals == -EBADF || (seals >= 0 && (seals & F_SEAL_WRITE));
}

/* "/memfd:NAME (deleted)" becomes NAME; NULL: it is not of that form. */
static char *name_in_link(char *link, size_t n)
{
	const size_t head = sizeof(LINK_HEAD) - 1, tail = sizeof(LINK_TAIL) - 1;

	if (n < head + tail || memcmp(link, LINK_HEAD, head) || memcmp(link + n - tail, LINK_TAIL, tail))
		return NULL;
	link[n - tail] = 0;
	return link + head;
}

const char *served_path_in(char *link, size_t n)
{
	char head[HEAD_SIZE];
	size_t len = make_head(head);
	const char *name = name_in_link(link, n);

	return name && !strncmp(name, head, len) ? name + len : NULL;
}

bool served_path(int fd, char *path)
{
	char at[40], link[SERVED_LINK];
	const char *its;
	long len;

	if (!is_sealed(fd))
		return false;
	rt_snprintf(at, sizeof(at), "thread-self/fd/%d", fd);
	len = sys4(__NR_readlinkat, proc_dir(), at, link, sizeof(link));
	its = len > 0 ? served_path_in(link, (size_t)len) : NULL;
	if (its)
		rt_snprintf(path, SERVED_NAME, "%s", its);
	return its;
}

const char *served_guest_name(const char *name)
{
	char head[HEAD_SIZE];
	size_t n = make_head(head);

	while (!strncmp(name, head, n))
		name += n;
	return name;
}
