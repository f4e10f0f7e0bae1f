/* See directory.h. */
#include "os/pin/directory.h"

#include <asm-generic/errno-base.h>
#include <linux/fs.h>
#include "dbt/dbt.h"
#include "os/pin/pin.h"
#include "os/session/scratch.h"
#include "rt/guest.h"
#include "rt/hash.h"
#include "rt/string.h"
#include "rt/sys.h"

#define LAST	 0x7ffffffeu /* proc(5), sysfs and FAT take no larger positions */
#define DOT	 1u
#define DOT_DOT	 2u
#define OTHERS	 3u
#define NOWHERE	 (~0ul)
#define END	 (~0ul >> 1) /* the greatest position: nothing is behind it */
#define FEW	 16u	     /* are sorted as they are */
#define ROOM	 0x10000u    /* bytes of entries, at first, */
#define ROOM_MAX 0x40000000u /* at most, */
#define ROOM_ONE 0x1000u     /* and of one */
#define ENTRY	 24u	     /* bytes of one at least */
#define KEPT_MAX 0x400000u   /* bytes, of a directory that has been read to its end */

/* Their sizes are multiples of 8. */
struct entry {
	u64 ino, off;
	u16 reclen;
	u8 type;
	char name[];
};

/* The same of getdents(2); the type is in the last byte. */
struct old_entry {
	u64 ino, off;
	u16 reclen;
	char name[];
};

#define NAME	  offsetof(struct entry, name)
#define NAME_OLD  offsetof(struct old_entry, name)
#define EACH_BYTE 0x0101010101010101ul

struct place {
	u32 key, at; /* in bytes[] */
};

struct listing {
	u64 size;      /* of this memory */
	s32 fd;	       /* the descriptor was left at this position: then the listing is its directory's, */
	u64 pos;       /* 0: it is of none */
	u32 room, len; /* bytes of entries that there is room for; that there are */
	u32 n;
	bool at_end; /* they are followed by END */
	struct place *places;	/* ascending, no two keys the same */
	struct place *unsorted; /* memory for as many, */
	u32 *buckets;		/* and as many and one more */
	u8 bytes[];
};

static struct listing *kept; /* NULL: there is none, or a thread is about to use it */

static struct listing *make(u32 room)
{
	u64 begin = ALIGN_UP(sizeof(struct listing) + room, 8ul), n = room / ENTRY;
	u64 size = begin + 2 * n * sizeof(struct place) + (n + 1) * sizeof(u32);
	struct listing *l = scratch_alloc(size);

	if (!l)
		return NULL;
	l->size = size;
	l->room = room;
	l->places = (struct place *)((u8 *)l + begin);
	l->unsorted = l->places + n;
	l->buckets = (u32 *)(l->unsorted + n);
	return l;
}

static struct listing *take(void)
{
	struct listing *l = __atomic_exchange_n(&kept, NULL, __ATOMIC_ACQUIRE);

	return l ? l : make(ROOM);
}

static void keep(struct listing *l)
{
	if (l)
		l = __atomic_exchange_n(&kept, l, __ATOMIC_RELEASE);
	if (l)
		scratch_free(l, l->size);
}

/* ---- reading ---- */

/* With twice as much room: NULL, there is no memory for it. */
static struct listing *grow(struct listing *l)
{
	struct listing *more = l->room < ROOM_MAX ? make(2 * l->room) : NULL;

	if (more) {
		memcpy(more->bytes, l->bytes, l->len);
		more->len = l->len;
	}
	scratch_free(l, l->size);
	return more;
}

static struct entry *entry_at(struct listing *l, u32 at)
{
	return (struct entry *)(l->bytes + at);
}

/* The position behind the last one of the entries from `at` on; 0: there are none. */
static u64 behind_last(struct listing *l, u32 at)
{
	u64 off = 0;

	for (; at < l->len; at += entry_at(l, at)->reclen)
		off = entry_at(l, at)->off;
	return off;
}

