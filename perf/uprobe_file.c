/* Which file a path is: see uprobes.h. */
#include <asm-generic/errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "os/session/apart.h"
#include "os/mm/procmaps.h"
#include "os/session/scratch.h"
#include "os/files/vfile.h"
#include "perf/perf.h"
#include "perf/uprobes.h"
#include "pmu/probe_def.h"
#include "pmu/uprobe.h"
#include "rt/guest.h"
#include "rt/refuse.h"
#include "rt/string.h"
#include "rt/sys.h"

#ifndef O_PATH
#define O_PATH 010000000
#endif

struct lookup {
	const char *path;
	struct uprobe_file *out;
	char text[ARENA_PATH + 64];
	char buffer[PROCMAPS_BUFFER];
};

/* Its numbers as they are shown for mappings, which on some file systems are others than fstat's. */
static void see_mapped(struct lookup *l, long fd)
{
	void *page = scratch_alloc(PAGE_SIZE);
	struct procmaps_line line;
	struct procmaps pm;

	if (!page)
		return;
	if (sys6(__NR_mmap, (gva)page, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == (long)page &&
	    !procmaps_open(&pm, "self/maps", l->buffer)) {
		while (procmaps_next(&pm, &line))
			if (line.start == (gva)page) {
				l->out->dev = (u64)line.maj << 32 | line.min;
				l->out->ino = line.ino;
			}
		procmaps_close(&pm);
	}
	scratch_free(page, PAGE_SIZE);
}

/* For apart_run(). */
static long look_up(void *arg)
{
	struct lookup *l = arg;
	s32 dir = apart_path(l->text, AT_FDCWD, &l->path);
	long fd = sys4(__NR_openat, dir, l->path, O_PATH | O_CLOEXEC, 0), file;
	struct stat st;

	if (sys_is_error(fd))
		return fd;
	sys2(__NR_fstat, fd, &st);
	sys1(__NR_close, fd);
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*l->out = (struct uprobe_file){
		.dev = (u64)(st.st_dev >> 8 & 0xfff) << 32 | (st.st_dev & 0xff) | (st.st_dev >> 12 & 0xfff00),
		.ino = st.st_ino,
		.size = (u64)st.st_size,
	};
	file = sys4(__NR_openat, dir, l->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (sys_is_error(file))
		return 0;
	see_mapped(l, file);
	sys1(__NR_close, file);
	return 0;
}

int uprobe_find_file(struct thread *t, char *path, struct uprobe_file *out)
{
	struct lookup *l = scratch_alloc(sizeof(*l));
	long ret;

	if (!l)
		return -ENOMEM;
	vfile_follow_exe(t, AT_FDCWD, path);
	l->path = path;
	l->out = out;
	ret = apart_run(look_up, l);
	scratch_free(l, sizeof(*l));
	return (int)ret;
}

/* As the kernel's perf_uprobe_init() reads it. */
static int read_path(gva from, char path[PATH_MAX])
{
	long n;

	if (!from)
		return -EINVAL;
	n = guest_read_str(path, from, PATH_MAX);
	if (n == -ENAMETOOLONG)
		return -E2BIG;
	return n < 0 ? (int)n : n ? 0 : -EINVAL;
}

void perf_find_probed(struct thread *t, struct perf_attr *attr)
{
	struct uprobe_file file;
	char path[PATH_MAX];
	int err;

	if (likely(attr->type != PMU_TYPE_UPROBE))
		return;
	err = read_path(attr->config1, path);
	err = err ? err : uprobe_find_file(t, path, &file);
	if (!err && (s64)attr->config2 > (s64)file.size) /* Linux quirk: signed */
		err = -EINVAL;
	if (err)
		uprobe_pmu_no_file(attr, err);
	else
		uprobe_pmu_file(attr, file.dev, file.ino);
}

/* For probe_write(). */
static int find_defined(void *t, char *path, u64 *dev, u64 *ino)
{
	struct uprobe_file file;
	int err = uprobe_find_file(t, path, &file);

	if (err)
		return err == -EINVAL ? refuse(EINVAL, "not a regular file") : refuse(-err, "the file of the probe");
	*dev = file.dev;
	*ino = file.ino;
	return 0;
}

long perf_define_probes(struct thread *t, const char *text, u64 n)
{
	return probe_write(text, n, find_defined, t);
}
