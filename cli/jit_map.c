/* See jit_map.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/jit_map.h"
#include "cli/memory.h"

struct jit_code {
	u64 start, end;
	size_t line;
	u64 reach; /* the greatest end of this one and those in front of it */
	char *name;
};

static int by_address(const void *a, const void *b)
{
	const struct jit_code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

static void take_line(struct jit_map *m, char *text)
{
	char *end, *name;
	u64 start = strtoull(text, &end, 16), size = strtoull(end, &name, 16);

	name += strspn(name, " \t");
	name[strcspn(name, "\n")] = 0;
	if (end == text || !size || !*name)
		return;
	if (!(m->nr & (m->nr - 1)))
		m->code = memory_resize(m->code, m->nr ? m->nr * 2 : 1, sizeof(*m->code));
	m->code[m->nr] = (struct jit_code){start, start + size, m->nr, 0, memory_text(name)};
	m->nr++;
}

struct timespec jit_map_now(void)
{
	int fd = memfd_create("pcl", MFD_CLOEXEC);
	struct stat st = {0};

	if (fd < 0)
		return st.st_mtim;
	fstat(fd, &st);
	close(fd);
	return st.st_mtim;
}

/* Some file systems know whole seconds only. */
static bool is_older(const struct timespec *file, const struct timespec *than)
{
	return file->tv_sec < than->tv_sec ||
	       (file->tv_sec == than->tv_sec && file->tv_nsec && file->tv_nsec < than->tv_nsec);
}

/* Anybody can write to /tmp: only a plain file of this user or of root is read. */
static bool is_good(const struct stat *st, const struct timespec *since)
{
	return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || !st->st_uid) && !is_older(&st->st_mtim, since);
}

static FILE *open_map(u32 pid, const struct timespec *since)
{
	char path[32];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && is_good(&st, since))
		return fdopen(fd, "r");
	close(fd);
	return NULL;
}

void jit_map_read(struct jit_map *m, u32 pid, const struct timespec *since)
{
	char *line = NULL;
	size_t room = 0;
	u64 reach = 0;
	FILE *f = open_map(pid, since);

	*m = (struct jit_map){0};
	if (!f)
		return;
	while (getline(&line, &room, f) > 0)
		take_line(m, line);
	free(line);
	fclose(f);
	if (!m->nr)
		return;
	qsort(m->code, m->nr, sizeof(*m->code), by_address);
	for (size_t i = 0; i < m->nr; i++) {
		reach = MAX(reach, m->code[i].end);
		m->code[i].reach = reach;
	}
}

const char *jit_map_find(const struct jit_map *m, u64 address)
{
	const struct jit_code *best = NULL;
	size_t low = 0, high = m->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->code[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = low; i-- && m->code[i].reach > address;)
		if (m->code[i].end > address && (!best || m->code[i].line > best->line))
			best = &m->code[i];
	return best ? best->name : NULL;
}

void jit_map_free(struct jit_map *m)
{
	for (size_t i = 0; i < m->nr; i++)
		free(m->code[i].name);
	free(m->code);
	*m = (struct jit_map){0};
}
