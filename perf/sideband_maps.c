/*
 * Mappings, as the kernel's perf_event_mmap() would describe them; see perf.h.
 *
 * Extent and protection are the guest's (os/mm/vma.h), the file is what the host's /proc/self/maps says, which names
 * files, devices and inodes as the kernel's own records do. A file's generation and build id are read from the file.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "os/mm/procmaps.h"
#include "os/mm/sys_mm.h"
#include "os/session/apart.h"
#include "os/session/handover.h"
#include "os/session/scratch.h"
#include "os/task/load.h"
#include "perf/perf.h"
#include "rt/string.h"
#include "rt/sys.h"

#define NOTES_MAX    4096 /* bytes of one note segment that are looked at */
#define PHDRS_MAX    64
#define BUILD_ID_MAX 20

/* Why a mapping is recorded, which makes a difference to its extent and its name. */
enum occasion {
	NEW_MAPPING,
	NEW_PROTECTION,
	NEW_IMAGE, /* the first mapping of a program whose place the loader chose */
};

/* One mapping on its way. */
struct mapping_record {
	struct mapping_record *next; /* of those that one call unmaps */
	enum occasion occasion;
	struct sideband_mmap m;
	struct vma vma;
	bool first_brk;
	gva end;
	int fd;
	u8 build_id[BUILD_ID_MAX];
	Elf64_Phdr phdr[PHDRS_MAX];
	u8 notes[NOTES_MAX];
	char buffer[PROCMAPS_BUFFER];
};

/* ---- the file ---- */

/* The host's line for an address; its name is in the buffer. */
static bool find_line(struct mapping_record *w, gva at, struct procmaps_line *line)
{
	struct procmaps pm;
	bool found;

	if (procmaps_open(&pm, "self/maps", w->buffer))
		return false;
	found = procmaps_around(&pm, at, line) && line->start <= at;
	procmaps_close(&pm);
	return found;
}

static const char *name_of(const struct mapping_record *w, const char *host_name)
{
	switch (w->vma.kind) {
	case VMA_HEAP: /* Linux quirk: not yet where the first brk(2) makes it */
		return w->first_brk ? "//anon" : "[heap]";
	case VMA_STACK:
		return "[stack]";
	case VMA_EVENT:
		return PERF_MMAP_NAME;
	case VMA_VDSO:
	case VMA_VVAR:
		return host_name;
	default:
		return w->m.ino ? host_name : "//anon";
	}
}

/* The build id among the notes: the kernel's parse_build_id(). */
static u32 find_build_id(const u8 *notes, u64 size, u8 *out)
{
	Elf64_Nhdr n;

	for (u64 at = 0; at + sizeof(n) <= size;) {
		u64 name = at + sizeof(n), desc;

		memcpy(&n, notes + at, sizeof(n));
		desc = name + ALIGN_UP((u64)n.n_namesz, 4);
		if (desc + n.n_descsz > size)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU")) && n.n_descsz && n.n_descsz <= BUILD_ID_MAX) {
			memcpy(out, notes + desc, n.n_descsz);
			return n.n_descsz;
		}
		at = desc + ALIGN_UP((u64)n.n_descsz, 4);
	}
	return 0;
}

