/* See warm.h. */
#include "os/mm/warm.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "dbt/dbt.h"
#include "dbt/siblings.h"
#include "os/mm/procmaps.h"
#include "os/mm/vma.h"
#include "os/session/own_faults.h"
#include "os/session/proc.h"
#include "os/session/process.h"
#include "os/session/scratch.h"
#include "rt/arch.h"
#include "rt/fmt.h"
#include "rt/hash.h"
#include "rt/layout.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define CLOCK_REALTIME_COARSE_ 5
/* A file that changed so recently may change again at the same time, as far as its times tell. */
#define SETTLED_NS 2000000000l
#define VDSO_MAX 0x10000ul
/* An image is worth it if so many blocks were translated, and such a part of what the image has: warm_wants_save(). */
#define NEW_MIN 128u
#define NEW_PART 16u
#define DOUBLED_MAX 16u
#define CHANCE_PART 8u /* and by chance from this part of that on, but from NEW_MIN: is_chosen() */
#define LINKER_MAX 4096u /* blocks, of which some 2,300 are the dynamic linker's own: dbt_host_notify() */
#define COPIES_PART 8u /* one process in so many writes one to name the files that there are now: names_copies() */

static struct warm_key key; /* of the program */
static struct warm_file program;
static struct warm_key linker; /* of what the dynamic linker does before the program begins */
static bool wanted;	    /* there is one, or another program's may serve */
static bool may_save;	    /* its file can be told from others */
static bool begun;	    /* it is mapped */
static bool has_copies;	    /* a region was told by its content: the image names another file */

/* What was mapped, with the number of its mapping in the memory map. Under vma_lock(). */
static struct mapped {
	struct warm_region region;
	u64 id;
} mapped[WARM_REGIONS];
static u32 nmapped;

/* Also where a filter may kill for a call that the guest does not make itself. */
static bool enabled(void)
{
	const struct session_config *c = &the_process.config;

	return c->warm_settings && !__atomic_load_n(&arena()->images_off, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&c->filtered, __ATOMIC_RELAXED);
}

static u64 ns_of(const struct timespec *ts)
{
	return (u64)ts->tv_sec * 1000000000ul + (u64)ts->tv_nsec;
}

static struct warm_file file_of(const struct stat *st)
{
	return (struct warm_file){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (u64)st->st_size,
		.mtime = ns_of(&st->st_mtim),
		.ctime = ns_of(&st->st_ctim),
	};
}

static bool identify(int fd, struct warm_file *out)
{
	struct stat st;
	struct timespec now;

	if (sys2(__NR_fstat, fd, &st) || !S_ISREG(st.st_mode) || sys2(__NR_clock_gettime, CLOCK_REALTIME_COARSE_, &now))
		return false;
	*out = file_of(&st);
	return (s64)(ns_of(&now) - MAX(out->ctime, out->mtime)) >= SETTLED_NS;
}

bool warm_identify(int fd, struct warm_file *out)
{
	return wanted && enabled() && identify(fd, out);
}

/* The runtime's first segment is its headers and its build id, which is made from all of it. */
static void take_build(u64 *build)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)LAYOUT_BASE;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(LAYOUT_BASE + eh->e_phoff);

	build[0] = hash_of(eh, ph->p_filesz, 0);
	build[1] = hash_of(eh, ph->p_filesz, 1);
	build[2] = ph->p_filesz;
}

void warm_begin(int fd)
{
	char head[PAGE_SIZE];
	long n;

	if (!enabled())
		return;
	n = sys4(__NR_pread64, fd, head, sizeof(head), 0);
	may_save = n > 0 && identify(fd, &program);
	if (may_save) {
		key.size = program.size;
		key.head = hash_of(head, (size_t)n, 0);
	}
	take_build(key.build);
	key.settings = the_process.config.warm_settings;
	key.forms = the_process.config.landing << 2 | the_process.config.bswap;
	wanted = true;
}

