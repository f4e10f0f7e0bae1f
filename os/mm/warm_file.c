/*
 * The files of the cache directory: see warm.h.
 *
 * An image is written under a name of its own and renamed, so it is whole, or the writer died: then its beginning
 * is left until somebody looks whether there is too much. It is read only if it is the user's and nobody else's,
 * is what it is to be for, and has the checksum that it says; the last is looked at once in a session, see
 * is_checked().
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "os/mm/warm.h"
#include "os/session/process.h"
#include "os/session/scratch.h"
#include "rt/fmt.h"
#include "rt/hash.h"
#include "rt/log.h"
#include "rt/stats.h"
#include "rt/sys.h"

#define SUFFIX	    ".warm"
#define NAME_SIZE   96
#define ENTRIES	    32768	 /* bytes of directory entries at a time */
#define FILES_MAX   4096u	 /* files that are looked at */
#define LEFT_NS	    600000000000ul /* age of what a writer that died has left */
#define SETTLED_NS  2000000000l
#define SETTLED_FINE_NS 100000000l /* ten ticks of the slowest clock that the kernel takes them from */
#define CLOCK_REALTIME_COARSE_ 5

static s32 cache_dir(void)
{
	const struct thread *t = thread_current();

	return (t->has_left ? t->left_fd : the_process.runtime_fd) + CACHE_FD;
}

/*
 * A member that has changed its user may still be able to open what is there; the file system's user goes with the
 * effective one.
 */
static bool is_own_dir(void)
{
	struct stat st;

	return !sys2(__NR_fstat, cache_dir(), &st) && S_ISDIR(st.st_mode) && !(st.st_mode & 077) &&
	       st.st_uid == (u32)sys0(__NR_geteuid);
}

static u64 now_ns(void)
{
	struct timespec now = {0};

	sys2(__NR_clock_gettime, CLOCK_REALTIME_COARSE_, &now);
	return (u64)now.tv_sec * 1000000000ul + (u64)now.tv_nsec;
}

static u64 ns_of(const struct timespec *ts)
{
	return (u64)ts->tv_sec * 1000000000ul + (u64)ts->tv_nsec;
}

static void make_name(char *name, const struct warm_key *key)
{
	u64 low = hash_of(key, sizeof(*key), 0), high = hash_of(key, sizeof(*key), 1);

	rt_snprintf(name, NAME_SIZE, "%016lx%016lx" SUFFIX, low, high);
}

/* Nobody but this user can have written it. */
static bool is_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_mode & 07777) == (S_IRUSR | S_IWUSR) && st->st_nlink == 1 &&
	       st->st_uid == (u32)sys0(__NR_geteuid);
}

