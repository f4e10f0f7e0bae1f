/*
 * Reading directories: those that are served (vfile.h), /proc/PID/fd and fdinfo of members without pcl's own
 * descriptors, and the order of os/pin/directory.h.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include "os/files/vfile.h"
#include "os/pin/directory.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "os/syscall.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/string.h"
#include "rt/sys.h"

#define PROC_MAGIC 0x9fa0 /* PROC_SUPER_MAGIC */
#define RECLEN_AT  16	  /* offset in struct linux_dirent and linux_dirent64 */
#define NAME_OLD   18	  /* offset of the name: getdents */
#define NAME_64	   19	  /* getdents64 */
#define NUMBER_LEN 12
#define MOVE_CHUNK 512

/* Whether the entry at that address is the number of one of pcl's descriptors. */
static bool is_our_number(gva entry, u64 name_at, u16 reclen)
{
	char name[NUMBER_LEN] = {0};
	u64 fd;

	if (reclen <= name_at || guest_read(name, entry + name_at, MIN(sizeof(name) - 1, reclen - name_at)))
		return false;
	return name[0] >= '0' && name[0] <= '9' && !rt_parse_u64(name, &fd) && fd < 0x7fffffff &&
	       vfile_fd_hidden((int)fd);
}

/*
 * Whether that is a directory of descriptors, and their process a member: then its arena is this one, under the same
 * number. Others have such entries, too: processes in /proc, threads in task. Nothing depends on where the guest's
 * /proc is, or whether it can be reached: sandboxes read descriptors through one that they have left. Where the kernel
 * does not tell, nothing speaks against it.
 */
static bool __attribute__((noinline)) is_of_member(s32 fd)
{
	s32 number = the_process.runtime_fd + ARENA_FD;
	char at[40], path[ARENA_PATH];
	struct stat own, its;
	struct statfs fs;
	const char *last;
	long n;

	if (sys2(__NR_fstatfs, fd, &fs) || fs.f_type != PROC_MAGIC)
		return false;
	rt_snprintf(at, sizeof(at), "thread-self/fd/%d", fd);
	n = sys4(__NR_readlinkat, proc_dir(), at, path, sizeof(path) - 1);
	path[MAX(n, 0l)] = 0;
	last = strrchr(path, '/');
	if (last && strcmp(last, "/fd") && strcmp(last, "/fdinfo"))
		return false;
	rt_snprintf(at, sizeof(at), "../fd/%d", number);
	n = sys4(__NR_newfstatat, fd, at, &its, 0);
	if (n || sys2(__NR_fstat, number, &own))
		return n != -ENOENT;
	return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

static int move_down(gva to, gva from, u64 n)
{
	u8 chunk[MOVE_CHUNK];

	while (n) {
		u64 part = MIN(n, sizeof(chunk));

		if (guest_read(chunk, from, part) || guest_write(to, chunk, part))
			return -EFAULT;
		to += part;
		from += part;
		n -= part;
	}
	return 0;
}

/* Takes hidden entries out of `len` bytes of entries: what is left. */
static long filter(s32 fd, gva buf, u64 len, u64 name_at)
{
	u64 at = 0;
	u16 reclen;

	while (at < len) {
		if (guest_read(&reclen, buf + at + RECLEN_AT, sizeof(reclen)) || !reclen || at + reclen > len)
			break;
		if (unlikely(is_our_number(buf + at, name_at, reclen)) && is_of_member(fd)) {
			if (move_down(buf + at, buf + at + reclen, len - at - reclen))
				return -EFAULT;
			len -= reclen;
		} else {
			at += reclen;
		}
	}
	return (long)len;
}

static long read_dir(struct thread *t, const u64 *a, u64 name_at)
{
	for (;;) {
		long ret;

		if (!held_still(PIN_DIRECTORIES) || !pin_read_directory(a, name_at == NAME_OLD, &ret))
			ret = syscall_pass(t, a);
		if (ret <= 0)
			return ret;
		ret = filter((s32)a[0], a[1], (u64)ret, name_at);
		/* Nothing left is not the end. */
		if (ret)
			return ret;
	}
}

long sys_getdents(struct thread *t, const u64 *a)
{
	return read_dir(t, a, NAME_OLD);
}

long sys_getdents64(struct thread *t, const u64 *a)
{
	long ret = read_dir(t, a, NAME_64);

	return likely(ret != -ENOTDIR) ? ret : vfile_dir_read((s32)a[0], a[1], (u32)a[2]);
}