static bool is_file(const struct warm_file *a, const struct warm_file *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Whether it is a file's, of which the image has code. */
static bool activate_locked(const struct warm_region *region)
{
	const struct warm_header *h = dbt_warm_header();
	bool any = false;

	for (u32 i = 0; h && i < h->nregions; i++) {
		const struct warm_region *r = &h->region[i];
		bool named = is_file(&r->file, &region->file);

		if (r->start != region->start || r->end != region->end || r->offset != region->offset ||
		    r->of_program != region->of_program || !(named || dbt_warm_is_same(i)))
			continue;
		has_copies |= !named;
		any |= !!region->file.ino;
		dbt_warm_activate(i);
	}
	return any;
}

static bool activate_all(void)
{
	bool any = false;

	vma_lock();
	for (u32 i = 0; i < nmapped; i++)
		any |= activate_locked(&mapped[i].region);
	vma_unlock();
	return any;
}

static const struct warm_file *find_linker(void)
{
	for (u32 i = 0; i < nmapped; i++)
		if (mapped[i].region.file.ino && !mapped[i].region.of_program)
			return &mapped[i].region.file;
	return NULL;
}

/*
 * What a dynamic linker does before the program begins is alike for all programs. So it has an image of its own, of
 * whatever program came first, and programs without one begin with that.
 */
static void start_with_linker(gva entry)
{
	const struct warm_file *file = find_linker();

	if (!file)
		return;
	linker = key;
	linker.size = file->size;
	linker.head = 0;
	if (!warm_file_load(&linker, true)) {
		dbt_notify_before(entry);
	} else if (!activate_all()) {
		warm_file_remove(&linker); /* of another version */
		dbt_warm_give_up();
	}
}

void warm_start(const struct cpu *cpu, gva entry)
{
	begun = true;
	if (!wanted || !enabled())
		return;
	key.want = cpu_bank(cpu)->want & CPU_WANT_BY_DRIVERS;
	dbt_half_place(0, &key.place[0], &key.place[1]);
	if (warm_file_load(&key, false))
		activate_all();
	else
		start_with_linker(entry);
	stat_add(images_used, !!dbt_warm_header());
}

/* As a place for a mapping at start: the one that was there, or a new one. NULL: there are too many. */
static struct mapped *place_for(gva start)
{
	for (u32 i = 0; i < nmapped; i++)
		if (mapped[i].region.start == start)
			return &mapped[i];
	return nmapped < WARM_REGIONS ? &mapped[nmapped++] : NULL;
}

static void add_locked(const struct warm_region *region)
{
	struct mapped *m = place_for(region->start);
	struct vma vma;

	if (!m || vma_lookup(region->start, &vma))
		return;
	*m = (struct mapped){*region, vma.id};
	own_faults_begin(thread_current());
	activate_locked(region);
	own_faults_end(thread_current());
}

void warm_mapped_locked(gva start, gva end, u64 offset, const struct warm_file *file)
{
	struct warm_region region = {.start = start, .end = end, .offset = offset, .file = *file};

	region.of_program = !begun && is_file(file, &program);
	add_locked(&region);
}

void warm_vdso_locked(gva start, gva end)
{
	struct warm_region region = {.start = start, .end = end, .file.size = end - start};

	if (!wanted || end - start > VDSO_MAX)
		return;
	region.file.mtime = hash_of((const void *)start, end - start, 0);
	add_locked(&region);
}

static bool ends_in_mem(const char *path, long len)
{
	return len > 4 && !memcmp(path + len - 4, "/mem", 4);
}

/* Whichever process's memory it is: a process that begins from now on uses no image, and this one gives up its own. */
void warm_opened_for_writing(long fd)
{
	char link[32], path[64];
	struct statfs fs;
	struct stat st;

	if (sys2(__NR_fstat, fd, &st) || st.st_mode != (S_IFREG | 0600) || st.st_size || st.st_blocks)
		return;
	if (sys2(__NR_fstatfs, fd, &fs) || fs.f_type != PROC_SUPER_MAGIC)
		return;
	rt_snprintf(link, sizeof(link), "self/fd/%ld", fd);
	if (!ends_in_mem(path, sys4(__NR_readlinkat, proc_dir(), link, path, sizeof(path))))
		return;
	__atomic_store_n(&arena()->images_off, 1, __ATOMIC_RELAXED);
	if (dbt_warm_header())
		dbt_warm_give_up();
}

/* ---- saving ---- */

/* The regions that are still as they were mapped, up to an end, and what the kernel says of each of their pages. */
struct saving {
	struct warm_region region[WARM_REGIONS];
	gva end[WARM_REGIONS];
	u64 *pages[WARM_REGIONS];
	u32 n;
	char buffer[PROCMAPS_BUFFER];
};

/*
 * Up to where it is, 0: nowhere. A library whose code is its first segment is mapped whole, as code, and then its data
 * over the end of that.
 */
static gva still_mapped(const struct mapped *m)
{
	const struct warm_region *r = &m->region;
	struct vma vma;

	if (vma_lookup(r->start, &vma) || vma.id != m->id || vma.start > r->start)
		return 0;
	if ((vma.prot & (PROT_EXEC | PROT_WRITE)) != PROT_EXEC || (vma.flags & VMA_SHARED) ||
	    (r->file.ino && vma.offset + (r->start - vma.start) != r->offset))
		return 0;
	return MIN(vma.end, r->end);
}

static u64 pages_size(const struct warm_region *r)
{
	return (r->end - r->start) / PAGE_SIZE * sizeof(u64);
}

static bool read_pages(struct saving *s, int pagemap)
{
	for (u32 i = 0; i < s->n; i++) {
		const struct warm_region *r = &s->region[i];
		u64 size = pages_size(r), at = r->start / PAGE_SIZE * sizeof(u64);

		if (!r->file.ino)
			continue;
		s->pages[i] = scratch_alloc(size);
		if (!s->pages[i] || sys4(__NR_pread64, pagemap, s->pages[i], size, at) != (long)size)
			return false;
	}
	return true;
}

/* Nobody has written to it, a debugger included: then it would be private memory. */
static bool is_clean(u64 page, u32 region, void *arg)
{
	const struct saving *s = arg;
	const struct warm_region *r = &s->region[region];
	u64 entry;

	if (page >= s->end[region])
		return false;
	if (!r->file.ino)
		return true; /* the vDSO, whose content is known */
	entry = s->pages[region][(page - r->start) / PAGE_SIZE];
	return !(entry & PAGE_SWAPPED) && (!(entry & PAGE_PRESENT) || (entry & PAGE_OF_FILE));
}

static bool is_at(const char *path, const struct warm_file *file)
{
	struct stat st;
	struct warm_file now;

	if (sys4(__NR_newfstatat, AT_FDCWD, path, &st, 0))
		return false;
	now = file_of(&st);
	return is_file(&now, file);
}

/*
 * Nothing is kept of a file that has changed since it was mapped, or that has gone: code may be from before, and what
 * the page holds now is not what it was made from.
 */
static void leave_out_changed(struct saving *s)
{
	struct procmaps_line line;
	struct procmaps pm;
	bool found[WARM_REGIONS] = {0};

	if (!procmaps_open(&pm, "self/maps", s->buffer)) {
		while (procmaps_next(&pm, &line))
			for (u32 i = 0; i < s->n; i++)
				if (s->region[i].start >= line.start && s->region[i].start < line.end)
					found[i] = is_at(line.name, &s->region[i].file);
		procmaps_close(&pm);
	}
	for (u32 i = 0; i < s->n; i++)
		if (s->region[i].file.ino && !found[i])
			s->end[i] = 0;
}

static void find_regions(struct saving *s, bool of_program)
{
	vma_lock();
	for (u32 i = 0; i < nmapped; i++) {
		if (mapped[i].region.of_program && !of_program)
			continue;
		s->end[s->n] = still_mapped(&mapped[i]);
		if (s->end[s->n])
			s->region[s->n++] = mapped[i].region;
	}
	vma_unlock();
}

static void save_regions(struct saving *s, const struct warm_key *as)
{
	long pagemap = sys4(__NR_openat, proc_dir(), "self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	struct warm_header *h = NULL;

	if (pagemap < 0)
		return;
	find_regions(s, as == &key);
	leave_out_changed(s);
	if (read_pages(s, (int)pagemap))
		h = dbt_warm_make(s->region, s->n, is_clean, s);
	sys1(__NR_close, pagemap);
	if (!h)
		return;
	h->key = *as;
	warm_file_write(h);
}

static void save(const struct warm_key *as)
{
	struct saving *s = scratch_alloc(sizeof(*s));

	if (!s)
		return;
	own_faults_begin(thread_current());
	if (!warm_file_is_there(as)) /* to make one takes long, and children of the same process each have the same */
		save_regions(s, as);
	for (u32 i = 0; i < s->n; i++)
		if (s->pages[i])
			scratch_free(s->pages[i], pages_size(&s->region[i]));
	scratch_free(s, sizeof(*s));
	own_faults_end(thread_current());
}

/* With vma_lock(). */
static bool is_mapped(u64 pc)
{
	static u32 last;

	if (last < nmapped && pc >= mapped[last].region.start && pc < mapped[last].region.end)
		return true;
	for (u32 i = 0; i < nmapped; i++)
		if (pc >= mapped[i].region.start && pc < mapped[i].region.end) {
			last = i;
			return true;
		}
	return false;
}

u32 warm_new(u32 *before)
{
	u32 new;

	vma_lock();
	new = dbt_warm_new(before, is_mapped);
	vma_unlock();
	return new;
}

/*
 * The dynamic linker is done, and nothing of the program has been executed, but initializers of its libraries. If these
 * are most of it, another program's image is a better one for all.
 */
void dbt_host_notify(void)
{
	u32 before;

	if (!enabled() || !process_is_alone(thread_current()) || warm_new(&before) > LINKER_MAX)
		return;
	save(&linker);
	dbt_warm_goes_on();
}

/*
 * If each run of a program translates less than the goal, and the same blocks each time, none would ever write an
 * image. So each writes one with the probability new / goal: one in as many runs as translate the goal together.
 */
static bool is_chosen(u32 new, u32 goal)
{
	return new >= MAX(NEW_MIN, goal / CHANCE_PART) && hash_word(arch_ticks(), new) % goal < new;
}

/*
 * Who was served by an image of copies of its files had to compare their content. So some write it anew, with the files
 * that there are now, and ever fewer in a session: where two copies are used in turns there is none for both.
 */
static bool names_copies(const struct images_missed *m)
{
	u64 parts = (u64)COPIES_PART << MIN(__atomic_load_n(&m->written, __ATOMIC_RELAXED), DOUBLED_MAX);

	return has_copies && !(hash_word(arch_ticks(), parts) % parts);
}

/*
 * Many short processes, as a shell's children, each translate the same code again. Their work is added up for the image
 * that would have saved it, together with what their parent has done for them. Processes that began before an image was
 * written go on translating the same, so the sum has to be twice as large each time.
 */
bool warm_wants_save(void)
{
	struct images_missed *m = warm_missed(&key);
	u32 before, new, sum;
	u64 goal, goal_of_all;

	if (!may_save || !enabled())
		return false;
	new = warm_new(&before);
	goal = MAX(NEW_MIN, before / NEW_PART);
	sum = __atomic_add_fetch(&m->blocks, new + siblings_found(), __ATOMIC_RELAXED);
	goal_of_all = goal << MIN(__atomic_load_n(&m->written, __ATOMIC_RELAXED), DOUBLED_MAX);
	if (new < goal && sum < goal_of_all && !is_chosen(new, goal) && !names_copies(m))
		return false;
	__atomic_store_n(&m->blocks, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&m->written, 1, __ATOMIC_RELAXED);
	return true;
}

void warm_save(void)
{
	save(&key);
}
