/*
 * /proc/PID/mountinfo with --pin=+pids. The session's mount namespaces are new ones (cli/pids.h), and the kernel
 * numbers their mounts by what is free at that moment: a namespace somewhere else makes some numbers a digit longer.
 * Here they are numbered in the order of the lines, from 2 on; 1 is what the first one is mounted on, which nobody
 * sees.
 */
#include <asm/errno.h>
#include "os/files/vfile.h"
#include "os/session/scratch.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define MOUNTS	  16384 /* as parents; further mounts seem to be on the first one's */
#define TEXT_SIZE 0x400000
#define UNSEEN	  1

struct mounts {
	u32 nr;
	u32 id[MOUNTS]; /* the kernel's, line by line */
	char text[TEXT_SIZE];
};

/* Takes a number and the blank behind it. */
static u32 take_id(const char **p)
{
	u32 n = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++)
		n = n * 10 + (u32)(**p - '0');
	*p += **p == ' ';
	return n;
}

static void note_ids(struct mounts *m)
{
	for (const char *p = m->text; p && *p && m->nr < MOUNTS; p = strchr(p, '\n'), p += p != NULL)
		m->id[m->nr++] = take_id(&p);
}

static u32 number_of(const struct mounts *m, u32 id)
{
	for (u32 i = 0; i < m->nr; i++)
		if (m->id[i] == id)
			return UNSEEN + 1 + i;
	return UNSEEN;
}

static long write_lines(const struct mounts *m, int fd)
{
	u32 line = 0;
	char numbers[32];
	const char *p = m->text, *end;

	for (; (end = strchr(p, '\n')); p = end + 1, line++) {
		long n;

		take_id(&p);
		n = rt_snprintf(numbers, sizeof(numbers), "%u %u ", UNSEEN + 1 + line, number_of(m, take_id(&p)));
		if (sys3(__NR_write, fd, numbers, n) != n || sys3(__NR_write, fd, p, end + 1 - p) != end + 1 - p)
			return -EIO;
	}
	return 0;
}

long vfile_write_mounts(const struct vfile *v, int fd)
{
	struct mounts *m = scratch_alloc(sizeof(*m));
	long ret;

	if (!m)
		return -ENOMEM;
	ret = vfile_read_host(v, m->text, sizeof(m->text));
	if (ret >= (long)sizeof(m->text) - 1) /* cut off */
		ret = -ENOMEM;
	if (ret >= 0) {
		note_ids(m);
		ret = write_lines(m, fd);
	}
	scratch_free(m, sizeof(*m));
	return ret;
}
