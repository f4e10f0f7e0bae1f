/*
 * execve and execveat; see exec.h. What is executed is found by os/task/program.c.
 *
 * The new image finds the program open, under a number of the table. Where others share the table they would see that,
 * and the programs that are opened on the way. So there all is tried first in a helper thread (os/session/apart.h), the
 * kernel's own checks of the arguments included. If nothing is wrong with it, the thread leaves the shared table, as
 * the kernel would have it do a moment later, and goes on alone.
 *
 * Where the table has no number free, the program is looked at in such a thread, too, and the new image gets its path.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sched.h>
#include <sys/mman.h>
#include "event/files.h"
#include "os/files/vfile.h"
#include "os/mm/warm.h"
#include "os/pin/pin.h"
#include "os/session/apart.h"
#include "os/session/handover.h"
#include "os/session/own_faults.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "os/task/exec.h"
#include "os/task/program.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

/*
 * Where a thread has arrays of pointers for which its area has no room: addresses of its own. A vfork child that
 * succeeds leaves them behind in its parent's memory; the next ones by that thread area are mapped over them.
 */
#define ARRAYS	    (LAYOUT_MM + 0x10000000000ul)
#define ARRAYS_SIZE 0x4000000ul
#define ARRAYS_ENVP (ARRAYS_SIZE / 2)	    /* of that for the environment */
#define ARGS_MAX    (ARRAYS_ENVP / 8 - 16) /* more than the kernel takes bytes */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif
#ifndef MFD_EXEC /* Linux 6.3 */
#define MFD_EXEC 0x10u
#endif

/*
 * One exec on its way. It lies in the thread's area, which is there before the program can lower its limits on memory:
 * to less than it has, or than is left of them.
 */
struct exec {
	struct program program;
	char handover[HANDOVER_MAX];
	u64 *arrays;  /* ARRAYS of this thread, */
	bool mapped;  /* and something may be there */
	u32 pointers; /* taken of those that follow */
	u64 pointer[];
};

#define POINTERS ((THREAD_EXEC_SIZE - sizeof(struct exec)) / sizeof(u64))
_Static_assert(sizeof(struct exec) < THREAD_EXEC_SIZE / 2, "half of it is for pointers");

static struct exec *exec_begin(const struct thread *t)
{
	struct exec *x = (struct exec *)(thread_area(t) + THREAD_EXEC);

	x->arrays = (u64 *)(ARRAYS + (thread_area(t) - LAYOUT_THREADS) / THREAD_AREA * ARRAYS_SIZE);
	x->mapped = false;
	x->program.prefixes = 0;
	return x;
}

/* Also after a vfork child's success: the memory stays, and the next exec begins anew. */
static void exec_end(struct exec *x)
{
	if (x->mapped)
		sys2(__NR_munmap, x->arrays, ARRAYS_SIZE);
	sys3(__NR_madvise, x, THREAD_EXEC_SIZE, MADV_DONTNEED);
}

