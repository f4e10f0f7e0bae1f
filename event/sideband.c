/*
 * See sideband.h. Record layouts: the man page's "MMAP layout"; who gets which: perf_iterate_sb() in Linux 6.18.
 *
 * What a task does is recorded by its own events and by the per-CPU events of the CPU that it is on, if they are
 * enabled; children of per-CPU events are none of its own here. Records are stamped by each event's own clock.
 */
#include "event/sideband.h"

#include "abi/perf_2009.h"
#include "event/event.h"
#include "event/lineage.h"
#include "event/records_2009.h"
#include "event/sample_parts.h"
#include "rt/log.h"
#include "rt/string.h"

#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* Something that happened, on its way to the events that want it. */
struct notice {
	u32 what;     /* one SB_* */
	task_id task; /* whose events record it; the trailer names it */
	s32 cpu;
	u64 time; /* perf clock; 0: now */
	void (*write)(struct event *e, const struct notice *n);
	const void *about;
};

/* One record of it. */
struct record {
	struct ring_out out;
	struct event *event;
	struct sample_id_of id;
};

u32 sideband_of(const struct event *e)
{
	const struct perf_attr *attr = &e->attr;
	u32 what = 0;

	if (e->of_2009)
		return records_2009_sideband(e);
	if (attr->mmap || attr->mmap2)
		what |= SB_MMAP;
	if (attr->mmap_data)
		what |= SB_MMAP_DATA;
	if (attr->comm)
		what |= SB_COMM;
	if (attr->task || attr->mmap || attr->mmap2 || attr->mmap_data || attr->comm)
		what |= SB_TASK;
	if (attr->context_switch)
		what |= SB_SWITCH;
	if (attr->namespaces)
		what |= SB_NAMESPACES;
	if (attr->cgroup)
		what |= SB_CGROUP;
	if (attr->build_id && attr->mmap2)
		what |= SB_BUILD_ID;
	return what;
}

u32 sideband_of_ctx(task_id task)
{
	u32 what = task ? event_ctx(task)->lineage_sideband : 0;
	struct event *e;

	for_each_linked(e, nr, next, task ? event_ctx(task)->events : event_space->system, in_ctx)
		if (!event_follows_cpu(e))
			what |= sideband_of(e);
	return what;
}

void sideband_sync_locked(task_id task)
{
	u32 *word = task ? &event_ctx(task)->sideband : &event_space->sideband;

	check_slow(event_is_locked());
	if (task && event_ctx(task)->quiet)
		return;
	__atomic_store_n(word, sideband_of_ctx(task), __ATOMIC_RELAXED);
}

/* ---- which events ---- */

static bool wants(const struct event *e, const struct notice *n)
{
	return (sideband_of(e) & n->what) && event_tally(e)->state >= PERF_STATE_INACTIVE &&
	       (e->cpu < 0 || e->cpu == n->cpu) && !event_follows_cpu(e);
}

static struct notice notice_of(task_id task, u32 what, void (*write)(struct event *, const struct notice *),
			       const void *about)
{
	struct notice n = {.what = what, .task = task, .write = write, .about = about};

	n.cpu = task == host_current() || event_ctx(task)->cpu < 0 ? (s32)host_task_cpu(task) : event_ctx(task)->cpu;
	return n;
}

static void output_own_locked(const struct notice *n)
{
	struct event *e;

	lineage_see(n->task, n->cpu);
	for_each_in_ctx_newest(e, event_ctx(n->task))
		if (wants(e, n))
			n->write(e, n);
}

static void output_system_locked(const struct notice *n)
{
	struct event *e;

	for_each_newest(e, event_space->system)
		if (wants(e, n) && cgroup_has(n->task, e))
			n->write(e, n);
}

static void output_locked(const struct notice *n)
{
	output_system_locked(n);
	output_own_locked(n);
}

static void output(const struct notice *n)
{
	event_lock();
	output_locked(n);
	event_unlock();
}

/* ---- records ---- */

/* By the event's clock. */
static u64 time_of(const struct event *e, const struct notice *n)
{
	if (!n->time)
		return sample_clock(e);
	return e->attr.use_clockid ? sample_clock(e) - (host_clock_perf() - n->time) : n->time;
}

/* body: bytes between header and trailer, a multiple of 8. False: there is no room. */
static bool record_begin(struct record *r, struct event *e, const struct notice *n, u32 type, u32 misc, u32 body)
{
	struct perf_event_header h = {.type = type, .misc = (u16)misc};

	check_slow(ctx_is_locked());
	if (e->of_2009)
		h.misc &= RECORD_2009_MISC;
	h.size = (u16)(sizeof(h) + body + sample_id_size(e));
	r->event = e;
	r->id = (struct sample_id_of){.time = time_of(e, n), .cpu = (u32)n->cpu};
	host_task_ids(n->task, e->pidns, &r->id.pid, &r->id.tid);
	if (!ring_begin(&r->out, e, h.size))
		return false;
	ring_write(&r->out, &h, sizeof(h));
	return true;
}

