/* See cgroup.h. */
#include <asm/stat.h>
#include <linux/fcntl.h>
#include "os/session/proc.h"
#include "perf/cgroup.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define MOUNT	"/sys/fs/cgroup"
#define ROOT_ID 1

/* The path in the line "0::PATH" of /proc/self/cgroup, which holds a line for each hierarchy. */
static char *unified_path(char *text)
{
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "0::", 3)) {
			char *end = strchr(line, '\n');

			if (end)
				*end = 0;
			return line + 3;
		}
	}
	return NULL;
}

u64 cgroup_id_of_self(void)
{
	char text[2048], path[sizeof(text) + sizeof(MOUNT)];
	struct stat st;
	char *name;

	if (proc_read("self/cgroup", text, sizeof(text)) < 0)
		return ROOT_ID;
	name = unified_path(text);
	if (!name)
		return ROOT_ID;
	rt_snprintf(path, sizeof(path), MOUNT "%s", name);
	return sys2(__NR_stat, path, &st) ? ROOT_ID : st.st_ino;
}