/* An array of so many. `offset` is where one that is too large begins in ARRAYS. NULL: memory is short. */
static u64 *new_array(struct exec *x, u64 n, u64 offset)
{
	long ret;

	if (n <= POINTERS - x->pointers) {
		x->pointers += (u32)n;
		return &x->pointer[x->pointers - n];
	}
	x->mapped = true;
	ret = sys6(__NR_mmap, (u64)x->arrays + offset, n * sizeof(u64), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return sys_is_error(ret) ? NULL : (u64 *)ret;
}

/* argv with the scripts' prefix instead of its first string: an array of pointers in our memory. */
static long build_argv(struct exec *x, gva *argv)
{
	u32 prefixes = x->program.prefixes;
	u64 n = 0, value = 1, more;
	u64 *array;

	while (*argv && value) {
		if (guest_read(&value, *argv + 8 * n, 8))
			return -EFAULT;
		n += value != 0;
		if (n > ARGS_MAX)
			return -E2BIG;
	}
	more = n ? n - 1 : 0;
	array = new_array(x, prefixes + more + 1, 0);
	if (!array)
		return -ENOMEM;
	for (u32 i = 0; i < prefixes; i++)
		array[i] = (u64)x->program.prefix[i];
	if (more && guest_read(&array[prefixes], *argv + 8, 8 * more))
		return -EFAULT;
	array[prefixes + more] = 0;
	*argv = (u64)array;
	return 0;
}

/* envp, of so many strings at most, with what is handed over behind it. */
static long build_envp(struct exec *x, gva *envp, u64 max)
{
	u64 n = 0, value = 1;
	u64 *array;

	while (*envp && n < max) {
		if (guest_read(&value, *envp + 8 * n, 8))
			return -EFAULT;
		if (!value)
			break;
		if (++n > ARGS_MAX)
			return -E2BIG;
	}
	array = new_array(x, n + 2, ARRAYS_ENVP);
	if (!array)
		return -ENOMEM;
	if (n && guest_read(array, *envp, 8 * n))
		return -EFAULT;
	array[n] = (u64)x->handover;
	array[n + 1] = 0;
	*envp = (u64)array;
	return 0;
}

static void copy_path(char *dst, const char *src)
{
	memcpy(dst, src, strnlen(src, ARENA_PATH - 1) + 1);
	dst[ARENA_PATH - 1] = 0;
}

/* Hands the program over to a new image of the runtime. Only returns if the kernel refuses. */
static long commit(struct thread *t, struct exec *x, u64 argv, u64 envp)
{
	const struct program *p = &x->program;
	struct handover h = {
		.slot = t->cpu->slot, .fd = p->fd < 0 ? HANDOVER_BY_PATH : (u32)p->fd + 1,
		.interp = (u32)p->interp_fd + 1, .nr = (u32)t->nr, .config = the_process.config,
	};
	long ret;

	own_faults_begin(t);
	pin_hand_over(t, &h.config);
	if (process_is_alone(t) && warm_wants_save())
		warm_save();
	sys3(__NR_fcntl, p->fd, F_SETFD, 0);
	sys3(__NR_fcntl, p->interp_fd, F_SETFD, 0);
	group_quiesce(t);
	signal_exec_state(t, &h);
	h.config.runtime_fd = the_process.runtime_fd;
	h.nkept = processor_hand_over(h.kept);
	handover_make(x->handover, &h, p->fd < 0 ? p->open_path : "", p->name);
	session_exec_begin(t->task);
	/* The point of no return is inside. */
	ret = thread_syscall(t, __NR_execveat, the_process.runtime_fd, (u64) "", argv, envp, AT_EMPTY_PATH, 0);
	dbt_warm_goes_on();
	session_exec_failed(t->task);
	signal_exec_failed(t);
	group_resume(t);
	own_faults_end(t);
	return ret;
}

/* Up to the arguments. */
static long find_program(struct exec *x, gva *argv)
{
	long ret = program_find(&x->program);

	x->pointers = 0;
	return !ret && x->program.prefixes ? build_argv(x, argv) : ret;
}

static long exec_found(struct thread *t, struct exec *x, gva argv, gva envp, u64 envc)
{
	long ret = build_envp(x, &envp, envc);

	return ret ? ret : commit(t, x, argv, envp);
}

/* The program is open; closes it on failure. */
static long exec_opened(struct thread *t, struct exec *x, gva argv, gva envp, u64 envc)
{
	long ret = find_program(x, &argv);

	if (!ret)
		ret = exec_found(t, x, argv, envp, envc);
	if (x->program.interp_fd >= 0)
		sys1(__NR_close, x->program.interp_fd);
	sys1(__NR_close, x->program.fd);
	return ret;
}

/* AT_EXECFN, and the name that a script's interpreter is given: Linux's rules for a program named by descriptor. */
static void set_name(struct program *p, int dirfd)
{
	if (dirfd == AT_FDCWD || p->path[0] == '/')
		copy_path(p->name, p->path);
	else if (p->path[0])
		rt_snprintf(p->name, sizeof(p->name), "/dev/fd/%d/%s", dirfd, p->path);
	else
		rt_snprintf(p->name, sizeof(p->name), "/dev/fd/%d", dirfd);
}

/* What was asked for. */
struct request {
	struct thread *t;
	struct exec *x;
	int dirfd, flags;
	gva argv, envp;
	u64 envc; /* strings in envp, at most */
};

/*
 * What the kernel has to say about the arguments, E2BIG and the like: by a file that may be executed and is no program.
 * Under that number its name is as long as the runtime's.
 */
static long try_arguments(gva argv, gva envp, int number)
{
	static const char text[] = "no program\n";
	long ret, fd = sys2(__NR_memfd_create, "", MFD_CLOEXEC | MFD_EXEC);

	if (fd == -EINVAL)
		fd = sys2(__NR_memfd_create, "", MFD_CLOEXEC);
	if (fd < 0 || sys3(__NR_write, fd, text, sizeof(text) - 1) < 0 ||
	    sys3(__NR_dup3, fd, number, O_CLOEXEC) != number)
		return 0;
	ret = sys5(__NR_execveat, number, "", argv, envp, AT_EMPTY_PATH);
	return ret == -E2BIG || ret == -EFAULT || ret == -ENOMEM || ret == -EAGAIN ? ret : 0;
}

/* Leaves the program open if all is well. */
static long open_named(const struct request *r)
{
	struct program *p = &r->x->program;
	long ret;

	p->fd = (int)program_open(r->dirfd, p->open_path, r->flags);
	if (p->fd < 0)
		return p->fd;
	ret = program_check_reachable(p);
	if (ret)
		sys1(__NR_close, p->fd);
	return ret;
}

/* For apart_run(): all but the last step, with descriptors that go with the helper thread. */
static long try_out(void *arg)
{
	struct request *r = arg;
	gva argv = r->argv;
	long ret = open_named(r);

	if (!ret)
		ret = find_program(r->x, &argv);
	return ret ? ret : try_arguments(argv, r->envp, the_process.runtime_fd);
}

/*
 * Linux 5.11 and later leave the table only if others outlive the exec, and keep fcntl(2)'s locks otherwise; here they
 * are lost.
 */
static long leave_table(struct thread *t)
{
	if (sys3(__NR_close_range, ~0u, ~0u, CLOSE_RANGE_UNSHARE) && sys1(__NR_unshare, CLONE_FILES))
		return 0; /* a filter forbids both: the table stays shared */
	return event_files_unshare(t->cpu->slot);
}

static long execute_alone(struct request *r)
{
	long ret = open_named(r);

	return ret ? ret : exec_opened(r->t, r->x, r->argv, r->envp, r->envc);
}

/* For apart_run_with_table(). */
static long find_apart(void *arg)
{
	struct request *r = arg;
	long ret = open_named(r);

	return ret ? ret : find_program(r->x, &r->argv);
}

/*
 * The table has no numbers left for the program and its interpreter (RLIMIT_NOFILE): both images look at them in
 * threads with tables of their own. The new one can open only what has a path.
 */
static long execute_by_path(struct request *r)
{
	struct program *p = &r->x->program;
	long ret;

	if (r->dirfd != AT_FDCWD && p->path[0] != '/')
		return -EMFILE;
	ret = apart_run_with_table(find_apart, r);
	p->fd = p->interp_fd = -1;
	if (ret)
		return ret == -ENOSYS ? -EMFILE : ret;
	return exec_found(r->t, r->x, r->argv, r->envp, r->envc);
}

static void set_open_path(struct request *r)
{
	struct program *p = &r->x->program;

	p->prefixes = 0;
	p->interp[0] = 0;
	copy_path(p->open_path, p->path);
	vfile_follow_exe(r->t, r->dirfd, p->open_path);
}

static long execute(struct request *r, gva path)
{
	struct program *p = &r->x->program;
	long ret = guest_read_str(p->path, path, sizeof(p->path)), flags;

	if (ret < 0)
		return ret;
	if (!p->path[0] && !(r->flags & AT_EMPTY_PATH))
		return -ENOENT;
	if (vfile_fd_hidden(r->dirfd) && p->path[0] != '/')
		return -EBADF;
	set_name(p, r->dirfd);
	p->reachable = r->dirfd == AT_FDCWD || p->path[0] == '/';
	if (!p->reachable) {
		flags = sys3(__NR_fcntl, r->dirfd, F_GETFD, 0);
		if (flags < 0)
			return flags;
		p->reachable = !(flags & FD_CLOEXEC);
	}
	set_open_path(r);
	if (apart_needed()) {
		ret = apart_run(try_out, r);
		if (!ret)
			ret = leave_table(r->t);
		if (ret)
			return ret;
		set_open_path(r);
	}
	ret = execute_alone(r);
	if (ret != -EMFILE)
		return ret;
	set_open_path(r);
	return execute_by_path(r);
}

static long exec_guest(struct thread *t, int dirfd, gva path, gva argv, gva envp, int flags)
{
	struct request r = {
		.t = t, .x = exec_begin(t), .dirfd = dirfd, .flags = flags,
		.argv = argv, .envp = envp, .envc = ARGS_MAX + 1,
	};
	long ret = execute(&r, path);

	exec_end(r.x);
	return ret;
}

long sys_execve(struct thread *t, const u64 *a)
{
	return exec_guest(t, AT_FDCWD, a[0], a[1], a[2], 0);
}

long sys_execveat(struct thread *t, const u64 *a)
{
	if (a[4] & AT_EXECVE_CHECK)
		return vfile_check_exec(t, a);
	if (a[4] & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return refuse(EINVAL, "unknown flag of execveat");
	return exec_guest(t, (int)a[0], a[1], a[2], a[3], (int)a[4]);
}

long exec_first_script(struct thread *t, int fd, const u64 *argv, const u64 *envp, u64 envc)
{
	char first[2] = {0};
	struct exec *x;
	long ret;

	if (sys4(__NR_pread64, fd, first, 2, 0) != 2 || first[0] != '#' || first[1] != '!')
		return 0;
	x = exec_begin(t);
	copy_path(x->program.name, handover.name);
	x->program.fd = fd;
	ret = exec_opened(t, x, (u64)argv, (u64)envp, envc);
	exec_end(x);
	return ret;
}
