/*
 * The guest's view of /proc/PID/maps and smaps: the host's text without pcl's own mappings and with the protection and
 * the names that the guest expects. Pages that the translator has write-protected look whole again in maps; in smaps
 * they remain entries of their own. Other processes of the session have their tables in memory of their own: of theirs,
 * pcl's mappings are left out, and those of programs' and libraries' code are shown as executable.
 */
#include <errno.h>
#include <sys/mman.h>
#include "dbt/dbt.h"
#include "os/files/vfile.h"
#include "os/mm/elf.h"
#include "os/mm/procmaps.h"
#include "os/mm/vma.h"
#include "os/session/scratch.h"
#include "perf/perf.h"
#include "rt/fmt.h"
#include "rt/string.h"
#include "rt/sys.h"

#define OUT_SIZE    0x4000
#define ARENA_NAME  "/memfd:pcl (deleted)" /* outside pcl's own region: an event's ring buffer */
#define NAME_COLUMN 73 /* show_map_vma_header_prefix() and seq_pad() in Linux */
#define TEXT_MAX    4400
#define MAPS_MODE   0444

/* One line of output, before it is known that the next does not continue it. */
struct entry {
	gva start, end;
	char perms[5];
	u64 offset;
	gva line; /* of its last part: where the host's line begins, and its permissions */
	char line_perms[5];
	char id[48], name[ARENA_PATH];
};

struct maps_writer {
	int fd;
	bool own, merge;
	bool have; /* `last` is valid */
	int err;
	u32 filled;
	struct entry last, next;
	char in[PROCMAPS_BUFFER], out[OUT_SIZE];
};

static void flush(struct maps_writer *w)
{
	if (w->filled && sys3(__NR_write, w->fd, w->out, w->filled) != (long)w->filled)
		w->err = -EIO;
	w->filled = 0;
}

static void put_entry(struct maps_writer *w, const struct entry *e)
{
	size_t from, at;

	if (w->filled + TEXT_MAX > OUT_SIZE)
		flush(w);
	from = at = w->filled;
	at = rt_append(w->out, OUT_SIZE, at, "%08lx-%08lx %s %08lx %s ", e->start, e->end, e->perms, e->offset, e->id);
	while (e->name[0] && at - from < NAME_COLUMN)
		w->out[at++] = ' ';
	w->filled = (u32)rt_append(w->out, OUT_SIZE, at, "%s\n", e->name);
}

static bool is_anonymous(const char *id)
{
	return !strncmp(id, "00:00 0", 7);
}

/*
 * The host would have merged two lines that it protects alike. If it has not they differ in something that is not
 * shown, and would have two lines natively: one of them is locked, say.
 */
static bool split_by_pcl(const struct entry *a, const struct entry *b)
{
	return a->line == b->line || strcmp(a->line_perms, b->line_perms);
}

static bool continues(const struct entry *a, const struct entry *b)
{
	return split_by_pcl(a, b) && a->end == b->start && !strcmp(a->perms, b->perms) && !strcmp(a->id, b->id) &&
	       !strcmp(a->name, b->name) && (is_anonymous(a->id) || a->offset + (a->end - a->start) == b->offset);
}

static void add_entry(struct maps_writer *w)
{
	if (w->have && w->merge && continues(&w->last, &w->next)) {
		w->last.end = w->next.end;
		w->last.line = w->next.line;
		memcpy(w->last.line_perms, w->next.line_perms, sizeof(w->last.line_perms));
		return;
	}
	if (w->have)
		put_entry(w, &w->last);
	w->last = w->next;
	w->have = true;
}

static void finish(struct maps_writer *w)
{
	if (w->have)
		put_entry(w, &w->last);
	w->have = false;
}

static const char *name_of(const struct vma *vma, const char *host_name)
{
	if (vma->kind == VMA_HEAP)
		return "[heap]";
	if (vma->kind == VMA_STACK)
		return "[stack]";
	/* What the kernel takes for heap or stack because it is near the guest's. */
	if (!strcmp(host_name, "[heap]"))
		return "";
	return host_name;
}

/* An event's mapping, as natively. */
static void show_event(struct entry *e)
{
	struct perf_mmap_inode inode;

	perf_mmap_inode(&inode);
	e->offset = 0;
	rt_snprintf(e->id, sizeof(e->id), "%02x:%02x %lu", inode.maj, inode.min, inode.ino);
	rt_snprintf(e->name, sizeof(e->name), PERF_MMAP_NAME);
}

