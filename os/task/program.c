/* See program.h. */
#include "os/task/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "os/files/vfile.h"
#include "os/session/apart.h"
#include "os/session/proc.h"
#include "rt/fmt.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#define NO_FACCESSAT2(err) ((err) == -ENOSYS || (err) == -EPERM)

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

long program_open(int dirfd, const char *path, int flags)
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

long program_open_interp(const char *path)
{
	return program_open(AT_FDCWD, path, 0);
}

static void set_prefix(struct program *p, const struct script *script, const char *script_path)
{
	u32 more = script->arg ? 2 : 1;

	/* A script's own name takes the place of the argv[0] it was called with. */
	if (!p->prefixes)
		p->prefix[p->prefixes++] = script_path;
	memmove(&p->prefix[more], p->prefix, p->prefixes * sizeof(p->prefix[0]));
	p->prefix[0] = script->interp;
	if (script->arg)
		p->prefix[1] = script->arg;
	p->prefixes += more;
}

/* Follows #! lines until the file is something else. */
static long resolve_scripts(struct program *p)
{
	for (int depth = 0;; depth++) {
		struct script script;
		char first[2] = {0};
		long fd;

		if (sys4(__NR_pread64, p->fd, first, 2, 0) != 2 || first[0] != '#' || first[1] != '!')
			return 0;
		if (depth == SCRIPT_DEPTH)
			return refuse(ELOOP, "too many interpreters that are scripts");
		memset(p->line[depth], 0, SCRIPT_LINE);
		if (sys4(__NR_pread64, p->fd, p->line[depth], SCRIPT_LINE, 0) < 0)
			return -EIO;
		if (script_parse(p->line[depth], &script))
			return refuse(ENOEXEC, "no interpreter in the script's first line");
		fd = program_open(AT_FDCWD, script.interp, 0);
		if (fd < 0)
			return fd;
		sys1(__NR_close, p->fd);
		p->fd = fd;
		set_prefix(p, &script, p->name);
		rt_snprintf(p->open_path, sizeof(p->open_path), "%s", script.interp);
	}
}

/* All that Linux looks at in the final program before its point of no return. */
static long probe(struct program *p)
{
	long ret = elf_probe(p->fd, p->interp);

	if (ret || !p->interp[0])
		return ret;
	p->interp_fd = (int)program_open_interp(p->interp);
	return p->interp_fd < 0 ? p->interp_fd : elf_probe_interp(p->interp_fd);
}

long program_check_reachable(const struct program *p)
{
	char first[2] = {0};

	if (p->reachable)
		return 0;
	if (sys4(__NR_pread64, p->fd, first, 2, 0) == 2 && first[0] == '#' && first[1] == '!')
		return refuse(ENOENT, "a script by a descriptor that closes on exec");
	return 0;
}

long program_find(struct program *p)
{
	long ret;

	p->interp_fd = -1;
	ret = resolve_scripts(p);
	return ret ? ret : probe(p);
}
