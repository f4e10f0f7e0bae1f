/*
 * Where probed places are in this process's memory: see uprobes.h.
 *
 * The list of sites is made anew, from the wanted rows of the session's table and from /proc/self/maps, and replaces
 * the old one as a whole. Who makes one holds build_lock, and so does who forks; list_lock is for who looks. A mapping
 * that has gone is noticed when its site is reached: the number of the call that mapped it (struct vma) is another.
 *
 * Counters: the kernel counts up the counter of a probe for each place in memory where it stands, and down when the
 * probe goes. So do we, by the guest's own threads, before they run on. Whose memory has gone is forgotten.
 */
#include <sys/mman.h>
#include "dbt/dbt.h"
#include "event/event.h"
#include "os/session/apart.h"
#include "os/mm/procmaps.h"
#include "os/session/scratch.h"
#include "os/mm/vma.h"
#include "perf/perf.h"
#include "perf/uprobes.h"
#include "rt/guest.h"
#include "rt/lock.h"
#include "rt/log.h"
#include "rt/string.h"

#define WORDS	 (PROBE_ROWS / 64)
#define MAPPINGS 16384u /* of files that have probes */

struct site {
	gva addr;
	u64 vma; /* struct vma, id */
	u32 row;
};

struct counter {
	gva addr, site;
	u64 vma;
};

/* Sites are sorted by address and row; counters are as they are found. */
struct sites {
	u32 n, nr_counters, room;
	struct site site[];
};

/* A private mapping of a file, or a piece of one; pieces do not overlap. */
struct mapping {
	gva start, end;
	u64 offset, dev, ino, vma;
	bool writable;
};

/* A list being made. */
struct building {
	u64 want[WORDS];
	u32 high, n, changes;
	struct mapping map[MAPPINGS];
	char buffer[PROCMAPS_BUFFER];
};

static struct lock build_lock WRITTEN_BY_FORK = {.rank = RANK_UPROBES};
static struct lock list_lock WRITTEN_BY_FORK = {.rank = RANK_SITES};
static struct sites *sites; /* NULL: none */
static u64 last_want[WORDS]; /* rows that it was made for, when so many were taken */
static u32 last_changes;
u32 uprobes_wanted;

/* ---- which ---- */

static bool is_wanted(const struct building *b, u32 row)
{
	return b->want[row / 64] >> row % 64 & 1;
}

static void want(struct building *b, u32 row)
{
	b->want[row / 64] |= 1ul << row % 64;
}

/* Those that events of a task are about, disabled ones too: the first row of each. */
static bool want_events(struct building *b, task_id task)
{
	const struct event *e;
	bool any = false;
	u32 row;

	for_each_in_ctx(e, event_ctx(task))
	{
		if (!probe_of_event(e, &row))
			continue;
		want(b, row);
		any = true;
	}
	return any;
}

/* And those with the same names. */
static void want_rows(struct building *b)
{
	for (u32 row = 0; row < b->high; row++)
		if (probe_row(row)->state == PROBE_NAMED && is_wanted(b, probe_row(row)->event % PROBE_ROWS))
			want(b, row);
}

/* What the tasks of this address space want. */
static bool collect(struct building *b, task_id task)
{
	u32 mm = event_ctx(task)->mm, left = EVENT_TASKS;
	bool any = false;

	event_lock();
	memset(b->want, 0, sizeof(b->want)); /* the section may restart */
	b->high = MIN(event_space->probes.high, PROBE_ROWS);
	b->changes = event_space->probes.changes;
	for (u32 i = event_space->mm[EVENT_WITHIN(mm, mm)].tasks; i && left--; i = event_ctx(i)->next_mm)
		if (event_ctx(i)->mm == mm)
			any |= want_events(b, i);
	event_unlock();
	want_rows(b);
	return any;
}

/* ---- where ---- */

static bool is_of_interest(const struct building *b, u64 dev, u64 ino)
{
	for (u32 row = 0; row < b->high; row++)
		if (is_wanted(b, row) && probe_row(row)->place.ino == ino && probe_row(row)->place.dev == dev)
			return true;
	return false;
}

/*
 * The guest's mappings in one line of the host's, which does not know what the guest may execute. One of them may go on
 * in the next line.
 */