static void record_end(struct record *r)
{
	sample_id_write(&r->out, r->event, &r->id);
	ring_end(&r->out, 0);
}

static void put_pair(struct record *r, s32 a, s32 b)
{
	u32 pair[2] = {(u32)a, (u32)b};

	ring_write(&r->out, pair, sizeof(pair));
}

static void put_ids(struct record *r, task_id task)
{
	s32 pid, tid;

	host_task_ids(task, r->event->pidns, &pid, &tid);
	put_pair(r, pid, tid);
}

static u32 text_size(const char *text)
{
	return (u32)ALIGN_UP(strlen(text) + 1, 8);
}

static void put_text(struct record *r, const char *text)
{
	u32 len = (u32)strlen(text);

	ring_write(&r->out, text, len);
	ring_write(&r->out, (const char[8]){0}, text_size(text) - len);
}

/* ---- MMAP and MMAP2 ---- */

#define MMAP_BODY  (8 + 3 * 8)	       /* pid, tid, addr, len, pgoff */
#define MMAP2_BODY (MMAP_BODY + 4 * 8) /* maj, min, ino, ino_generation or the build id; prot, flags */

static void put_build_id(struct record *r, const struct sideband_mmap *m)
{
	u8 id[24] = {(u8)m->build_id_size};

	memcpy(id + 4, m->build_id, m->build_id_size);
	ring_write(&r->out, id, sizeof(id));
}

static void put_mmap2(struct record *r, const struct sideband_mmap *m, bool with_build_id)
{
	if (with_build_id) {
		put_build_id(r, m);
	} else {
		put_pair(r, (s32)m->maj, (s32)m->min);
		ring_u64(&r->out, m->ino);
		ring_u64(&r->out, m->ino_generation);
	}
	put_pair(r, (s32)m->prot, (s32)m->flags);
}