/* All entries from the descriptor's position on. 0 or -errno; then there may be no listing any more. */
static long read_all(s32 fd, struct listing **l)
{
	long got;
	u32 had;

	(*l)->len = (*l)->at_end = 0;
	do {
		had = (*l)->len;
		if ((*l)->room - had < ROOM_ONE)
			*l = grow(*l);
		if (!*l)
			return -ENOMEM;
		got = sys3(__NR_getdents64, fd, (*l)->bytes + had, (*l)->room - had);
		(*l)->len += (u32)MAX(got, 0l);
		(*l)->at_end = behind_last(*l, had) == END;
	} while (got > 0 && !(*l)->at_end);
	return MIN(got, 0l);
}

/* Where the name ends, which is in the entry's last word: its first byte that is 0. */
static u32 end_of(const struct entry *e)
{
	const u64 *words = (const u64 *)e;
	u32 last = e->reclen / 8u - 1;
	u64 word = words[last] | (last == NAME / 8 ? (1ul << NAME % 8 * 8) - 1 : 0);

	return last * 8 + (u32)__builtin_ctzl(((word - EACH_BYTE) & ~word & 0x80 * EACH_BYTE) | 1ul << 63) / 8;
}

/* By the words of the name: the first one has the length and the type before it, the last one whatever was behind. */
static u32 key_of(struct entry *e)
{
	u32 end = end_of(e), len = end - NAME;
	u64 *words = (u64 *)e, hash;

	words[end / 8] &= (1ul << end % 8 * 8) - 1;
	if (e->name[0] == '.' && (len == 1 || (len == 2 && e->name[1] == '.')))
		return len == 1 ? DOT : DOT_DOT;
	hash = hash_word(len, words[NAME / 8] >> NAME % 8 * 8);
	for (u32 i = NAME / 8 + 1; i <= end / 8; i++)
		hash = hash_word(hash, words[i]);
	return OTHERS + (u32)((hash >> 32) * (LAST - OTHERS) >> 32);
}

static bool is_before(struct listing *l, const struct place *a, const struct place *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	return strcmp(entry_at(l, a->at)->name, entry_at(l, b->at)->name) < 0;
}

static u32 bucket_of(const struct listing *l, const struct place *p)
{
	return (u32)((u64)p->key * l->n >> 31);
}

/* Hashes are evenly spread: first each comes near its place. */
static void spread(struct listing *l)
{
	u32 sum = 0, n;

	memset(l->buckets, 0, (l->n + 1) * sizeof(u32));
	for (u32 i = 0; i < l->n; i++)
		l->buckets[bucket_of(l, &l->unsorted[i])]++;
	for (u32 i = 0; i < l->n; i++) {
		n = l->buckets[i];
		l->buckets[i] = sum;
		sum += n;
	}
	for (u32 i = 0; i < l->n; i++)
		l->places[l->buckets[bucket_of(l, &l->unsorted[i])]++] = l->unsorted[i];
}

static void sort(struct listing *l)
{
	if (l->n > FEW)
		spread(l);
	else
		memcpy(l->places, l->unsorted, l->n * sizeof(*l->places));
	for (u32 i = 1; i < l->n; i++) {
		struct place place = l->places[i];
		u32 to = i;

		for (; to && is_before(l, &place, &l->places[to - 1]); to--)
			l->places[to] = l->places[to - 1];
		l->places[to] = place;
	}
	for (u32 i = 1; i < l->n; i++)
		l->places[i].key = MAX(l->places[i].key, l->places[i - 1].key + 1);
}

/* The directory's entries, as they are now. 0 or -errno. */
static long list(s32 fd, u64 pos, struct listing **out)
{
	struct listing *l;
	long ret;

	if (pos)
		sys3(__NR_lseek, fd, 0, SEEK_SET);
	ret = read_all(fd, out);
	l = *out;
	if (ret)
		return ret;
	l->n = 0;
	for (u32 at = 0; at < l->len; at += entry_at(l, at)->reclen)
		l->unsorted[l->n++] = (struct place){key_of(entry_at(l, at)), at};
	sort(l);
	return 0;
}

/* ---- giving ---- */

