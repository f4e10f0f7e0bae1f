/* Reader of /proc/PID/maps; see procmaps.h. */
#include <asm/errno.h>
#include <fcntl.h>
#include "os/mm/procmaps.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "rt/string.h"
#include "rt/sys.h"

/* Linux 6.11: <linux/fs.h>. */
#define PROCMAP_QUERY_ 0xc0686611u
#define QUERY_OR_NEXT 0x10u
#define QUERY_READABLE 1u
#define QUERY_WRITABLE 2u
#define QUERY_EXECUTABLE 4u
#define QUERY_SHARED 8u
struct procmap_query_ {
	u64 size, flags, at;
	u64 start, end, vma_flags, page_size, offset, ino;
	u32 maj, min, name_size, build_id_size;
	u64 name, build_id;
};
_Static_assert(sizeof(struct procmap_query_) == 104, "as the request's number says");

int procmaps_open(struct procmaps *pm, const char *path, char *buffer)
{
	long fd = sys4(__NR_openat, proc_dir(), path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	*pm = (struct procmaps){.fd = fd, .buffer = buffer};
	return 0;
}

void procmaps_close(struct procmaps *pm)
{
	sys1(__NR_close, pm->fd);
}

/* The next line, terminated in place of its newline; NULL at the end. */
static char *next_line(struct procmaps *pm)
{
	for (;;) {
		char *line = pm->buffer + pm->at;
		char *newline = memchr(line, '\n', pm->filled - pm->at);
		long got;

		if (newline) {
			*newline = 0;
			pm->at = newline + 1 - pm->buffer;
			return line;
		}
		memmove(pm->buffer, line, pm->filled - pm->at);
		pm->filled -= pm->at;
		pm->at = 0;
		got = sys3(__NR_read, pm->fd, pm->buffer + pm->filled, PROCMAPS_BUFFER - pm->filled);
		if (got <= 0)
			return NULL;
		pm->filled += got;
	}
}

static u64 parse_number(const char **s, u32 base)
{
	u64 value = 0;

	for (;; (*s)++) {
		char c = **s;

		if (c >= '0' && c <= '9')
			value = value * base + c - '0';
		else if (base == 16 && c >= 'a' && c <= 'f')
			value = value * base + c - 'a' + 10;
		else
			return value;
	}
}

/* "55d0c000-55d0d000 r-xp 00001000 fe:00 332383      /usr/bin/true" */
static bool parse_line(const char *s, struct procmaps_line *line)
{
	line->start = parse_number(&s, 16);
	if (*s++ != '-')
		return false;
	line->end = parse_number(&s, 16);
	if (*s++ != ' ' || strnlen(s, 5) < 5)
		return false;
	memcpy(line->perms, s, 4);
	line->perms[4] = 0;
	s += 5;
	line->offset = parse_number(&s, 16);
	if (*s++ != ' ')
		return false;
	line->id = s;
	line->maj = (u32)parse_number(&s, 16);
	if (*s++ != ':')
		return false;
	line->min = (u32)parse_number(&s, 16);
	if (*s++ != ' ')
		return false;
	line->ino = parse_number(&s, 10);
	line->id_len = s - line->id;
	while (*s == ' ')
		s++;
	line->name = s;
	return true;
}

enum procmaps_what procmaps_next_any(struct procmaps *pm, struct procmaps_line *line, const char **other)
{
	*other = next_line(pm);
	if (!*other)
		return PROCMAPS_END;
	return parse_line(*other, line) ? PROCMAPS_MAPPING : PROCMAPS_OTHER;
}

bool procmaps_next(struct procmaps *pm, struct procmaps_line *line)
{
	enum procmaps_what what;
	const char *other;

	do
		what = procmaps_next_any(pm, line, &other);
	while (what == PROCMAPS_OTHER);
	return what == PROCMAPS_MAPPING;
}

static long query(struct procmaps *pm, gva at, struct procmaps_line *line)
{
	struct procmap_query_ q = {
		.size = sizeof(q), .flags = QUERY_OR_NEXT, .at = at,
		.name = (u64)pm->buffer, .name_size = PROCMAPS_BUFFER,
	};
	long ret = sys3(__NR_ioctl, pm->fd, PROCMAP_QUERY_, &q);

	if (ret)
		return ret;
	*line = (struct procmaps_line){
		.start = q.start, .end = q.end, .offset = q.offset, .maj = q.maj, .min = q.min, .ino = q.ino,
		.name = q.name_size ? pm->buffer : "",
	};
	line->perms[0] = q.vma_flags & QUERY_READABLE ? 'r' : '-';
	line->perms[1] = q.vma_flags & QUERY_WRITABLE ? 'w' : '-';
	line->perms[2] = q.vma_flags & QUERY_EXECUTABLE ? 'x' : '-';
	line->perms[3] = q.vma_flags & QUERY_SHARED ? 's' : 'p';
	return 0;
}

/*
 * For text the kernel names the files of all mappings below, too: 1 us for a line. A filter of the guest's may kill for
 * ioctl.
 */
bool procmaps_around(struct procmaps *pm, gva at, struct procmaps_line *line)
{
	bool found = false;
	long ret;

	if (!pm->no_query && !__atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED)) {
		ret = query(pm, at, line);
		if (!ret || ret == -ENOENT)
			return !ret;
		pm->no_query = ret == -ENOTTY;
	}
	sys3(__NR_lseek, pm->fd, 0, SEEK_SET);
	pm->at = pm->filled = 0;
	while (!found && procmaps_next(pm, line))
		found = at < line->end;
	return found;
}
