/*
 * The system calls of events: perf_event_open and what others do with its descriptors.
 *
 * The guest gets a socket (perf/notify.h), or where there are none the reading end of a pipe: a descriptor of the
 * host's with an inode of its own, which the host duplicates, inherits and closes like any other. Reads, writes and
 * ioctls never reach it.
 */
#include <asm/ioctls.h>
#include <asm/stat.h>
#include <asm-generic/errno.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/stat.h>
#include <linux/uio.h>
#include "event/control.h"
#include "event/event.h"
#include "event/open.h"
#include "event/read.h"
#include "event/regs.h"
#include "os/files/vfile.h"
#include "os/session/apart.h"
#include "os/session/arena.h"
#include "os/session/process.h"
#include "os/session/refusals.h"
#include "os/session/regions.h"
#include "os/session/scratch.h"
#include "os/session/session.h"
#include "os/syscall.h"
#include "perf/abi_2009.h"
#include "perf/notify.h"
#include "perf/perf.h"
#include "perf/unfit.h"
#include "perf/sideband.h"
#include "rt/guest.h"
#include "rt/stats.h"
#include "rt/sys.h"

_Static_assert(EVENT_TASKS == ARENA_TASKS, "event contexts and task slots have the same numbers");

#define READ_SMALL 320	 /* bytes read on the stack, which sections keep: of a group of 18 with IDs */
#define READ_LARGE 16384 /* no event gives more */
#define IOV_LIMIT 1024	 /* UIO_MAXIOV */

bool host_fd_open(s32 fd)
{
	return !sys_is_error(sys2(__NR_fcntl, fd, F_GETFD));
}

u64 notify_inode(u64 fd)
{
	struct stat st;

	if (sys_is_error(sys2(__NR_fstat, fd, &st)) || (!S_ISSOCK(st.st_mode) && !S_ISFIFO(st.st_mode)))
		return 0;
	return st.st_ino | (u64)st.st_dev << 48;
}

/* In a helper thread the other end stays for as long as that lives: without one, opening the pipe would wait. */
static long make_pipe(void *arg)
{
	s32 end[2];
	long ret = sys2(__NR_pipe2, end, *(s32 *)arg);

	if (sys_is_error(ret))
		return ret;
	if (!thread_current()->is_apart)
		sys1(__NR_close, end[1]);
	return end[0];
}

/*
 * A descriptor for an event, or -errno. In one step, with the lowest free number: others may open and close at the same
 * time.
 */
static long make_descriptor(bool cloexec)
{
	s32 flags = cloexec ? O_CLOEXEC : 0;
	long ret = notify_descriptor(cloexec);

	if (!sys_is_error(ret))
		return ret;
	if (ret != -EMFILE && ret != -ENFILE) {
		ret = apart_open(make_pipe, &flags, O_RDONLY | flags);
		if (ret == -ENOSYS)
			ret = make_pipe(&flags);
	}
	return sys_is_error(ret) ? refuse((int)-ret, "no descriptor for the event") : ret;
}

