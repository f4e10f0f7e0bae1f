/* See cache_dir.h. */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/cache_dir.h"
#include "cli/pin.h"
#include "rt/hash.h"

#define DIR_MODE 0700

/* The directory and the one that it is in. What is above is not pcl's to make: a HOME that is missing stays missing. */
static void make_default(char *path)
{
	char *slash = strrchr(path, '/');

	*slash = 0;
	mkdir(path, DIR_MODE);
	*slash = '/';
	mkdir(path, DIR_MODE);
}

/* Makes what is missing of the path, with that mode. */
static void make_path(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, DIR_MODE);
		*slash = '/';
	}
	mkdir(path, DIR_MODE);
}

/* Such as HOME under sudo: what root makes there its owner could not use. */
static bool is_others(const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_uid != geteuid();
}

/* As the XDG base directory specification has it: a path that is not absolute counts as not given. */
static int default_path(char *path, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (base && base[0] == '/')
		n = is_others(base) ? -1 : snprintf(path, size, "%s/pcl", base);
	else if (home && home[0] == '/' && !is_others(home))
		n = snprintf(path, size, "%s/.cache/pcl", home);
	return n > 0 && (size_t)n < size ? 0 : -1;
}

/* Who has named it is told. */
static int not_used(const struct options *o, const char *path, const char *why)
{
	if (o->cache_dir || o->log >= 1)
		fprintf(stderr, "pcl: %s is not used for translations: %s\n", path, why);
	return -1;
}

/* 0, or -1: there is none. */
static int make_directory(const struct options *o, char *path, size_t size)
{
	if (!o->cache_dir) {
		if (default_path(path, size))
			return -1;
		make_default(path);
		return 0;
	}
	if ((size_t)snprintf(path, size, "%s", o->cache_dir) >= size)
		return not_used(o, o->cache_dir, strerror(ENAMETOOLONG));
	make_path(path);
	return 0;
}

int cache_dir_open(const struct options *o)
{
	static char path[PATH_MAX];
	struct stat st;
	int fd;

	if (o->no_cache || !o->cache_size || o->aslr || o->small_cache || o->dual_map || o->dump || o->stress)
		return -1;
	if (getuid() != geteuid() || getgid() != getegid())
		return -1;
	if (make_directory(o, path, sizeof(path)))
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return not_used(o, path, strerror(errno));
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	close(fd);
	return not_used(o, path, st.st_uid != geteuid() ? "it is another user's"
							 : "others may look into it; its mode must be 0700");
}

u64 cache_settings(const struct options *o)
{
	u32 word[16] = {0};

	__cpuid(0, word[0], word[1], word[2], word[3]);
	__cpuid(1, word[4], word[5], word[6], word[7]);
	word[5] = 0; /* says which CPU it is */
	word[12] = (u32)(o->no_traces | o->no_links << 1 | o->no_ibl << 2 | o->no_unroll << 3 | o->no_liveness << 4 |
			 o->no_spans << 5);
	word[13] = (u32)(o->one_insn_blocks | o->call_stacks << 1 | o->no_approach << 2 | o->no_polls << 3 |
			 (o->prefetch - OPTIONS_NOT_GIVEN) << 4);
	word[14] = pin_chosen()->virtual;
	word[15] = pin_chosen()->level; /* by which libraries choose their code */
	return hash_of(word, sizeof(word), 0) | 1;
}
