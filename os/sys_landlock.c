/*
 * A guest that restricts itself (Landlock) restricts pcl's calls in that task too. What pcl needs of files it does without: /proc and /sys may be missing
 * anyway. But each program is started by executing the runtime, whose file the guest's rules do not name. Landlock has no rules for memfds, so
 * before the first restriction the runtime becomes one, under the same number: the one that the launcher has made for it, since making one takes
 * a number that others could see.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include "os/process.h"
#include "os/syscall.h"
#include "rt/sys.h"

#define CHUNK 8192

/* Without moving positions, which other processes share. Two may copy at once: the same bytes to the same places. */
static bool copy(s32 to, s32 from)
{
	char chunk[CHUNK];
	u64 at = 0;
	long n;

	for (; (n = sys4(__NR_pread64, from, chunk, sizeof(chunk), at)) > 0; at += (u64)n)
		if (sys4(__NR_pwrite64, to, chunk, n, at) != n)
			return false;
	return !n && at;
}

/* If it cannot be done (vm.memfd_noexec is 2), the task goes on, and its execve may give EACCES. */
static void move_runtime_to_memory(void)
{
	static bool done; /* a child has it too */
	s32 first = the_process.runtime_fd;

	if (done || !copy(first + SPARE_FD, first + RUNTIME_FD))
		return;
	done = true;
	sys3(__NR_dup3, first + SPARE_FD, first + RUNTIME_FD, 0);
}

long sys_landlock_restrict_self(struct thread *t, const u64 *a)
{
	move_runtime_to_memory();
	return syscall_pass(t, a);
}