static long open_image(const char *name, struct stat *st)
{
	long fd = sys4(__NR_openat, cache_dir(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0)
		return fd;
	if (!sys2(__NR_fstat, fd, st) && is_own(st) && st->st_size >= WARM_HEADER_SIZE &&
	    (u64)st->st_size <= WARM_FILE_MAX)
		return fd;
	sys1(__NR_close, fd);
	return -EACCES;
}

static u64 sum_of(const struct warm_header *h, u64 size)
{
	u8 first[HASH_STEP] = {0};
	struct hash sum = hash_begin(size);

	memcpy(first, (const u8 *)h + WARM_CHECKED_FROM, HASH_STEP - WARM_CHECKED_FROM);
	hash_add(&sum, first, HASH_STEP);
	hash_add(&sum, (const u8 *)h + HASH_STEP, size - HASH_STEP);
	return hash_end(&sum);
}

/*
 * A member has found the checksum right, or written the file, and it has not changed since: its ctime would tell.
 * Members can write there what they want, but not to the file: a false entry can only hide that a file is damaged.
 */
static bool is_checked(const struct stat *st, bool note)
{
	const u64 words[] = {st->st_dev, st->st_ino, (u64)st->st_size, ns_of(&st->st_mtim), ns_of(&st->st_ctim)};
	u64 identity = hash_of(words, sizeof(words), 0), *known = &arena()->images_checked[identity % ARENA_IMAGES];

	if (note)
		__atomic_store_n(known, identity, __ATOMIC_RELAXED);
	return __atomic_load_n(known, __ATOMIC_RELAXED) == identity;
}

struct images_missed *warm_missed(const struct warm_key *key)
{
	u32 tag = (u32)hash_of(key, sizeof(*key), 0) | 1;

	for (u32 i = 0; i < ARENA_IMAGES; i++) {
		struct images_missed *m = &arena()->images_missed[(tag / 2 + i) % ARENA_IMAGES];
		u32 found = 0;

		if (__atomic_compare_exchange_n(&m->tag, &found, tag, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    found == tag)
			return m;
	}
	return &arena()->images_missed[tag / 2 % ARENA_IMAGES];
}

/* Times are not of whole seconds, which would not tell of a second change within one. */
static bool has_fine_times(const struct stat *st)
{
	return ns_of(&st->st_ctim) % 1000000000ul;
}

/* Its ctime is not of this moment. */
static bool is_settled(const struct stat *st)
{
	u64 age = now_ns() - ns_of(&st->st_ctim);

	return (s64)age >= (has_fine_times(st) ? SETTLED_FINE_NS : SETTLED_NS);
}

/* This process has written all of it, and given it its name. */
static void note_written(int fd)
{
	struct stat st;

	if (!sys2(__NR_fstat, fd, &st) && has_fine_times(&st))
		is_checked(&st, true);
}

/*
 * Its checksum has been computed, so all of it is in memory. What follows the tables is mapped elsewhere when it is
 * used.
 */
static void forget_parts(const struct warm_header *h)
{
	if (h->tables < h->size)
		sys3(__NR_madvise, (u64)h + h->tables, h->size - h->tables, MADV_DONTNEED);
}

static bool is_good(const struct warm_header *h, const struct warm_key *key, const struct stat *st)
{
	if (h->magic != WARM_MAGIC || h->size != (u64)st->st_size || h->size % PAGE_SIZE)
		return false;
	if (memcmp(&h->key, key, sizeof(*key)))
		return false;
	if (is_checked(st, false))
		return true;
	if (h->checksum != sum_of(h, h->size))
		return false;
	forget_parts(h);
	if (is_settled(st))
		is_checked(st, true);
	return true;
}

bool warm_file_load(const struct warm_key *key, bool of_other)
{
	const struct warm_header *h = dbt_warm_place();
	char name[NAME_SIZE];
	struct stat st;
	bool loaded = false;
	long fd, ret;

	if (!is_own_dir())
		return false;
	make_name(name, key);
	fd = open_image(name, &st);
	if (fd < 0)
		return false;
	ret = sys6(__NR_mmap, (long)dbt_warm_place(), st.st_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0);
	if (!sys_is_error(ret) && is_good(h, key, &st))
		loaded = !dbt_warm_load((int)fd, of_other);
	if (!loaded)
		log_printf(1, "the image %s of translations is not used", name);
	sys1(__NR_close, fd);
	return loaded;
}

void warm_file_remove(const struct warm_key *key)
{
	char name[NAME_SIZE];

	make_name(name, key);
	sys3(__NR_unlinkat, cache_dir(), name, 0);
}

/* ---- writing ---- */

/* What getdents64 returns. */
struct entry_of_dir {
	u64 ino;
	s64 offset;
	u16 len;
	u8 type;
	char name[];
};

struct file {
	u64 size, used; /* when it was read or written last */
	char name[NAME_SIZE];
};

/* Of one entry of the directory: what it may cost, or what is to go. */
static bool look_at(s32 dir, const char *name, struct file *out)
{
	struct stat st;

	if (name[0] == '.' || strlen(name) >= NAME_SIZE || sys4(__NR_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return false;
	rt_snprintf(out->name, NAME_SIZE, "%s", name);
	out->size = (u64)st.st_blocks * 512;
	out->used = MAX(ns_of(&st.st_atim), ns_of(&st.st_mtim));
	if (strstr(name, SUFFIX ".") && now_ns() - ns_of(&st.st_mtim) > LEFT_NS)
		out->used = 0;
	return strstr(name, SUFFIX);
}

static u32 list(s32 dir, struct file *files, char *entries)
{
	u32 n = 0;
	long got;

	while ((got = sys3(__NR_getdents64, dir, entries, ENTRIES)) > 0)
		for (long at = 0; at < got && n < FILES_MAX;) {
			const struct entry_of_dir *d = (const struct entry_of_dir *)(entries + at);

			n += look_at(dir, d->name, &files[n]);
			at += d->len;
		}
	return n;
}

/* Removes what was not used for the longest time, until the rest is within the limit. */
static void remove_oldest(s32 dir, struct file *files, u32 n, u64 limit)
{
	u64 sum = 0;

	for (u32 i = 0; i < n; i++)
		sum += files[i].size;
	for (;;) {
		u32 oldest = 0;

		for (u32 i = 1; i < n; i++)
			if (files[i].used < files[oldest].used)
				oldest = i;
		if (!n || (sum <= limit && files[oldest].used))
			break;
		sys3(__NR_unlinkat, dir, files[oldest].name, 0);
		sum -= files[oldest].size;
		files[oldest] = files[--n];
	}
}

static void keep_within_limit(u64 limit)
{
	long dir = sys4(__NR_openat, cache_dir(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	struct file *files;

	if (dir < 0)
		return;
	files = scratch_alloc(FILES_MAX * sizeof(*files) + ENTRIES);
	if (files) {
		remove_oldest((s32)dir, files, list((s32)dir, files, (char *)(files + FILES_MAX)), limit);
		scratch_free(files, FILES_MAX * sizeof(*files) + ENTRIES);
	}
	sys1(__NR_close, dir);
}

static bool write_all(long fd, const void *p, u64 size)
{
	const char *at = p;

	while (size) {
		long n = sys3(__NR_write, fd, at, size);

		if (n <= 0)
			return false;
		at += n;
		size -= (u64)n;
	}
	return true;
}

static bool write_image(long fd, const struct warm_header *h)
{
	bool ok = !sys2(__NR_fchmod, fd, S_IRUSR | S_IWUSR) && write_all(fd, h, h->tables);

	for (u32 i = 0; ok && i < WARM_PARTS; i++)
		ok = write_all(fd, dbt_warm_part(i), h->part[i]);
	return ok;
}

static void set_checksum(struct warm_header *h)
{
	u8 first[HASH_STEP] = {0};
	struct hash sum = hash_begin(h->size);

	memcpy(first, (const u8 *)h + WARM_CHECKED_FROM, HASH_STEP - WARM_CHECKED_FROM);
	hash_add(&sum, first, HASH_STEP);
	hash_add(&sum, (const u8 *)h + HASH_STEP, h->tables - HASH_STEP);
	for (u32 i = 0; i < WARM_PARTS; i++)
		hash_add(&sum, dbt_warm_part(i), h->part[i]);
	h->checksum = hash_end(&sum);
}

/* SIGXFSZ would be the guest's. */
static bool may_be_so_large(u64 size)
{
	struct rlimit limit;

	return !sys2(__NR_getrlimit, RLIMIT_FSIZE, &limit) && limit.rlim_cur >= size;
}

bool warm_file_is_there(const struct warm_key *key)
{
	struct warm_header *other = scratch_alloc(sizeof(*other));
	u32 before, new = warm_new(&before);
	char name[NAME_SIZE];
	struct stat st;
	bool there = false;
	long fd;

	if (!other)
		return true;
	make_name(name, key);
	fd = open_image(name, &st);
	if (fd >= 0) {
		there = sys4(__NR_pread64, fd, other, sizeof(*other), 0) == (long)sizeof(*other) &&
			other->magic == WARM_MAGIC && !memcmp(&other->key, key, sizeof(*key)) &&
			other->size == (u64)st.st_size && other->nentry > before + new - new / 2;
		sys1(__NR_close, fd);
	}
	scratch_free(other, sizeof(*other));
	return there;
}

void warm_file_write(struct warm_header *h)
{
	u64 limit = (u64)the_process.config.cache_mib << 20;
	char name[NAME_SIZE], temporary[NAME_SIZE];
	bool ok;
	long fd;

	make_name(name, &h->key);
	if (!is_own_dir() || h->size > limit / 2 || !may_be_so_large(h->size) || warm_file_is_there(&h->key))
		return;
	if (h->worn) {
		sys3(__NR_unlinkat, cache_dir(), name, 0);
		return;
	}
	rt_snprintf(temporary, sizeof(temporary), "%s.%lx", name, now_ns() ^ arch_ticks());
	fd = sys4(__NR_openat, cache_dir(), temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  S_IRUSR | S_IWUSR);
	if (fd < 0)
		return;
	set_checksum(h);
	ok = write_image(fd, h) && !sys4(__NR_renameat, cache_dir(), temporary, cache_dir(), name);
	if (ok)
		note_written((int)fd);
	else
		sys3(__NR_unlinkat, cache_dir(), temporary, 0);
	stat_add(images_written, ok);
	sys1(__NR_close, fd);
	keep_within_limit(limit);
}
