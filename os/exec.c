/*
 * execve and execveat; see exec.h. Checks and their errors follow do_execveat_common() and bprm_execve() in Linux 6.x,
 * fs/exec.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "os/elf.h"
#include "os/exec.h"
#include "os/handover.h"
#include "os/proc.h"
#include "os/process.h"
#include "os/script.h"
#include "os/session.h"
#include "os/signal.h"
#include "os/syscall.h"
#include "os/vfile.h"
#include "rt/fmt.h"
#include "rt/guest.h"
#include "rt/layout.h"
#include "rt/log.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

/*
 * Every thread's struct exec has an address of its own. A vfork child that succeeds leaves it behind in its parent's
 * memory; the next exec by that thread area maps over it.
 */
#define EXEC_AREA	   (LAYOUT_MM + 0x10000000000ul)
#define EXEC_AREA_SIZE	   0x4000000ul
#define EXEC_ARGV	   0x10000ul				   /* offset of the pointer array for scripts */
#define SCRIPT_DEPTH	   5					   /* interpreters that are scripts themselves */
#define EXEC_ENVP	   (EXEC_AREA_SIZE / 2)			   /* of that for the environment */
#define ARGS_MAX	   ((EXEC_ENVP - EXEC_ARGV) / 8 - 16)	   /* more than the kernel takes bytes */
#ifndef AT_EXECVE_CHECK
#define AT_EXECVE_CHECK 0x10000
#endif
#define NO_FACCESSAT2(err) ((err) == -ENOSYS || (err) == -EPERM)

/* One exec on its way. */
struct exec {
	char path[ARENA_PATH];	    /* as the guest gave it */
	char name[ARENA_PATH];	    /* AT_EXECFN */
	char open_path[ARENA_PATH]; /* what is opened: path, or the guest's program for /proc/self/exe */
	char interp[ELF_INTERP_MAX];
	char handover[HANDOVER_MAX];
	char line[SCRIPT_DEPTH][SCRIPT_LINE];
	const char *prefix[2 * SCRIPT_DEPTH + 2]; /* what comes before the guest's argv[1] */
	u32 prefixes;
	int fd; /* the program or, at last, its interpreter for scripts */
};

/* What only the kernel knows: whether security modules, Landlock among them, let it be executed. Linux 6.14; an older one does not say. */
static long check_exec(long fd)
{
	long ret = sys5(__NR_execveat, fd, "", NULL, NULL, AT_EMPTY_PATH | AT_EXECVE_CHECK);

	if (ret != -EACCES && ret != -EPERM)
		return fd;
	sys1(__NR_close, fd);
	return ret;
}