/* Bytes that it takes, -EINVAL: there is no room, or -EFAULT. */
static long give_old(const struct entry *e, gva to, u64 room)
{
	u64 len = strlen(e->name) + 1, reclen = ALIGN_UP(NAME_OLD + len + 1, 8ul);
	struct old_entry old = {e->ino, e->off, (u16)reclen};

	if (reclen > room)
		return -EINVAL;
	if (guest_write(to, &old, NAME_OLD) || guest_write(to + NAME_OLD, e->name, len) ||
	    guest_write(to + reclen - 1, &e->type, 1))
		return -EFAULT;
	return (long)reclen;
}

static long give(struct entry *e, u32 key, gva to, u64 room, bool old)
{
	e->off = key;
	if (old)
		return give_old(e, to, room);
	if (e->reclen > room)
		return -EINVAL;
	return guest_write(to, e, e->reclen) ? -EFAULT : e->reclen;
}

/* The first one whose place is behind pos. */
static u32 first_behind(const struct listing *l, u64 pos)
{
	u32 low = 0, high = l->n;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (l->places[middle].key <= pos)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* As many as there is room for, behind pos, which moves. What getdents(2) returns. */
static long give_some(struct listing *l, u64 *pos, gva buf, u64 size, bool old)
{
	u64 given = 0;

	for (u32 i = first_behind(l, *pos); i < l->n; i++) {
		struct place *p = &l->places[i];
		long ret = give(entry_at(l, p->at), p->key, buf + given, size - given, old);

		if (ret < 0)
			return given ? (long)given : ret;
		given += (u64)ret;
		*pos = p->key;
	}
	return (long)given;
}

/*
 * The descriptor is somewhere in a directory. False: its file system takes no such positions; it has that one still.
 * Nor is it moved from the end, of which the host says what there is to be said.
 */
static bool takes_positions(s32 fd, u64 pos)
{
	return pos != END && sys3(__NR_lseek, fd, LAST, SEEK_SET) == LAST;
}

/* What is given: the position is behind it then. */
static long read_some(struct listing *l, u64 *pos, const u64 *a, bool old)
{
	long ret = give_some(l, pos, a[1], (u32)a[2], old);

	/* The translator may have made the guest's memory read-only. */
	if (ret == -EFAULT && dbt_unprotect_all())
		ret = give_some(l, pos, a[1], (u32)a[2], old);
	return ret;
}

/* False: it is refused, and the descriptor is at the directory's beginning. */
static bool set_position(s32 fd, u64 pos)
{
	if (sys3(__NR_lseek, fd, pos, SEEK_SET) == (long)pos)
		return true;
	sys3(__NR_lseek, fd, 0, SEEK_SET);
	return false;
}

/* The guest has got all, and the descriptor is at END still. */
static bool left_at_end(const struct listing *l, u64 before, u64 pos)
{
	return l->at_end && !before && l->n && pos == l->places[l->n - 1].key;
}

/* It has been read to its end: what needs much memory is not kept. */
static struct listing *shrink(struct listing *l)
{
	if (l->size <= KEPT_MAX)
		return l;
	scratch_free(l, l->size);
	return NULL;
}

static u64 position_of(s32 fd)
{
	return __atomic_load_n(&the_process.config.filtered, __ATOMIC_RELAXED) ? NOWHERE
									       : (u64)sys3(__NR_lseek, fd, 0, SEEK_CUR);
}

bool pin_read_directory(const u64 *a, bool old, long *ret)
{
	s32 fd = (s32)a[0];
	u64 before = position_of(fd), pos = before;
	struct listing *l = take();
	bool is_kept = l && before && l->fd == fd && l->pos == before;
	bool mine = l && (s64)before >= 0 && (!before || is_kept || takes_positions(fd, before));

	if (mine) {
		*ret = is_kept ? 0 : list(fd, before, &l);
		if (!*ret)
			*ret = read_some(l, &pos, a, old);
		if (*ret > 0 && left_at_end(l, before, pos))
			pos = END;
		else
			mine = (is_kept && pos == before) || set_position(fd, pos);
	}
	if (mine && l) {
		l->fd = fd;
		l->pos = *ret < 0 ? 0 : pos;
		l = *ret ? l : shrink(l);
	}
	keep(l);
	return mine;
}
