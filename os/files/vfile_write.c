/*
 * Writing to served files, whose memfds are sealed against it: see vfile.h. What Linux does with several buffers and
 * with a position is up to the file:
 *
 *   /proc/sys, /sys/devices    the buffers are one text; where the position is not 0, nothing of it is looked at in
 *                              /proc/sys (sysctl_writes_strict); the position goes on
 *   tracefs                    each buffer is a write of its own, until one is not taken whole; the position means
 *                              nothing, and uprobe_events takes none
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include "os/files/vfile.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "pmu/tracefs.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

/* A page at most: who writes more comes again. */
static long write_tracefs(struct thread *t, const char *path, gva buf, u64 size)
{
	char text[PAGE_SIZE];
	u64 n = MIN(size, sizeof(text));

	if (guest_read(text, buf, n))
		return -EFAULT;
	if (!tracefs_is_uprobe_events(path))
		return tracefs_write(path, text, n);
	while (n < size && n && text[n - 1] != '\n')
		n--;
	return n || !size ? perf_define_probes(t, text, n) : refuse(EINVAL, "the line is longer than a page");
}

static int read_buffer(const struct vfile_data *d, u64 i, struct iovec *out)
{
	if (d->buffers)
		return guest_read(out, d->buffers + i * sizeof(*out), sizeof(*out));
	*out = (struct iovec){(void *)d->one, d->size};
	return 0;
}

static long write_each(struct thread *t, const char *path, const struct vfile_data *d)
{
	struct iovec part;
	long n, sum = 0;

	for (u64 i = 0; i < d->n; i++) {
		if (read_buffer(d, i, &part))
			return sum ? sum : -EFAULT;
		n = write_tracefs(t, path, (gva)part.iov_base, part.iov_len);
		if (n < 0)
			return sum ? sum : n;
		sum += n;
		if ((u64)n != part.iov_len)
			break;
	}
	return sum;
}

static long write_setting(int fd, const char *path, const struct vfile_data *d)
{
	s64 pos = d->pos == VFILE_HERE ? sys3(__NR_lseek, fd, 0, SEEK_CUR) : d->pos;
	char text[PMU_SYSFS_TEXT];
	struct iovec part;
	u64 n = 0, more;
	long ret;

	for (u64 i = 0; i < d->n; i++, n += more) {
		if (read_buffer(d, i, &part))
			return -EFAULT;
		more = MIN(part.iov_len, sizeof(text) - n);
		if (guest_read(text + n, (gva)part.iov_base, more))
			return -EFAULT;
	}
	ret = pos > 0 && !strncmp(path, "/proc/sys/", 10) ? (long)n : pmu_sysfs_write(path, text, n);
	if (ret > 0 && d->pos == VFILE_HERE)
		sys3(__NR_lseek, fd, ret, SEEK_CUR);
	return ret;
}

long vfile_write(struct thread *t, int fd, const struct vfile_data *d)
{
	char path[SERVED_NAME];

	if (!served_path(fd, path))
		return -EPERM;
	if (tracefs_is_uprobe_events(path) && d->pos != VFILE_HERE)
		return -ESPIPE;
	if (tracefs_find(path) == PMU_NODE_FILE)
		return write_each(t, path, d);
	return pmu_sysfs_find(path, NULL) == PMU_NODE_FILE ? write_setting(fd, path, d) : -EPERM;
}

long sys_pwrite64(struct thread *t, const u64 *a)
{
	const struct vfile_data d = {.n = 1, .one = a[1], .size = a[2], .pos = (s64)a[3]};
	long ret = syscall_pass(t, a);

	return likely(ret != -EPERM) ? ret : vfile_write(t, (s32)a[0], &d);
}

long vfile_write_at(struct thread *t, const u64 *a)
{
	const struct vfile_data d = {.buffers = a[1], .n = a[2], .pos = (s64)a[3]};
	long ret = syscall_pass(t, a);

	return likely(ret != -EPERM) ? ret : vfile_write(t, (s32)a[0], &d);
}

long sys_pwritev(struct thread *t, const u64 *a)
{
	return vfile_write_at(t, a);
}