static void add_mappings(struct building *b, const struct procmaps_line *line, u64 dev, u64 ino)
{
	struct vma v;

	for (gva at = line->start; at < line->end && b->n < MAPPINGS && !vma_lookup(at, &v); at = v.end) {
		if ((v.flags & (VMA_FILE | VMA_SHARED)) != VMA_FILE)
			continue;
		b->map[b->n++] = (struct mapping){
			.start = at,
			.end = MIN(v.end, line->end),
			.offset = v.offset + (at - v.start),
			.dev = dev,
			.ino = ino,
			.vma = v.id,
			.writable = v.prot & PROT_WRITE,
		};
	}
}

/* For apart_run(). */
static long read_mappings(void *arg)
{
	struct building *b = arg;
	struct procmaps_line line;
	struct procmaps pm;

	if (procmaps_open(&pm, "self/maps", b->buffer))
		return 0;
	while (procmaps_next(&pm, &line)) {
		u64 dev = (u64)line.maj << 32 | line.min;

		if (line.ino && is_of_interest(b, dev, line.ino))
			add_mappings(b, &line, dev, line.ino);
	}
	procmaps_close(&pm);
	return 0;
}

/* Where that offset of the probe's file is in the mapping; 0: not there. */
static gva address_in(const struct mapping *m, const struct probe_place *p, u64 offset)
{
	if (m->dev != p->dev || m->ino != p->ino || offset < m->offset || offset - m->offset >= m->end - m->start)
		return 0;
	return m->start + (offset - m->offset);
}

/* Fills the list as far as there is room. Returns how many there are. */
static u32 find_sites(const struct building *b, struct sites *out)
{
	u32 n = 0;

	for (u32 row = 0; row < b->high; row++) {
		const struct probe_place *p = &probe_row(row)->place;

		for (u32 i = 0; is_wanted(b, row) && i < b->n; i++) {
			gva addr = b->map[i].writable ? 0 : address_in(&b->map[i], p, p->offset);

			if (addr && out && n < out->room)
				out->site[n] = (struct site){addr, b->map[i].vma, row};
			n += !!addr;
		}
	}
	return n;
}

static bool is_before(const struct site *s, gva addr, u32 row)
{
	return s->addr < addr || (s->addr == addr && s->row < row);
}

/* Shell's sort. */
static void sort(struct site *s, u32 n)
{
	for (u32 gap = n / 2; gap; gap /= 2)
		for (u32 i = gap; i < n; i++) {
			struct site x = s[i];
			u32 k = i;

			for (; k >= gap && is_before(&x, s[k - gap].addr, s[k - gap].row); k -= gap)
				s[k] = s[k - gap];
			s[k] = x;
		}
}

/* ---- counters ---- */

static struct counter *counters(const struct sites *s)
{
	return (struct counter *)&s->site[s->room];
}

static u64 bytes_for(u32 room)
{
	return sizeof(struct sites) + room * (sizeof(struct site) + sizeof(struct counter));
}

static bool has_counter(const struct sites *s, const struct counter *c)
{
	for (u32 i = 0; s && i < s->nr_counters; i++)
		if (!memcmp(&counters(s)[i], c, sizeof(*c)))
			return true;
	return false;
}

/* The counter of a site, if it is mapped where it can be written. */
static void find_counter(const struct building *b, struct sites *s, const struct site *site)
{
	const struct probe_place *p = &probe_row(site->row)->place;

	for (u32 i = 0; p->ref_ctr && i < b->n; i++) {
		struct counter c = {b->map[i].writable ? address_in(&b->map[i], p, p->ref_ctr) : 0, site->addr,
				    b->map[i].vma};

		if (!c.addr)
			continue;
		if (!has_counter(s, &c))
			counters(s)[s->nr_counters++] = c;
		return;
	}
}

static void count(const struct counter *c, u32 by)
{
	struct vma v;
	u16 value;

	if (vma_lookup(c->addr, &v) || v.id != c->vma || guest_read(&value, c->addr, sizeof(value)))
		return;
	value = (u16)(value + by);
	guest_write(c->addr, &value, sizeof(value));
}

