/*
 * A guest that restricts itself (Landlock) restricts pcl's calls in that task too. What pcl needs of files it does
 * without: /proc and /sys may be missing anyway. But each program is started by executing the runtime, whose file the
 * guest's rules do not name. Landlock has no rules for memfds, so before the first restriction the runtime becomes one,
 * under the same number: the one that the launcher has made for it, since making one takes a number that others could
 * see.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include "os/session/process.h"
#include "os/syscall.h"
#include "rt/string.h"
#include "rt/sys.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define CHUNK 8192

/* Another member has it, too, and executes it. */
static bool is_sealed(s32 fd)
{
	long seals = sys2(__NR_fcntl, fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_WRITE);
}

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

/* Whoever writes there before it is sealed may be a member that means no good. */
static bool is_same(s32 fd, s32 other)
{
	char chunk[CHUNK], chunk2[CHUNK];
	u64 at = 0;
	long n;

	do {
		n = sys4(__NR_pread64, fd, chunk, sizeof(chunk), at);
		if (sys4(__NR_pread64, other, chunk2, sizeof(chunk2), at) != n || n < 0 ||
		    memcmp(chunk, chunk2, (size_t)n))
			return false;
		at += (u64)n;
	} while (n);
	return true;
}

/* If it cannot be done (vm.memfd_noexec is 2), the task goes on, and its execve may give EACCES. */
static void move_runtime_to_memory(void)
{
	static bool done; /* a child has it too */
	s32 first = the_process.runtime_fd;

	if (done || (!copy(first + SPARE_FD, first + RUNTIME_FD) && !is_sealed(first + SPARE_FD)))
		return;
	sys3(__NR_fcntl, first + SPARE_FD, F_ADD_SEALS, SEALS);
	if (!is_sealed(first + SPARE_FD) || !is_same(first + SPARE_FD, first + RUNTIME_FD))
		return;
	done = true;
	sys3(__NR_dup3, first + SPARE_FD, first + RUNTIME_FD, 0);
}

long sys_landlock_restrict_self(struct thread *t, const u64 *a)
{
	move_runtime_to_memory();
	return syscall_pass(t, a);
}
