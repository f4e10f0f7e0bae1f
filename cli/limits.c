/* See limits.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "cli/limits.h"
#include "rt/file_size.h"

/*
 * No less than what an image reserves: the arena with rings and journals, the code cache and the translator's tables;
 * the last two are private.
 */
#define ROOM_DATA (LAYOUT_CACHE_SIZE + 0x100000000ul)
#define ROOM_AS	  (LAYOUT_ARENA_SIZE + LAYOUT_RINGS_SIZE + ARENA_JOURNALS_SIZE + ROOM_DATA)
#define KIB	  1024

static u64 plus(u64 limit, u64 room)
{
	return limit == RLIM_INFINITY || limit + room < limit ? RLIM_INFINITY : limit + room;
}

static int complain(const char *what, const char *option, u64 hard, u64 needed)
{
	fprintf(stderr,
		"pcl: the hard limit on %s, %lu KiB, leaves no room for what pcl reserves: "
		"set the soft limit only (ulimit -S %s), or the hard one (ulimit -H %s) to %lu or more\n",
		what, hard / KIB, option, option, needed / KIB);
	return -1;
}

/* Raising a hard limit takes a privilege. Without it, the soft one may be raised up to it. */
static int lift(int resource, u64 room, const char *what, const char *option, struct session_limit *was)
{
	struct rlimit old, new;

	if (getrlimit(resource, &old) || old.rlim_cur == RLIM_INFINITY)
		return 0;
	*was = (struct session_limit){old.rlim_cur, old.rlim_max, true};
	new = (struct rlimit){plus(old.rlim_cur, room), plus(old.rlim_max, room)};
	if (!setrlimit(resource, &new))
		return 0;
	new.rlim_max = old.rlim_max;
	if (new.rlim_cur <= new.rlim_max && !setrlimit(resource, &new))
		return 0;
	return complain(what, option, old.rlim_max, new.rlim_cur);
}

int limits_lift(struct session_config *c)
{
	return lift(RLIMIT_AS, ROOM_AS, "address space", "-v", &c->limit_as) ||
	       lift(RLIMIT_DATA, ROOM_DATA, "private memory", "-d", &c->limit_data) ? -1 : 0;
}

int limits_size_file(int fd, u64 size)
{
	struct rlimit limit;
	long ret = file_size_set(fd, size);

	if (!ret)
		return 0;
	if (ret == -EFBIG && !getrlimit(RLIMIT_FSIZE, &limit))
		return complain("file sizes", "-f", limit.rlim_max, ALIGN_UP(size, (u64)KIB));
	fprintf(stderr, "pcl: cannot size the session's memory: %s\n", strerror((int)-ret));
	return -1;
}