static void change_counters(const struct sites *old, const struct sites *new)
{
	for (u32 i = 0; new &&i < new->nr_counters; i++)
		if (!has_counter(old, &counters(new)[i]))
			count(&counters(new)[i], 1);
	for (u32 i = 0; old && i < old->nr_counters; i++)
		if (!has_counter(new, &counters(old)[i]))
			count(&counters(old)[i], -1u);
}

/* ---- the list ---- */

static struct sites *make_list(struct building *b)
{
	u32 n = find_sites(b, NULL);
	struct sites *s = n ? scratch_alloc(bytes_for(n)) : NULL;

	if (!s)
		return NULL;
	s->room = n;
	s->n = MIN(find_sites(b, s), n); /* rows do not change while events need them */
	sort(s->site, s->n);
	for (u32 i = 0; i < s->n; i++)
		find_counter(b, s, &s->site[i]);
	return s;
}

static void set_breaks(const struct sites *s, bool on)
{
	for (u32 i = 0; s && i < s->n; i++)
		dbt_break_set(s->site[i].addr, on);
}

/* New ones come before old ones go, so that translations of what stays are kept. */
static void use_list(struct sites *new)
{
	struct sites *old;

	set_breaks(new, true);
	lock_acquire(&list_lock);
	old = sites;
	sites = new;
	lock_release(&list_lock);
	change_counters(old, new);
	set_breaks(old, false);
	if (old)
		scratch_free(old, bytes_for(old->room));
}

static bool any_returns(const struct building *b)
{
	for (u32 row = 0; row < b->high; row++)
		if (is_wanted(b, row) && probe_row(row)->place.is_return)
			return true;
	return false;
}

static void rebuild(struct building *b)
{
	if (uprobes_wanted)
		apart_run(read_mappings, b);
	use_list(make_list(b));
	if (!any_returns(b))
		uprobe_returns_forget();
	memcpy(last_want, b->want, sizeof(last_want));
	last_changes = b->changes;
}

/* moved: mappings have changed. */
static void look(struct thread *t, bool moved)
{
	struct building *b = scratch_alloc(sizeof(*b));

	if (!b)
		return;
	lock_acquire(&build_lock);
	uprobes_wanted = collect(b, t->cpu->slot);
	if (moved || b->changes != last_changes || memcmp(b->want, last_want, sizeof(last_want)))
		rebuild(b);
	lock_release(&build_lock);
	scratch_free(b, sizeof(*b));
}

void uprobes_load(struct thread *t)
{
	if (uprobes_wanted | __atomic_load_n(&event_space->probes.high, __ATOMIC_RELAXED))
		look(t, false);
	if (!uprobes_wanted)
		uprobe_returns_drop(t);
}

void perf_file_mapped(struct thread *t, gva at)
{
	struct vma vma;

	if (!vma_lookup(at, &vma) && (vma.flags & VMA_FILE))
		look(t, true);
}

void uprobes_before_fork(void)
{
	lock_acquire(&build_lock);
}

void uprobes_after_fork(void)
{
	lock_release(&build_lock);
}

/* Its counters are copies of the parent's: they are counted down when it turns out that they are not wanted. */
void uprobes_forked(struct thread *t)
{
	lock_init(&list_lock, RANK_SITES);
	if (!uprobes_wanted)
		return;
	set_breaks(sites, true);
	uprobe_returns_forked(t);
	__atomic_store_n(&event_ctx(t->cpu->slot)->hits_changed, 1, __ATOMIC_RELAXED);
}

/* ---- who looks ---- */

/* The first site at the address whose row is not below that one, or the next one behind it. */
static u32 first_from(gva addr, u32 row)
{
	u32 low = 0, high = sites ? sites->n : 0;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (is_before(&sites->site[middle], addr, row))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool uprobe_site(gva addr, u32 *row)
{
	struct site found = {0};
	struct vma vma;
	u32 i;

	if (!__atomic_load_n(&sites, __ATOMIC_RELAXED))
		return false;
	lock_acquire(&list_lock);
	i = first_from(addr, *row);
	if (sites && i < sites->n && sites->site[i].addr == addr)
		found = sites->site[i];
	lock_release(&list_lock);
	*row = found.row;
	return found.addr && !vma_lookup(addr, &vma) && vma.id == found.vma;
}
