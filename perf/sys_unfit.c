/*
 * Calls that an event's descriptor is unfit for, and that the socket that stands for it would take: it would wait for a
 * datagram, or be shut down.
 *
 * What the kernel sees before it looks at the descriptor comes first. So it is asked with a number that is never open:
 * if it says EBADF, it is Linux's answer for an event.
 */
#include "perf/unfit.h"

#include <asm-generic/errno.h>
#include <linux/bpf.h>
#include <linux/fcntl.h>
#include "os/files/vfile.h"
#include "os/syscall.h"
#include "perf/perf.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define ADDRESS_MAX 128 /* sizeof(struct sockaddr_storage) */
#define RWF_HIPRI_ 1 /* asm and linux headers have it only beside those of the C library */

/* The call as it is, but for that argument. */
static long ask_without(struct thread *t, const u64 *a, unsigned int arg)
{
	u64 args[6] = {a[0], a[1], a[2], a[3], a[4], a[5]};

	args[arg] = VFILE_NEVER_OPEN;
	return thread_syscall(t, (long)t->nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

long unfit(struct thread *t, const u64 *a, int error)
{
	long ret = ask_without(t, a, 0);

	if (ret != -EBADF)
		return ret;
	return error ? refuse(error, "not for an event") : 0;
}

long sys_of_sockets(struct thread *t, const u64 *a)
{
	return likely(!perf_is_event(t, a[0])) ? syscall_pass(t, a) : unfit(t, a, ENOTSOCK);
}

/* The flags are looked at before it is known that it is no socket. */
long sys_accept4(struct thread *t, const u64 *a)
{
	const u32 flags = O_CLOEXEC | O_NONBLOCK; /* SOCK_CLOEXEC, SOCK_NONBLOCK */

	return likely(!perf_is_event(t, a[0])) || ((u32)a[3] & ~flags) ? syscall_pass(t, a) : unfit(t, a, ENOTSOCK);
}

/* So is the address. */
long sys_connect(struct thread *t, const u64 *a)
{
	char address[ADDRESS_MAX];

	if (likely(!perf_is_event(t, a[0])) || (u32)a[2] > sizeof(address) || guest_read(address, a[1], (u32)a[2]))
		return syscall_pass(t, a);
	return unfit(t, a, ENOTSOCK);
}

/* ---- reading and writing ---- */

/* At the file's position; an event has no other, which the kernel says. */
static bool is_at_position(const u64 *a)
{
	return (s64)a[3] == -1;
}

long sys_pwritev2(struct thread *t, const u64 *a)
{
	return likely(!perf_is_event(t, a[0]) || !is_at_position(a)) ? vfile_write_at(t, a) : unfit(t, a, EINVAL);
}

long sys_preadv2(struct thread *t, const u64 *a)
{
	if (likely(!perf_is_event(t, a[0]) || !is_at_position(a)))
		return syscall_pass(t, a);
	if (a[2] && (a[5] & ~(u64)RWF_HIPRI_))
		return refuse(EOPNOTSUPP, "a flag of preadv2 on an event");
	return sys_readv(t, a);
}

/* Open for reading (O_RDONLY) or writing (O_WRONLY). */
static bool is_open_for(u64 fd, u32 way)
{
	long flags = sys2(__NR_fcntl, (s32)fd, F_GETFL);

	if (sys_is_error(flags) || (flags & O_PATH))
		return false;
	return (flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == way;
}

/* From `in` to `out`, which are arguments; one of them is an event. */
static long unfit_to_move(struct thread *t, const u64 *a, unsigned int in, unsigned int out)
{
	long ret = ask_without(t, a, in);

	if (ret != -EBADF || !is_open_for(a[in], O_RDONLY) || !is_open_for(a[out], O_WRONLY))
		return ret;
	return refuse(EINVAL, "an event is neither moved to nor from");
}

/* What has an offset is refused by the kernel, for sockets as for events. */
long sys_splice(struct thread *t, const u64 *a)
{
	if (likely(!perf_is_event(t, a[0]) && !perf_is_event(t, a[2])) || a[1] || a[3])
		return syscall_pass(t, a);
	return unfit_to_move(t, a, 0, 2);
}

long sys_sendfile(struct thread *t, const u64 *a)
{
	bool from = perf_is_event(t, a[1]);

	if (likely(!from && !perf_is_event(t, a[0])))
		return syscall_pass(t, a);
	return (from && a[2]) || (!from && !a[3]) ? syscall_pass(t, a) : unfit_to_move(t, a, 1, 0);
}

/* ---- attributes: events share an inode, which nobody can change ---- */

long sys_change_inode(struct thread *t, const u64 *a)
{
	return likely(!perf_is_event(t, a[0])) ? syscall_pass(t, a) : unfit(t, a, EOPNOTSUPP);
}

/* The call is about the descriptor itself: its path is empty, or none. */
static bool names_event(struct thread *t, const u64 *a)
{
	char first = 0;

	return perf_is_event(t, a[0]) && (!a[1] || (!guest_read(&first, a[1], 1) && !first));
}

long sys_change_inode_at(struct thread *t, const u64 *a)
{
	return likely(!names_event(t, a)) ? sys_follow_exe(t, a) : unfit(t, a, EOPNOTSUPP);
}

/* To the present time: whoever may write it may, and it is root's. */
long sys_change_times_at(struct thread *t, const u64 *a)
{
	if (likely(!names_event(t, a)))
		return sys_follow_exe(t, a);
	return unfit(t, a, !a[2] && sys0(__NR_geteuid) ? EACCES : EOPNOTSUPP);
}

/* Sockets have one that says their protocol. */
long sys_fgetxattr(struct thread *t, const u64 *a)
{
	static const char system[] = "system.";
	char name[sizeof(system) - 1];

	if (likely(!perf_is_event(t, a[0])) || guest_read(name, a[1], sizeof(name)) ||
	    memcmp(name, system, sizeof(name)))
		return syscall_pass(t, a);
	return unfit(t, a, EOPNOTSUPP);
}

long sys_flistxattr(struct thread *t, const u64 *a)
{
	return likely(!perf_is_event(t, a[0])) ? syscall_pass(t, a) : unfit(t, a, 0);
}

long sys_listxattrat(struct thread *t, const u64 *a)
{
	return likely(!names_event(t, a)) ? sys_follow_exe(t, a) : unfit(t, a, 0);
}

/* An event in a map, which BPF programs write records to: to the kernel its descriptor is none of an event. */
long sys_bpf(struct thread *t, const u64 *a)
{
	union bpf_attr attr;
	long ret = syscall_pass(t, a);
	u32 fd;

	if (likely(ret != -EBADF) || a[0] != BPF_MAP_UPDATE_ELEM ||
	    guest_read(&attr, a[1], offsetof(union bpf_attr, flags)) || guest_read(&fd, attr.value, sizeof(fd)))
		return ret;
	if (!perf_is_event(t, fd))
		return ret;
	return refuse(EBADF, "BPF programs cannot write to pcl's events");
}
