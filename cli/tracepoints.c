/* See tracepoints.h. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/tracepoints.h"

#define TRACEFS "/sys/kernel/tracing/events"

static int read_id(const char *group, const char *name, u64 *id)
{
	char path[sizeof(TRACEFS) + 2 * 256 + sizeof("///id")];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), TRACEFS "/%s/%s/id", group, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fscanf(f, "%lu", id);
	fclose(f);
	return n == 1 ? 0 : -1;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int tracepoints_each(const char *group, const char *pattern, struct nearest *nearest,
		     int (*see)(void *arg, const char *name, u64 id), void *arg)
{
	static char kept[sizeof(((struct dirent *)0)->d_name)]; /* of the entries, for `nearest` */
	char path[sizeof(TRACEFS) + 256 + 1];
	struct dirent **entry = NULL;
	int n, err = 0;
	u64 id;

	snprintf(path, sizeof(path), TRACEFS "/%s", group);
	n = *group && *group != '.' ? scandir(path, &entry, NULL, by_name) : -1;
	for (int i = 0; i < n && !err; i++) {
		const char *name = entry[i]->d_name;

		if (*name == '.' || read_id(group, name, &id)) /* some are described only: they have no id */
			continue;
		if (!fnmatch(pattern, name, 0))
			err = see(arg, name, id);
		nearest_try(nearest, name);
	}
	if (nearest->best && nearest->best != kept)
		nearest->best = strcpy(kept, nearest->best);
	for (int i = 0; i < n; i++)
		free(entry[i]);
	free(entry);
	return n < 0 ? -1 : err;
}

bool tracepoints_is_of_kernel(const char *name)
{
	static const char *const groups[] = {"raw_syscalls:", "sched:", "task:", "signal:", "exceptions:"};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strncmp(name, groups[i], strlen(groups[i])))
			return true;
	return false;
}
