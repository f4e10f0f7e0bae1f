/*
 * execve and execveat; see exec.h. Checks and their errors follow do_execveat_common() and bprm_execve() in Linux 6.x,
 * fs/exec.c.
 *
 * The new image finds the program open, under a number of the table. Where others share the table they would see that,
 * and the programs that are opened on the way. So there all is tried first in a helper thread (os/session/apart.h), the
 * kernel's own checks of the arguments included. If nothing is wrong with it, the thread leaves the shared table, as
 * the kernel would have it do a moment later, and goes on alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "event/files.h"
#include "os/files/vfile.h"
#include "os/mm/elf.h"
#include "os/mm/warm.h"
#include "os/pin/pin.h"
#include "os/session/apart.h"
#include "os/session/handover.h"
#include "os/session/own_faults.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "os/session/session.h"
#include "os/sig/signal.h"
#include "os/syscall.h"
#include "os/task/exec.h"
#include "os/task/script.h"
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
#define SCRIPT_DEPTH	   5					   /* interpreters that are scripts, too */
#define EXEC_ENVP	   (EXEC_AREA_SIZE / 2)			   /* of that for the environment */
#define ARGS_MAX	   ((EXEC_ENVP - EXEC_ARGV) / 8 - 16)	   /* more than the kernel takes bytes */
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif
#ifndef MFD_EXEC /* Linux 6.3 */
#define MFD_EXEC 0x10u
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
	bool reachable; /* by the name that a script's interpreter is given */
	int fd;		/* the program or, at last, its interpreter for scripts */
	int interp_fd;	/* that file's interpreter; negative: none is open */
};

/*
 * What only the kernel knows: whether security modules, Landlock among them, let it be executed. Linux 6.14; an older
 * one does not say.
 */
static long check_exec(long fd)
{
	long ret = sys5(__NR_execveat, fd, "", NULL, NULL, AT_EMPTY_PATH | AT_EXECVE_CHECK);

	if (ret != -EACCES && ret != -EPERM)
		return fd;
	sys1(__NR_close, fd);
	return ret;
}

static long may_execute(int dirfd, const char *path, int flags, const struct stat *st)
{
	long ret = sys4(__NR_faccessat2, dirfd, path, 1 /* X_OK */, AT_EACCESS | (flags & AT_EMPTY_PATH));

	if (NO_FACCESSAT2(ret) && path[0])
		return sys3(__NR_faccessat, dirfd, path, 1 /* X_OK */);
	return !NO_FACCESSAT2(ret) ? ret : st->st_mode & 0111 ? 0 : -EACCES;
}

/* Opens a file as exec does: a regular file that may be executed. Also for apart_run(). */
static long open_exec(int dirfd, const char *path, int flags)
{
	char text[ARENA_PATH + 64];
	const char *given = path;
	struct stat st;
	long ret;

	dirfd = apart_path(text, dirfd, &path);
	if (path != given && !given[0])
		flags &= ~AT_SYMLINK_NOFOLLOW; /* /proc's link stands for the file */
	ret = sys4(__NR_newfstatat, dirfd, path, &st, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
	if (ret)
		return ret;
	if ((flags & AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return refuse(EACCES, "not a regular file");
	ret = may_execute(dirfd, path, flags, &st);
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
	long ret = elf_probe(x->fd, x->interp);

	if (ret || !x->interp[0])
		return ret;
	x->interp_fd = (int)exec_open_interp(x->interp);
	return x->interp_fd < 0 ? x->interp_fd : elf_probe_interp(x->interp_fd);
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
	struct handover h = {
		.slot = t->cpu->slot, .fd = (u32)x->fd + 1, .interp = (u32)x->interp_fd + 1, .nr = (u32)t->nr,
		.config = the_process.config,
	};
	long ret;

	own_faults_begin(t);
	pin_hand_over(t, &h.config);
	if (process_is_alone(t) && warm_wants_save())
		warm_save();
	sys3(__NR_fcntl, x->fd, F_SETFD, 0);
	sys3(__NR_fcntl, x->interp_fd, F_SETFD, 0);
	group_quiesce(t);
	signal_exec_state(t, &h);
	h.config.runtime_fd = the_process.runtime_fd;
	h.nkept = processor_hand_over(h.kept);
	handover_make(x->handover, &h, x->name);
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
	long ret;

	x->interp_fd = -1;
	ret = resolve_scripts(x);
	if (!ret)
		ret = probe(x);
	if (!ret && x->prefixes)
		ret = build_argv(x, argv);
	return ret;
}

/* x->fd is open; closes it on failure. */
static long exec_opened(struct thread *t, struct exec *x, gva argv, gva envp, u64 envc)
{
	long ret = find_program(x, &argv);

	if (!ret)
		ret = build_envp(x, &envp, envc);
	if (!ret)
		ret = commit(t, x, argv, envp);
	if (x->interp_fd >= 0)
		sys1(__NR_close, x->interp_fd);
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
static long check_reachable(struct exec *x)
{
	char first[2] = {0};

	if (x->reachable)
		return 0;
	if (sys4(__NR_pread64, x->fd, first, 2, 0) == 2 && first[0] == '#' && first[1] == '!')
		return refuse(ENOENT, "a script by a descriptor that closes on exec");
	return 0;
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

/* For apart_run(): all but the last step, with descriptors that go with the helper thread. */
static long try_out(void *arg)
{
	struct request *r = arg;
	gva argv = r->argv;
	long ret;

	r->x->fd = (int)open_exec(r->dirfd, r->x->open_path, r->flags);
	if (r->x->fd < 0)
		return r->x->fd;
	ret = check_reachable(r->x);
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
	struct exec *x = r->x;
	long ret;

	x->fd = (int)open_exec(r->dirfd, x->open_path, r->flags);
	if (x->fd < 0)
		return x->fd;
	ret = check_reachable(x);
	if (!ret)
		return exec_opened(r->t, x, r->argv, r->envp, r->envc);
	sys1(__NR_close, x->fd);
	return ret;
}

static void set_open_path(struct request *r)
{
	struct exec *x = r->x;

	x->prefixes = 0;
	x->interp[0] = 0;
	copy_path(x->open_path, x->path);
	vfile_follow_exe(r->t, r->dirfd, x->open_path);
}

static long execute(struct request *r, gva path)
{
	struct exec *x = r->x;
	long ret = guest_read_str(x->path, path, sizeof(x->path)), flags;

	if (ret < 0)
		return ret;
	if (!x->path[0] && !(r->flags & AT_EMPTY_PATH))
		return -ENOENT;
	if (vfile_fd_hidden(r->dirfd) && x->path[0] != '/')
		return -EBADF;
	set_name(x, r->dirfd);
	x->reachable = r->dirfd == AT_FDCWD || x->path[0] == '/';
	if (!x->reachable) {
		flags = sys3(__NR_fcntl, r->dirfd, F_GETFD, 0);
		if (flags < 0)
			return flags;
		x->reachable = !(flags & FD_CLOEXEC);
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
	return execute_alone(r);
}

static long exec_guest(struct thread *t, int dirfd, gva path, gva argv, gva envp, int flags)
{
	struct request r = {
		.t = t, .x = exec_alloc(t), .dirfd = dirfd, .flags = flags,
		.argv = argv, .envp = envp, .envc = ARGS_MAX + 1,
	};
	long ret;

	if (!r.x)
		return -ENOMEM;
	ret = execute(&r, path);
	exec_free(r.x);
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