/* Opens a file as exec does: a regular file that may be executed. */
static long open_exec(int dirfd, const char *path, int flags)
{
	struct stat st;
	long ret = sys4(__NR_newfstatat, dirfd, path, &st, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));

	if (ret)
		return ret;
	if ((flags & AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return refuse(EACCES, "not a regular file");
	ret = sys4(__NR_faccessat2, dirfd, path, 1 /* X_OK */, AT_EACCESS | (flags & AT_EMPTY_PATH));
	if (NO_FACCESSAT2(ret) && path[0])
		ret = sys3(__NR_faccessat, dirfd, path, 1 /* X_OK */);
	else if (NO_FACCESSAT2(ret))
		ret = st.st_mode & 0111 ? 0 : -EACCES;
	if (ret)
		return ret;
	if (!path[0]) {
		char link[32];

		rt_snprintf(link, sizeof(link), "self/fd/%d", dirfd);
		ret = sys4(__NR_openat, proc_dir(), link, O_RDONLY | O_CLOEXEC, 0);
		return ret < 0 ? ret : check_exec(ret);
	}
	ret = sys4(__NR_openat, dirfd, path, O_RDONLY | O_CLOEXEC, 0);
	if (ret >= 0)
		return check_exec(ret);
	return ret == -EACCES ? refuse(EACCES, "pcl has to read the program, which its mode forbids") : ret;
}

long exec_open_interp(const char *path)
{
	return open_exec(AT_FDCWD, path, 0);
}

static void set_prefix(struct exec *x, const struct script *script, const char *script_path)
{
	u32 more = script->arg ? 2 : 1;

	/* A script's own name takes the place of the argv[0] it was called with. */
	if (!x->prefixes)
		x->prefix[x->prefixes++] = script_path;
	memmove(&x->prefix[more], x->prefix, x->prefixes * sizeof(x->prefix[0]));
	x->prefix[0] = script->interp;
	if (script->arg)
		x->prefix[1] = script->arg;
	x->prefixes += more;
}

/* Follows #! lines until the file is something else. */
static long resolve_scripts(struct exec *x)
{
	for (int depth = 0;; depth++) {
		struct script script;
		char first[2] = {0};
		long fd;

		if (sys4(__NR_pread64, x->fd, first, 2, 0) != 2 || first[0] != '#' || first[1] != '!')
			return 0;
		if (depth == SCRIPT_DEPTH)
			return refuse(ELOOP, "too many interpreters that are scripts");
		if (sys4(__NR_pread64, x->fd, x->line[depth], SCRIPT_LINE, 0) < 0)
			return -EIO;
		if (script_parse(x->line[depth], &script))
			return refuse(ENOEXEC, "no interpreter in the script's first line");
		fd = open_exec(AT_FDCWD, script.interp, 0);
		if (fd < 0)
			return fd;
		sys1(__NR_close, x->fd);
		x->fd = fd;
		set_prefix(x, &script, x->name);
		rt_snprintf(x->open_path, sizeof(x->open_path), "%s", script.interp);
	}
}

/* All that Linux looks at in the final program before its point of no return. */
static long probe(struct exec *x)
{
	long fd, ret = elf_probe(x->fd, x->interp);

	if (ret || !x->interp[0])
		return ret;
	fd = exec_open_interp(x->interp);
	if (fd < 0)
		return fd;
	ret = elf_probe_interp(fd);
	sys1(__NR_close, fd);
	return ret;
}

static void *area_map(gva at, u64 size)
{
	long ret = sys6(__NR_mmap, at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return sys_is_error(ret) ? NULL : (void *)ret;
}

static struct exec *exec_alloc(const struct thread *t)
{
	return area_map(EXEC_AREA + (thread_area(t) - LAYOUT_THREADS) / THREAD_AREA * EXEC_AREA_SIZE,
			sizeof(struct exec));
}

static void exec_free(struct exec *x)
{
	sys2(__NR_munmap, x, EXEC_AREA_SIZE);
}

/* argv with the scripts' prefix instead of its first string: an array of pointers in our memory. */
static long build_argv(const struct exec *x, gva *argv)
{
	u64 n = 0, value = 1;
	u64 *array;

	while (*argv && value) {
		if (guest_read(&value, *argv + 8 * n, 8))
			return -EFAULT;
		n += value != 0;
		if (n > ARGS_MAX)
			return -E2BIG;
	}
	array = area_map((u64)x + EXEC_ARGV, (n + x->prefixes + 1) * sizeof(u64));
	if (!array)
		return -ENOMEM;
	for (u32 i = 0; i < x->prefixes; i++)
		array[i] = (u64)x->prefix[i];
	if (n > 1 && guest_read(&array[x->prefixes], *argv + 8, 8 * (n - 1)))
		return -EFAULT;
	*argv = (u64)array;
	return 0;
}

/* envp, of so many strings at most, with what is handed over behind it. */
static long build_envp(const struct exec *x, gva *envp, u64 max)
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
	array = area_map((u64)x + EXEC_ENVP, (n + 2) * sizeof(u64));
	if (!array)
		return -ENOMEM;
	if (n && guest_read(array, *envp, 8 * n))
		return -EFAULT;
	array[n] = (u64)x->handover;
	array[n + 1] = 0;
	*envp = (u64)array;
	return 0;
}

_Static_assert(sizeof(struct exec) <= EXEC_ARGV, "struct exec runs into the pointer array");

static void copy_path(char *dst, const char *src)
{
	memcpy(dst, src, strnlen(src, ARENA_PATH - 1) + 1);
	dst[ARENA_PATH - 1] = 0;
}

/* Hands the program over to a new image of the runtime. Only returns if the kernel refuses. */
static long commit(struct thread *t, struct exec *x, u64 argv, u64 envp)
{
	struct task *task = t->task;
	struct handover h = {.slot = t->cpu->slot, .fd = (u32)x->fd + 1, .nr = (u32)t->nr};
	long ret;

	sys3(__NR_fcntl, x->fd, F_SETFD, 0);
	group_quiesce(t);
	signal_exec_state(t, &h);
	rt_snprintf(x->handover, sizeof(x->handover), HANDOVER_FORMAT, h.slot, h.fd, h.nr, h.ss_flags, h.sigmask, h.sigign, x->name);
	session_exec_begin(task);
	/* The point of no return is inside. */
	ret = thread_syscall(t, __NR_execveat, the_process.runtime_fd, (u64) "", argv, envp, AT_EMPTY_PATH, 0);
	session_exec_failed(task);
	signal_exec_failed(t);
	group_resume(t);
	return ret;
}

/* x->fd is open; closes it on failure. */
static long exec_opened(struct thread *t, struct exec *x, gva argv, gva envp, u64 envc)
{
	long ret = resolve_scripts(x);

	if (!ret)
		ret = probe(x);
	if (!ret && x->prefixes)
		ret = build_argv(x, &argv);
	if (!ret)
		ret = build_envp(x, &envp, envc);
	if (!ret)
		ret = commit(t, x, argv, envp);
	sys1(__NR_close, x->fd);
	return ret;
}

/* AT_EXECFN, and the name that a script's interpreter is given: Linux's rules for a program named by descriptor. */
static void set_name(struct exec *x, int dirfd)
{
	if (dirfd == AT_FDCWD || x->path[0] == '/')
		copy_path(x->name, x->path);
	else if (x->path[0])
		rt_snprintf(x->name, sizeof(x->name), "/dev/fd/%d/%s", dirfd, x->path);
	else
		rt_snprintf(x->name, sizeof(x->name), "/dev/fd/%d", dirfd);
}

/* A script by a descriptor that closes on exec could not be opened by its interpreter. */
static long check_reachable(struct exec *x, int dirfd)
{
	char first[2] = {0};

	if (dirfd == AT_FDCWD || x->path[0] == '/' || !(sys3(__NR_fcntl, dirfd, F_GETFD, 0) & FD_CLOEXEC))
		return 0;
	if (sys4(__NR_pread64, x->fd, first, 2, 0) == 2 && first[0] == '#' && first[1] == '!')
		return refuse(ENOENT, "a script by a descriptor that closes on exec");
	return 0;
}

static long execute(struct thread *t, struct exec *x, int dirfd, gva path, gva argv, gva envp, int flags)
{
	long ret = guest_read_str(x->path, path, sizeof(x->path));

	if (ret < 0)
		return ret;
	if (!x->path[0] && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	if (vfile_fd_hidden(dirfd) && x->path[0] != '/')
		return -EBADF;
	set_name(x, dirfd);
	copy_path(x->open_path, x->path);
	vfile_follow_exe(t, x->open_path);
	x->fd = open_exec(dirfd, x->open_path, flags);
	if (x->fd < 0)
		return x->fd;
	ret = check_reachable(x, dirfd);
	if (!ret)
		return exec_opened(t, x, argv, envp, ARGS_MAX + 1);
	sys1(__NR_close, x->fd);
	return ret;
}

static long exec_guest(struct thread *t, int dirfd, gva path, gva argv, gva envp, int flags)
{
	struct exec *x = exec_alloc(t);
	long ret;

	if (!x)
		return -ENOMEM;
	ret = execute(t, x, dirfd, path, argv, envp, flags);
	exec_free(x);
	return ret;
}

long sys_execve(struct thread *t, const u64 *a)
{
	return exec_guest(t, AT_FDCWD, a[0], a[1], a[2], 0);
}

long sys_execveat(struct thread *t, const u64 *a)
{
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
	x = exec_alloc(t);
	if (!x)
		return -ENOMEM;
	copy_path(x->path, handover.name);
	copy_path(x->name, handover.name);
	copy_path(x->open_path, handover.name);
	x->fd = fd;
	ret = exec_opened(t, x, (u64)argv, (u64)envp, envc);
	exec_free(x);
	return ret;
}