long sys_perf_event_open(struct thread *t, const u64 *a)
{
	bool of_2009 = abi_2009_is(a[0]);
	struct event_request rq;
	long fd, ret;

	ret = of_2009 ? abi_2009_open_begin(a, &rq)
		      : event_open_begin(a[0], (s32)a[1], (s32)a[2], (s32)a[3], a[4], &rq);
	if (ret)
		return ret;
	perf_find_probed(t, &rq.attr);
	fd = make_descriptor(a[4] & PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fd;
	ret = event_open_commit(&rq, (u64)fd, notify_inode((u64)fd));
	if (ret == -ENOMEM) {
		session_reap();
		ret = event_open_commit(&rq, (u64)fd, notify_inode((u64)fd));
	}
	if (!ret) {
		stat_inc(events_opened);
		genuine_note((u64)fd);
		if (rq.attr.exclude_kernel)
			refusals_asked_again(t);
		return fd;
	}
	sys1(__NR_close, fd);
	return of_2009 ? abi_2009_open_error(ret) : ret;
}

static long read_into(struct thread *t, u64 fd, gva to, u64 size, u64 *buf, u64 room)
{
	long n = event_read(t->cpu->slot, fd, buf, MIN(size, room));

	if (n > 0 && guest_write(to, buf, (size_t)n))
		return refuse(EFAULT, "the buffer cannot be written");
	return n;
}

static long read_event(struct thread *t, u64 fd, gva to, u64 size)
{
	u64 small[READ_SMALL / sizeof(u64)], *large;
	long n = read_into(t, fd, to, size, small, sizeof(small));

	if (n != -ENOSPC || size <= sizeof(small))
		return n;
	large = scratch_alloc(READ_LARGE);
	if (!large)
		return refuse(ENOMEM, "no memory for a large group");
	n = read_into(t, fd, to, size, large, READ_LARGE);
	scratch_free(large, READ_LARGE);
	return n;
}

/* The kernel's access_ok() of a buffer. */
static bool is_in_user_space(gva start, u64 size)
{
	return size <= SNAPSHOT_USER_END && start <= SNAPSHOT_USER_END - size;
}

long sys_read(struct thread *t, const u64 *a)
{
	if (likely(!perf_is_event(t, a[0])))
		return syscall_pass(t, a);
	if (!is_in_user_space(a[1], a[2]))
		return refuse(EFAULT, "a buffer that is not in user memory");
	return read_event(t, (u32)a[0], a[1], a[2]);
}

/* As the kernel's import_iovec(): all buffers are looked at before one is used. */
static long check_buffers(gva buffers, u64 n)
{
	struct iovec iov;

	for (u64 i = 0; i < n; i++) {
		if (guest_read(&iov, buffers + i * sizeof(iov), sizeof(iov)))
			return refuse(EFAULT, "the buffers' addresses cannot be read");
		if ((s64)iov.iov_len < 0)
			return refuse(EINVAL, "a buffer's length is negative");
		if (!is_in_user_space((gva)iov.iov_base, iov.iov_len))
			return refuse(EFAULT, "a buffer that is not in user memory");
	}
	return 0;
}

/* As the kernel's do_loop_readv_writev(): one read for each buffer until one is not filled. */
long sys_readv(struct thread *t, const u64 *a)
{
	struct iovec iov;
	long n, sum = 0;

	if (likely(!perf_is_event(t, a[0])))
		return syscall_pass(t, a);
	if (a[2] > IOV_LIMIT)
		return refuse(EINVAL, "more buffers than UIO_MAXIOV");
	n = check_buffers(a[1], a[2]);
	if (n)
		return n;
	for (u64 i = 0; i < a[2]; i++) {
		if (guest_read(&iov, a[1] + i * sizeof(iov), sizeof(iov)))
			return sum ? sum : refuse(EFAULT, "the buffers' addresses cannot be read");
		n = read_event(t, (u32)a[0], (gva)iov.iov_base, iov.iov_len);
		if (n < 0)
			return sum ? sum : n;
		sum += n;
		if ((u64)n != iov.iov_len)
			break;
	}
	return sum;
}

static long write_file(struct thread *t, const u64 *a, const struct vfile_data *d)
{
	long ret;

	if (perf_is_event(t, a[0]))
		return refuse(EINVAL, "events cannot be written");
	ret = syscall_pass(t, a);
	if (ret > 0)
		perf_written(t, (s32)a[0], (u64)ret);
	if (ret > 0)
		perf_cgroup_written(t, (s32)a[0]);
	return likely(ret != -EPERM) ? ret : vfile_write(t, (s32)a[0], d);
}

long sys_write(struct thread *t, const u64 *a)
{
	return write_file(t, a, &(struct vfile_data){.n = 1, .one = a[1], .size = a[2], .pos = VFILE_HERE});
}

long sys_writev(struct thread *t, const u64 *a)
{
	if (perf_is_event(t, a[0]))
		return unfit(t, a, EINVAL);
	return write_file(t, a, &(struct vfile_data){.buffers = a[1], .n = a[2], .pos = VFILE_HERE});
}

/* Those that the kernel does for every file. */
static long ioctl_file(struct thread *t, const u64 *a)
{
	long ret = syscall_pass(t, a);
	s32 on;

	if (!ret && (u32)a[1] == FIOASYNC && !guest_read(&on, a[2], sizeof(on)))
		perf_set_async(t, (s32)a[0], on);
	return ret;
}

long sys_ioctl(struct thread *t, const u64 *a)
{
	if (likely(!perf_is_event(t, a[0])))
		return syscall_pass(t, a);
	if ((u32)a[1] == FIOCLEX || (u32)a[1] == FIONCLEX || (u32)a[1] == FIONBIO || (u32)a[1] == FIOASYNC)
		return ioctl_file(t, a);
	if (abi_2009_is_event(t, (u32)a[0]))
		return abi_2009_ioctl(t, a);
	return event_ioctl(t->cpu->slot, (u32)a[0], (u32)a[1], a[2]);
}

/* Without --regions a request is of no effect. */
static long region_prctl(struct thread *t, u64 request)
{
	bool wanted = the_process.config.regions;

	if (request == REGIONS_LEAVERS)
		return __atomic_load_n(&arena()->leavers, __ATOMIC_RELAXED);
	if (request > REGIONS_END)
		return refuse(EINVAL, "no request of pcl/session.h");
	if (request == REGIONS_STATE)
		return REGIONS_SESSION | (wanted ? REGIONS_WANTED : 0);
	if (wanted)
		event_switch_region(t->cpu->slot, request == REGIONS_BEGIN);
	return 0;
}

long sys_prctl(struct thread *t, const u64 *a)
{
	switch ((s32)a[0]) {
	case REGIONS_PRCTL:
		return region_prctl(t, a[1]);
	case PR_TASK_PERF_EVENTS_ENABLE:
	case PR_TASK_PERF_EVENTS_DISABLE:
		event_switch_owned(t->cpu->slot, (s32)a[0] == PR_TASK_PERF_EVENTS_ENABLE);
		abi_2009_switch_attached(t, (s32)a[0] == PR_TASK_PERF_EVENTS_ENABLE);
		return 0;
	default:
		return process_prctl(t, a);
	}
}

int perf_after_exec(struct thread *t)
{
	return event_files_exec(t->cpu->slot, notify_inode);
}
