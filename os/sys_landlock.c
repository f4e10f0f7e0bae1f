/*
 * A guest that restricts itself (Landlock) restricts pcl's calls in that task too. What pcl needs of files it does without: /proc and /sys may be missing
 * anyway. But each program is started by executing the runtime, whose file the guest's rules do not name. Landlock has no rules for memfds, so
 * before the first restriction the runtime becomes one, under the same number.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include <linux/memfd.h>
#include "os/process.h"
#include "os/syscall.h"
#include "rt/sys.h"

#ifndef MFD_EXEC /* Linux 6.3 */
#define MFD_EXEC 0x10u
#endif
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define COPY_MAX 0x7ffff000ul /* what sendfile copies at most */

static long make_memfd(void)
{
	long fd = sys2(__NR_memfd_create, "pclrt", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	return fd == -EINVAL ? sys2(__NR_memfd_create, "pclrt", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

/* Copies the file from its beginning, without moving a position that other processes share. */
static bool copy(long to, s32 from)
{
	u64 at = 0;
	long n;

	do
		n = sys4(__NR_sendfile, to, from, &at, COPY_MAX);
	while (n > 0);
	return !n && at;
}

/* If it cannot be done (vm.memfd_noexec is 2), the task goes on, and its execve may give EACCES. */
static void move_runtime_to_memory(void)
{
	static bool done; /* a child has it too */
	long fd;

	if (done)
		return;
	fd = make_memfd();
	if (sys_is_error(fd))
		return;
	/* Other members have it, too, and execute it. */
	if (copy(fd, the_process.runtime_fd + RUNTIME_FD) && !sys3(__NR_fcntl, fd, F_ADD_SEALS, SEALS)) {
		sys3(__NR_dup3, fd, the_process.runtime_fd + RUNTIME_FD, 0);
		done = true;
	}
	sys1(__NR_close, fd);
}

long sys_landlock_restrict_self(struct thread *t, const u64 *a)
{
	move_runtime_to_memory();
	return syscall_pass(t, a);
}
