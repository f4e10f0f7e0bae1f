/*
 * The processes of a recording and what they had mapped, from side-band records in the order in which they were
 * written.
 *
 * An address means the same as long as nothing is mapped over it: a space's generation counts how often something was.
 */
#ifndef CLI_SPACES_H
#define CLI_SPACES_H

#include <stdbool.h>
#include <time.h>
#include "abi/types.h"

struct mapping {
	u64 start, end, offset; /* offset: in the file, of start */
	u32 generation;		/* from then on */
	char *path;		/* as MMAP2 says it: a file, "[vdso]", "//anon" */
};

/* From an execve (or a fork) to the next one. */
struct space {
	u32 pid, generation;
	struct mapping *map;
	int nr;
};

struct spaces {
	struct timespec began; /* the recording, in the time of files (cli/jit_map.h) */
	struct space *space;
	int nr;
	int tasks; /* that there were */

	/* private */
	struct spaces_task *task;
	char **comm; /* all names of tasks that there were */
	int comms;
};

/* A task as a sample finds it. */
struct who {
	u32 space, comm, generation;
};

void spaces_fork(struct spaces *s, u32 pid, u32 ppid, u32 tid, u32 ptid);
void spaces_comm(struct spaces *s, u32 pid, u32 tid, const char *comm, bool exec);
void spaces_map(struct spaces *s, u32 pid, u32 tid, const struct mapping *m);
struct who spaces_who(struct spaces *s, u32 pid, u32 tid);

const char *spaces_comm_name(const struct spaces *s, u32 comm);

/* NULL: nothing that can be executed was there. */
const struct mapping *spaces_find(const struct spaces *s, u32 space, u32 generation, u64 address);

void spaces_free(struct spaces *s);

#endif
