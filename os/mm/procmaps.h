/*
 * Reads /proc/PID/maps line by line, for the loader and for the guest's view of that file.
 */
#ifndef OS_PROCMAPS_H
#define OS_PROCMAPS_H

#include "abi/types.h"

#define PROCMAPS_BUFFER 0x3000 /* more than the longest line */

struct procmaps {
	int fd;
	char *buffer; /* PROCMAPS_BUFFER bytes */
	u32 at, filled;
	bool no_query; /* the kernel does not know PROCMAP_QUERY */
};

struct procmaps_line {
	gva start, end;
	char perms[5]; /* "rw-p" */
	u64 offset;
	/* "fe:00 332383", up to the spaces before the name; not terminated. Not by procmaps_around() */
	const char *id;
	u32 id_len;
	u32 maj, min;	/* the same in numbers */
	u64 ino;
	const char *name; /* terminated, may be empty; valid until the next call */
};

/* buffer: PROCMAPS_BUFFER bytes. 0 or -errno. */
int procmaps_open(struct procmaps *pm, const char *path, char *buffer);
/* False at the end. Lines that are not of the form of a mapping are skipped. */
bool procmaps_next(struct procmaps *pm, struct procmaps_line *line);

/*
 * The mapping of this process that `at` is in, or the next one above. False: there is none. In any order, but not with
 * procmaps_next() of the same.
 */
bool procmaps_around(struct procmaps *pm, gva at, struct procmaps_line *line);

/* For smaps: a line that is no mapping is given as it is, without its newline, until the next call. */
enum procmaps_what { PROCMAPS_END, PROCMAPS_MAPPING, PROCMAPS_OTHER };
enum procmaps_what procmaps_next_any(struct procmaps *pm, struct procmaps_line *line, const char **other);
void procmaps_close(struct procmaps *pm);

#endif
