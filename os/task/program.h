/*
 * The program that an execve names: opened with the checks of do_execveat_common() and bprm_execve() (Linux 6.x,
 * fs/exec.c), scripts followed to their interpreter, an ELF file to its own. Descriptors are of the calling thread's
 * table.
 */
#ifndef OS_PROGRAM_H
#define OS_PROGRAM_H

#include "os/mm/elf.h"
#include "os/session/arena.h"
#include "os/task/script.h"

#define SCRIPT_DEPTH 5 /* interpreters that are scripts, too */

struct program {
	char path[ARENA_PATH];	    /* as the guest gave it */
	char name[ARENA_PATH];	    /* AT_EXECFN */
	char open_path[ARENA_PATH]; /* what is opened: path, or the guest's program for /proc/self/exe */
	char interp[ELF_INTERP_MAX];
	char line[SCRIPT_DEPTH][SCRIPT_LINE];
	const char *prefix[2 * SCRIPT_DEPTH + 2]; /* what comes before the guest's argv[1] */
	u32 prefixes;
	bool reachable; /* by the name that a script's interpreter is given */
	int fd;		/* the program or, at last, its interpreter for scripts */
	int interp_fd;	/* that file's interpreter; negative: none is open */
};

/* Opens a file as exec does: a regular file that may be executed. The descriptor or -errno. Also for apart_run(). */
long program_open(int dirfd, const char *path, int flags);
/* The same for a program's interpreter. */
long program_open_interp(const char *path);

/* -ENOENT: fd is a script by a descriptor that closes on exec, which its interpreter could not open. */
long program_check_reachable(const struct program *p);

/*
 * From the opened file at fd to what is executed: fd, prefix[] and interp_fd. All that Linux looks at before its point
 * of no return. 0 or -errno; the descriptors stay open in any case.
 */
long program_find(struct program *p);

#endif