static void read_build_id(struct mapping_record *w, int fd)
{
	Elf64_Ehdr eh;

	if (sys4(__NR_pread64, fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum > PHDRS_MAX)
		return;
	if (sys4(__NR_pread64, fd, w->phdr, eh.e_phnum * sizeof(Elf64_Phdr), eh.e_phoff) !=
	    (long)(eh.e_phnum * sizeof(Elf64_Phdr)))
		return;
	for (u32 i = 0; i < eh.e_phnum && !w->m.build_id_size; i++) {
		u64 size = MIN(w->phdr[i].p_filesz, (u64)NOTES_MAX);

		if (w->phdr[i].p_type == PT_NOTE &&
		    sys4(__NR_pread64, fd, w->notes, size, w->phdr[i].p_offset) == (long)size)
			w->m.build_id_size = find_build_id(w->notes, size, w->build_id);
	}
}

/* fd: the file, as one of the guest's; -1: by its name. */
static void look_into_file(struct thread *t, struct mapping_record *w, int fd)
{
	char text[ARENA_PATH + 64];
	const char *path = fd < 0 ? w->m.filename : "";
	struct stat st;
	s32 generation = 0, dir;
	long own = -1;

	if (fd < 0 || t->is_apart) {
		dir = apart_path(text, fd < 0 ? AT_FDCWD : fd, &path);
		fd = (int)(own = sys4(__NR_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
	}
	if (fd < 0)
		return;
	if (!sys2(__NR_fstat, fd, &st) && S_ISREG(st.st_mode) && st.st_ino == w->m.ino) {
		sys3(__NR_ioctl, fd, FS_IOC_GETVERSION, &generation);
		w->m.ino_generation = (u32)generation;
		if (perf_sideband_wanted(t, SB_BUILD_ID))
			read_build_id(w, fd);
	}
	if (own >= 0)
		sys1(__NR_close, own);
}

/* ---- the mapping ---- */

static u64 page_offset(const struct vma *vma, gva start)
{
	if (vma->kind == VMA_EVENT)
		return 0;
	if (vma->flags & VMA_FILE)
		return vma->offset + (start - vma->start);
	return vma->flags & VMA_SHARED || vma->kind == VMA_VDSO || vma->kind == VMA_VVAR ? 0 : start;
}

/* What is mapped at `at` continues the mapping: the kernel joins such, ours is a table of calls. */
static bool join(struct vma *vma, gva at)
{
	struct vma next;

	if (vma_lookup(at, &next) || next.prot != vma->prot || next.flags != vma->flags || next.kind != vma->kind ||
	    next.offset - next.start != vma->offset - vma->start)
		return false;
	vma->offset -= vma->start - MIN(vma->start, next.start);
	vma->start = MIN(vma->start, next.start);
	vma->end = MAX(vma->end, next.end);
	return true;
}

/* Joins what belongs to the same file, as the host's line shows. */
static void join_neighbours(struct vma *vma, const struct procmaps_line *line)
{
	if (!(vma->flags & VMA_FILE) || vma->kind == VMA_EVENT)
		return;
	while (vma->end < line->end && join(vma, vma->end))
		;
	while (vma->start > line->start && join(vma, vma->start - 1))
		;
}

static void describe_event(struct sideband_mmap *m)
{
	struct perf_mmap_inode inode;

	perf_mmap_inode(&inode);
	m->maj = inode.maj;
	m->min = inode.min;
	m->ino = inode.ino;
}

/* The mapping in w->vma; up to w->end, if that is not 0. For apart_run(). */
static long describe(void *arg)
{
	struct mapping_record *w = arg;
	struct thread *t = thread_current();
	struct vma *vma = &w->vma;
	struct procmaps_line line;
	gva end = w->end;

	if (!find_line(w, vma->flags & VMA_GROWSDOWN ? vma->end - 1 : vma->start, &line))
		line = (struct procmaps_line){.name = vma->kind == VMA_VDSO ? "[vdso]" : ""};
	join_neighbours(vma, &line);
	if (vma->kind == VMA_VVAR)
		vma->end = MIN(vma->end, line.end); /* of several kinds, which lie side by side */
	if (!end || (end > vma->end && w->occasion != NEW_IMAGE))
		end = vma->end;
	w->m = (struct sideband_mmap){
		.addr = vma->start,
		.len = end - vma->start,
		.pgoff = page_offset(vma, vma->start),
		.maj = line.maj,
		.min = line.min,
		.ino = line.ino,
		.prot = vma->prot,
		.flags = (vma->flags & VMA_SHARED ? MAP_SHARED : MAP_PRIVATE) |
			 (mm_lock_future & MCL_FUTURE ? MAP_LOCKED : 0),
		.misc_exec = vma->prot & PROT_EXEC,
		.build_id = w->build_id,
	};
	if (vma->kind == VMA_EVENT)
		describe_event(&w->m);
	if ((vma->flags & VMA_GROWSDOWN) && line.start > w->m.addr && line.start < end) {
		w->m.len -= line.start - w->m.addr;
		w->m.addr = w->m.pgoff = line.start;
	}
	w->m.filename = name_of(w, line.name);
	if (w->m.ino && vma->kind != VMA_EVENT)
		look_into_file(t, w, w->fd);
	return 0;
}

static bool is_wanted(struct thread *t, const struct vma *vma)
{
	return perf_sideband_wanted(t, vma->prot & PROT_EXEC ? SB_MMAP : SB_MMAP_DATA);
}

/* The mapping around `at`, by way of *w; up to `end`, if that is not 0. */
static void record_by(struct thread *t, struct mapping_record *w, gva at, gva end, enum occasion occasion, int fd)
{
	struct vma vma;

	if (vma_lookup(at, &vma) || !is_wanted(t, &vma))
		return;
	w->vma = vma;
	w->occasion = occasion;
	w->first_brk = occasion == NEW_MAPPING && vma.start == at;
	if (vma.kind == VMA_VVAR)
		w->vma.start = at;
	w->end = end;
	w->fd = fd;
	apart_run(describe, w);
	sideband_mmap(t->cpu->slot, &w->m);
}

static void record_around(struct thread *t, gva at, gva end, enum occasion occasion, int fd)
{
	struct mapping_record *w;
	struct vma vma;

	if (vma_lookup(at, &vma) || !is_wanted(t, &vma))
		return;
	w = scratch_alloc(sizeof(*w));
	if (!w)
		return;
	record_by(t, w, at, end, occasion, fd);
	scratch_free(w, sizeof(*w));
}

void perf_mapped_slowly(struct thread *t, gva at, int fd)
{
	record_around(t, at, 0, NEW_MAPPING, fd);
}

void perf_protect_begin_locked(struct thread *t, gva start, gva end, u32 prot, struct perf_protection *out)
{
	const struct vma *v;

	out->n = 0;
	if (!perf_sideband_wanted(t, SB_MMAP | SB_MMAP_DATA))
		return;
	for (gva at = start; at < end && (v = vma_next_locked(at)) && v->start < end; at = v->end)
		if (v->prot != prot && out->n < PERF_PROTECTION_PARTS)
			out->start[out->n++] = MAX(v->start, start);
}

void perf_protected(struct thread *t, const struct perf_protection *pieces)
{
	for (u32 i = 0; i < pieces->n; i++)
		record_around(t, pieces->start[i], i + 1 < pieces->n ? pieces->start[i + 1] : 0, NEW_PROTECTION, -1);
}

/* Where the mapping around or above `at` begins, not below `at`; `end` if there is none. */
static gva next_mapping(gva at, gva end)
{
	const struct vma *v;
	gva next;

	vma_lock();
	v = vma_next_locked(at);
	next = v ? MAX(v->start, at) : end;
	vma_unlock();
	return next;
}

/* The executable mapping around `at`, as much of it as lies in [start, end). */
static struct mapping_record *describe_part(const struct vma *vma, gva start, gva end)
{
	struct mapping_record *w = scratch_alloc(sizeof(*w));
	struct sideband_mmap *m;
	u64 before;

	if (!w)
		return NULL;
	m = &w->m;
	w->vma = *vma;
	w->fd = -1;
	apart_run(describe, w);
	before = m->addr < start ? start - m->addr : 0;
	m->addr += before;
	m->pgoff += before;
	m->len = MIN(m->len - before, end - m->addr);
	return w;
}

struct mapping_record *perf_unmapping_slowly(gva start, gva end)
{
	struct mapping_record *all = NULL, **last = &all;
	struct vma vma;

	for (gva at = start; (at = next_mapping(at, end)) < end && !vma_lookup(at, &vma); at = vma.end) {
		if (!(vma.prot & PROT_EXEC))
			continue;
		*last = describe_part(&vma, start, end);
		if (!*last)
			break;
		vma.end = (*last)->m.addr + (*last)->m.len; /* with those that belong to it */
		last = &(*last)->next;
	}
	return all;
}

void perf_unmapped_slowly(struct thread *t, struct mapping_record *gone, long ret)
{
	struct mapping_record *next;

	for (; gone; gone = next) {
		next = gone->next;
		if (!sys_is_error(ret))
			sideband_munmap(t->cpu->slot, &gone->m);
		scratch_free(gone, sizeof(*gone));
	}
}

/*
 * The mappings of an image, in [start, end); segments may have gaps between them. Linux quirk: the first one is
 * recorded with the length of the whole image if the loader had to find a place for it.
 */
static void record_image(struct thread *t, struct mapping_record *w, gva start, gva end, bool placed)
{
	struct vma vma;

	for (gva at = start; (at = next_mapping(at, end)) < end; at = vma.end) {
		if (vma_lookup(at, &vma))
			return;
		if (placed && at == start)
			record_by(t, w, at, end, NEW_IMAGE, -1);
		else
			record_by(t, w, at, 0, NEW_MAPPING, -1);
	}
}

/* The first of that kind that ends above `at`. */
static bool find_kind(gva at, enum vma_kind kind, struct vma *out)
{
	const struct vma *v;

	vma_lock();
	for (v = vma_next_locked(at); v && v->kind != kind; v = vma_next_locked(v->end))
		;
	if (v)
		*out = *v;
	vma_unlock();
	return v;
}

/*
 * The mappings of a kind as the host tells them apart: the kernel's data pages are of several sorts, and one here. At
 * exec, so in a table that nobody shares.
 */
static void record_kind(struct thread *t, struct mapping_record *w, enum vma_kind kind)
{
	struct procmaps_line line;
	struct procmaps pm;
	struct vma vma;

	for (gva from = 0; find_kind(from, kind, &vma); from = vma.end) {
		if (!is_wanted(t, &vma) || procmaps_open(&pm, "self/maps", w->buffer))
			continue;
		for (gva at = vma.start; at < vma.end && procmaps_around(&pm, at, &line); at = line.end)
			if (line.start < vma.end)
				record_by(t, w, line.start, 0, NEW_MAPPING, -1);
		procmaps_close(&pm);
	}
}

/* The name first and the tracepoint of the exec last, as in the kernel. */
static void record_images(struct thread *t, const struct load_result *loaded)
{
	struct mapping_record *w = scratch_alloc(sizeof(*w));

	if (!w)
		return;
	record_kind(t, w, VMA_STACK);
	record_image(t, w, loaded->program, loaded->program_end, loaded->program_placed);
	record_image(t, w, loaded->interp, loaded->interp_end, true);
	record_kind(t, w, VMA_VDSO);
	record_kind(t, w, VMA_VVAR);
	scratch_free(w, sizeof(*w));
}

void perf_executed(struct thread *t, const struct load_result *loaded, const struct perf_executed *before)
{
	bool traced = perf_traces_wanted(t->cpu->slot);

	if (traced)
		perf_trace_rename(t, t->task->tid, before->comm, t->task->comm);
	if (perf_sideband_wanted(t, SB_COMM))
		sideband_comm(t->cpu->slot, t->cpu->slot, t->task->comm, true);
	if (perf_sideband_wanted(t, SB_MMAP | SB_MMAP_DATA))
		record_images(t, loaded);
	if (traced)
		perf_trace_exec(t, handover.name, before->tid);
}