static void write_mmap(struct event *e, const struct notice *n)
{
	const struct sideband_mmap *m = n->about;
	bool mmap2 = e->attr.mmap2, with_build_id = mmap2 && e->attr.build_id && m->build_id_size;
	u32 misc = PERF_RECORD_MISC_USER | (m->misc_exec ? 0 : PERF_RECORD_MISC_MMAP_DATA) |
		   (with_build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	u32 type = n->what == SB_MUNMAP ? RECORD_2009_MUNMAP : mmap2 ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP;
	struct record r;

	if (!record_begin(&r, e, n, type, misc, (mmap2 ? MMAP2_BODY : MMAP_BODY) + text_size(m->filename)))
		return;
	put_ids(&r, n->task);
	ring_u64(&r.out, m->addr);
	ring_u64(&r.out, m->len);
	ring_u64(&r.out, m->pgoff);
	if (mmap2)
		put_mmap2(&r, m, with_build_id);
	put_text(&r, m->filename);
	record_end(&r);
}

void sideband_mmap(task_id task, const struct sideband_mmap *m)
{
	struct notice n = notice_of(task, m->misc_exec ? SB_MMAP : SB_MMAP_DATA, write_mmap, m);

	output(&n);
}

void sideband_munmap(task_id task, const struct sideband_mmap *m)
{
	struct notice n = notice_of(task, SB_MUNMAP, write_mmap, m);

	output(&n);
}

/* ---- COMM ---- */

struct comm {
	const char *text;
	task_id of;
	bool exec;
};

static void write_comm(struct event *e, const struct notice *n)
{
	const struct comm *c = n->about;
	struct record r;

	if (!record_begin(&r, e, n, PERF_RECORD_COMM, c->exec ? PERF_RECORD_MISC_COMM_EXEC : 0, 8 + text_size(c->text)))
		return;
	put_ids(&r, c->of);
	put_text(&r, c->text);
	record_end(&r);
}

void sideband_comm(task_id task, task_id of, const char *comm, bool exec)
{
	struct comm c = {.text = comm, .of = of, .exec = exec};
	struct notice n = notice_of(task, SB_COMM, write_comm, &c);

	output(&n);
}

void sideband_birth(task_id parent, task_id child, const char *comm)
{
	struct comm c = {.text = comm, .of = child};
	struct notice n = notice_of(parent, SB_BIRTH, write_comm, &c);

	output(&n);
}

/* ---- FORK and EXIT ---- */

struct relation {
	u32 type;
	task_id task, parent; /* parent 0: whoever is the task's now */
};

static void write_task(struct event *e, const struct notice *n)
{
	const struct relation *t = n->about;
	s32 pid, tid, ppid, ptid;
	struct record r;

	if (!record_begin(&r, e, n, t->type, 0, 3 * 8))
		return;
	host_task_ids(t->task, e->pidns, &pid, &tid);
	if (t->parent)
		host_task_ids(t->parent, e->pidns, &ppid, &ptid);
	else
		ppid = ptid = host_task_ppid(t->task, e->pidns);
	put_pair(&r, pid, ppid);
	put_pair(&r, tid, ptid);
	ring_u64(&r.out, r.id.time);
	record_end(&r);
}

static void write_namespaces(struct event *e, const struct notice *n)
{
	const struct sideband_namespaces *ns = n->about;
	struct record r;

	if (!record_begin(&r, e, n, PERF_RECORD_NAMESPACES, 0, 8 + 8 + sizeof(ns->ns)))
		return;
	put_ids(&r, ns->task);
	ring_u64(&r.out, SIDEBAND_NAMESPACES);
	ring_write(&r.out, ns->ns, sizeof(ns->ns));
	record_end(&r);
}

void sideband_fork_locked(task_id parent, task_id child, const struct sideband_namespaces *ns)
{
	struct relation rel = {.type = PERF_RECORD_FORK, .task = child, .parent = parent};
	struct notice n;

	check_slow(event_is_locked());
	if (sideband_wanted(parent, SB_TASK)) {
		n = notice_of(parent, SB_TASK, write_task, &rel);
		output_locked(&n);
	}
	if (ns && sideband_wanted(parent, SB_NAMESPACES)) {
		n = notice_of(parent, SB_NAMESPACES, write_namespaces, ns);
		output_locked(&n);
	}
}

void sideband_exit_locked(task_id task)
{
	struct relation rel = {.type = PERF_RECORD_EXIT, .task = task};
	struct notice n;

	check_slow(event_is_locked());
	if (!sideband_wanted(task, SB_TASK))
		return;
	n = notice_of(task, SB_TASK, write_task, &rel);
	/* Linux quirk: its own events first here. */
	output_own_locked(&n);
	output_system_locked(&n);
}

/* ---- SWITCH and SWITCH_CPU_WIDE ---- */

static void write_switch(struct event *e, const struct notice *n)
{
	const struct sideband_switch *s = n->about;
	u32 misc =
		(s->out ? PERF_RECORD_MISC_SWITCH_OUT : 0) | (s->preempted ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0);
	struct record r;

	if (!record_begin(&r, e, n, e->task ? PERF_RECORD_SWITCH : PERF_RECORD_SWITCH_CPU_WIDE, misc, e->task ? 0 : 8))
		return;
	if (!e->task)
		put_pair(&r, 0, 0); /* as Linux says of the idle task, and of those that the reader cannot see */
	record_end(&r);
}

void sideband_switch(task_id task, const struct sideband_switch *s)
{
	struct notice n = notice_of(task, SB_SWITCH, write_switch, s);

	n.time = s->time;
	output(&n);
}

/* ---- NAMESPACES and CGROUP ---- */

void sideband_namespaces(task_id task, const struct sideband_namespaces *ns)
{
	struct notice n = notice_of(task, SB_NAMESPACES, write_namespaces, ns);

	output(&n);
}

struct cgroup {
	u64 id;
	const char *path;
};

static void write_cgroup(struct event *e, const struct notice *n)
{
	const struct cgroup *c = n->about;
	struct record r;

	if (!record_begin(&r, e, n, PERF_RECORD_CGROUP, 0, 8 + text_size(c->path)))
		return;
	ring_u64(&r.out, c->id);
	put_text(&r, c->path);
	record_end(&r);
}

void sideband_cgroup(task_id task, u64 id, const char *path)
{
	struct cgroup c = {id, path};
	struct notice n = notice_of(task, SB_CGROUP, write_cgroup, &c);

	output(&n);
}

/* ---- records of one event ---- */

void sideband_read_locked(struct event *child)
{
	struct notice n;
	struct record r;

	if (!child->attr.inherit_stat || event_follows_cpu(child) || event_ctx(child->task)->forked_by)
		return;
	n = notice_of(child->task, 0, NULL, NULL);
	if (!record_begin(&r, child, &n, PERF_RECORD_READ, 0, 8 + 8 * sample_read_len(child)))
		return;
	put_ids(&r, child->task);
	sample_write_read(&r.out, child);
	record_end(&r);
}

void sideband_throttle_locked(struct event *e, bool throttled)
{
	struct notice n = notice_of(e->task ? e->task : host_current(), 0, NULL, NULL);
	struct record r;

	check_slow(ctx_is_locked());
	if (e->of_2009)
		return;
	if (!record_begin(&r, e, &n, throttled ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0, 3 * 8))
		return;
	ring_u64(&r.out, r.id.time);
	ring_u64(&r.out, sample_primary_id(e));
	ring_u64(&r.out, e->id);
	record_end(&r);
}
