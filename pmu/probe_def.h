/*
 * Definitions of named probes, as uprobe_events takes and shows them:
 *
 *   p[:[GROUP/][EVENT]] PATH:OFFSET[%return][(REF_CTR_OFFSET)] [ARG ...]      and r instead of p for returns
 *   -:[GROUP/][EVENT] [PATH:OFFSET [ARG ...]]                                 deletes
 *
 * One text per row of the session's table (event/probe.h), in the form that is shown. Rows with the same name are one
 * event, with the same arguments. Errors are those of Linux 6.18.
 */
#ifndef PMU_PROBE_DEF_H
#define PMU_PROBE_DEF_H

#include "event/probe.h"
#include "pmu/probe_arg.h"
#include "pmu/probe_text.h"

#define PROBE_NAME 64 /* of a group or an event, with the 0 */

/* Parts of a definition in the form that is shown. */
struct probe_def {
	bool is_return;
	struct probe_part group, event, path;
	const char *place; /* the path and what follows, to the end */
	const char *args;  /* the first one; "": there are none */
};
/* text: PROBE_TEXT bytes, as somebody has left them in the session's memory. False: it is no definition. */
bool probe_def_read(const char *text, struct probe_def *out);
/* Where probe_def_next() is: it begins with .at = d->args. offset: of the next argument, behind the record's head. */
struct probe_args {
	const char *at;
	u32 index, offset;
};
/* The next argument; false: there are no more. */
bool probe_def_next(const struct probe_def *d, struct probe_args *args, struct probe_arg *out);

/* Which file a path of the caller's is, by its numbers (struct probe_place): 0 or -errno. The path may be changed. */
typedef int probe_find_file(void *ctx, char *path, u64 *dev, u64 *ino);

/*
 * One line without a comment, which ends at a newline or a 0, as the text that is shown, and its place. 0, 1: nothing
 * is in it; -errno; -E2BIG: the text has no room.
 */
int probe_def_parse(const char *line, probe_find_file *find, void *ctx, char text[PROBE_TEXT],
		    struct probe_place *place);

/* The session's table has so many rows; and what is in one of them; false: no probe with a name. */
u32 probe_rows(void);
bool probe_is_named(u32 row, struct probe_def *out);

/* Adds it to the session's: 0, -EEXIST, -EINVAL, -ENOMEM. */
int probe_define(const char *text, const struct probe_place *place);
/* "-:...": 0, -ENOENT, -EINVAL, -EBUSY. */
int probe_undefine(const char *line);
/* All of them: 0 or -EBUSY. */
int probe_undefine_all(void);

/* A write of several lines: how many bytes are done, or the error of the first line that has one. */
long probe_write(const char *text, size_t n, probe_find_file *find, void *ctx);

#endif