/* The part of a line that lies in [start, end) with one protection. */
static void add_part(struct maps_writer *w, const struct procmaps_line *line, gva start, gva end, const struct vma *vma)
{
	struct entry *e = &w->next;

	e->start = start;
	e->end = end;
	e->line = line->start;
	memcpy(e->line_perms, line->perms, sizeof(e->line_perms));
	memcpy(e->perms, line->perms, sizeof(e->perms));
	if (vma) {
		e->perms[0] = vma->prot & PROT_READ ? 'r' : '-';
		e->perms[1] = vma->prot & PROT_WRITE ? 'w' : '-';
		e->perms[2] = vma->prot & PROT_EXEC ? 'x' : '-';
	}
	e->offset = is_anonymous(line->id) ? 0 : line->offset + (start - line->start);
	rt_snprintf(e->id, sizeof(e->id), "%.*s", (int)line->id_len, line->id);
	rt_snprintf(e->name, sizeof(e->name), "%s", vma ? name_of(vma, line->name) : line->name);
	if (!strcmp(line->name, ARENA_NAME))
		show_event(e);
	add_entry(w);
}

/*
 * Another process's mapping: the kernel has merged the code of a file with what was mapped beside it, since it sees no
 * difference. Loaders map code as a whole; what begins behind its first page is something else.
 */
static void add_of_other(struct maps_writer *w, const struct procmaps_line *line)
{
	u64 from, to, len = line->end - line->start;
	struct procmaps_line code = *line;

	if (line->name[0] != '/' || line->perms[1] != '-' || !elf_code(line->name, &from, &to) ||
	    from < line->offset || from >= line->offset + len) {
		add_part(w, line, line->start, line->end, NULL);
		return;
	}
	from = line->start + (from - line->offset);
	to = MIN(line->start + (to - line->offset), line->end);
	code.perms[2] = 'x';
	if (from > line->start)
		add_part(w, line, line->start, from, NULL);
	add_part(w, &code, from, to, NULL);
	if (to < line->end)
		add_part(w, line, to, line->end, NULL);
}

/*
 * The code cache of another process may be anywhere below 2 GiB. Nothing else is executable there for the host, but the
 * vDSO; in front of it are its tables.
 */
static bool is_cache_of_other(const struct procmaps_line *line)
{
	if (line->start >= LAYOUT_NEAR_END)
		return false;
	if (line->perms[2] == 'x')
		return line->name[0] != '[';
	return is_anonymous(line->id) && !line->name[0] && line->end - line->start == DBT_HALF_TABLES &&
	       !(line->start % DBT_HALF_ALIGN);
}

/* True if anything of the line is the guest's. */
static bool add_line(struct maps_writer *w, const struct procmaps_line *line)
{
	bool any = false;
	gva at, stop;

	if (vma_reserved(line->start, line->end) || (!w->own && is_cache_of_other(line)))
		return false;
	if (!w->own) {
		add_of_other(w, line);
		return true;
	}
	vma_lock();
	for (at = line->start; at < line->end; at = stop) {
		const struct vma *v = vma_next_locked(at);

		if (!v || v->start > at) {
			stop = v ? MIN(v->start, line->end) : line->end;
			v = NULL;
		} else {
			stop = MIN(v->end, line->end);
		}
		if (v && v->kind == VMA_HOST)
			continue;
		add_part(w, line, at, stop, v);
		any = true;
	}
	vma_unlock();
	return any;
}

static int write_maps(struct maps_writer *w, const char *path)
{
	struct procmaps pm;
	struct procmaps_line line;
	int ret = procmaps_open(&pm, path, w->in);

	if (ret)
		return ret;
	w->merge = w->own;
	while (procmaps_next(&pm, &line))
		add_line(w, &line);
	finish(w);
	flush(w);
	procmaps_close(&pm);
	return w->err;
}

/* smaps: the line of each mapping is followed by its figures. */
static int write_smaps(struct maps_writer *w, const char *path)
{
	struct procmaps pm;
	struct procmaps_line line;
	const char *other;
	bool shown = false;
	int ret = procmaps_open(&pm, path, w->in);

	if (ret)
		return ret;
	for (;;) {
		enum procmaps_what what = procmaps_next_any(&pm, &line, &other);

		if (what == PROCMAPS_END)
			break;
		if (what == PROCMAPS_MAPPING) {
			shown = add_line(w, &line);
			finish(w);
		} else if (shown) {
			if (w->filled + TEXT_MAX > OUT_SIZE)
				flush(w);
			w->filled = (u32)rt_append(w->out, OUT_SIZE, w->filled, "%s\n", other);
		}
	}
	flush(w);
	procmaps_close(&pm);
	return w->err;
}

int vfile_write_maps(struct thread *t, const struct vfile *v, int fd)
{
	struct maps_writer *w = scratch_alloc(sizeof(*w));
	int ret;

	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->own = v->pid != 0;
	ret = v->kind == VFILE_MAPS ? write_maps(w, v->path) : write_smaps(w, v->path);
	scratch_free(w, sizeof(*w));
	return ret ? ret : (int)sys2(__NR_fchmod, fd, MAPS_MODE);
}
